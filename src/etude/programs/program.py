"""What an agent program is: where it is installed, how it is started for one attempt, how its output is read."""

import contextlib
import fnmatch
import json
import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal

from etude.errors import ConfigError, Missing
from etude.programs.installed import Installed, installed
from etude.programs.read_only import close
from etude.programs.transcripts.values import number
from etude.records import Message, Skill, Usage
from etude.sandbox import Finished
from etude.sandbox.scratch import Scratch
from etude.secret_values import Secrets
from etude.skill import Document, save_skill

Delivery = Literal["inline", "install"]

VERSION_SECONDS = 60.0
SKILL_FOLDER = ".skill"
"""Where the files of a skill that is always in context are found in the workspace."""
_NUMBERED = re.compile(r"\d+(?:\.\d+)+")
_DASHED = re.compile(r"[^a-z0-9]+")
_MAX_NAME = 64
_MAX_DESCRIPTION = 1024


@dataclass(frozen=True)
class Order:
    """One attempt: what the program is asked, and where."""

    installed: Installed
    prompt: str
    skill: Skill
    instructions: str
    """What stands before the text of a skill that is always in context."""
    delivery: Delivery
    home: Path
    temporary: Path
    workspace: Path
    url: str
    """Where models answer, without `/v1`; empty when the program is to use its own login."""
    key: str
    model: str
    """Name of the model, empty for the program's own choice."""
    seconds: float
    steps: int | None = None
    max_output_tokens: int = 4096
    arguments: tuple[str, ...] = ()
    """Further arguments for the command line."""
    login: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables that hold the program's own login."""
    chat: str | None = None
    """Instructions to answer by, in place of the program's own and without tools. None for an agent at work."""


@dataclass(frozen=True)
class Launch:
    """How to start a program."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    stdin: bytes = b""


@dataclass(frozen=True)
class Report:
    """What a program said about an attempt."""

    answer: str = ""
    messages: tuple[Message, ...] = ()
    """What happened after the prompt; empty when the program does not tell."""
    exit_codes: Mapping[str, int] = field(default_factory=dict[str, int])
    """How the commands of tool calls ended, by the id of the call."""
    usage: Usage = field(default_factory=Usage)
    ended: bool = True
    """The program came to the end of its work, by its own account."""
    error: str = ""
    """Why it could not go on, in its own words."""
    out_of_steps: bool = False


class Program(ABC):
    """An agent program: facts about it, no state."""

    name: ClassVar[str]
    command: ClassVar[str]
    """What it is called on the command line."""
    install: ClassVar[str]
    """How to get it."""
    tested: ClassVar[str] = ""
    """The version that tests run, which `scripts/programs` installs."""
    memory_mb: ClassVar[int] = 512
    """What one run of it and of the commands it starts commonly needs."""
    login_files: ClassVar[tuple[str, ...]] = ()
    """Where it keeps its login, in a person's home."""
    login_variables: ClassVar[tuple[str, ...]] = ()
    """Environment variables that it takes for a login."""
    counts_steps: ClassVar[bool] = False
    """It takes a limit on its model requests."""
    as_model: ClassVar[bool] = True
    """It can answer a question without tools, by instructions in place of its own (`Order.chat`)."""
    silent: ClassVar[bool] = False
    """It may do its work without asking a model."""

    @abstractmethod
    def launch(self, order: Order) -> Launch:
        """Write what the program wants to find in its home, and say how to start it."""

    @abstractmethod
    def read(self, finished: Finished, order: Order) -> Report:
        """What became of it: from its structured output and its own records, which may end anywhere."""

    def find(self, path: str | None = None) -> Installed:
        """The program at `path`, else the one on PATH, else the one that belongs to this checkout of etude.

        Raises:
            Missing: there is none.
        """
        found = shutil.which(os.path.expanduser(path)) if path else shutil.which(self.command) or self._in_checkout()
        if found is None:
            raise Missing(
                f"agent program {path or self.command!r} was not found" + ("" if path else " on PATH"),
                hint=f"install it ({self.install}), or set agent.path to where it is",
            )
        return installed(Path(found))

    def _in_checkout(self) -> str | None:
        root = Path(__file__).resolve().parents[3]
        folder = root / ".tools" / "programs" / "bin"
        return shutil.which(self.command, path=str(folder)) if (root / "scripts" / "programs").is_file() else None

    def too_old(self, version: str) -> tuple[str, str] | None:
        """What is wrong with a version older than the tested one, and what to do; None for others."""
        if not is_older(version, self.tested):
            return None
        wrong = f"older than {self.tested}, the version it was tested with"
        return wrong, f"update it ({self.install}), or set agent.path to another one"

    def newer(self, version: str) -> str:
        """What a version newer than the tested one means; empty for others."""
        if not is_older(self.tested, version):
            return ""
        return f"newer than {self.tested}, the version it was tested with: where attempts are void, try that one"

    def age(self, version: str, program: Installed) -> str:
        """The same as the end of an error; empty for a version that is not too old."""
        old = self.too_old(version)
        return f"; {version}, {program.path}: {old[0]}: {old[1]}" if old else ""

    def version(self, program: Installed) -> str:
        """The version it tells. Raises ConfigError: it does not start."""
        try:
            return _version(program, program.path.stat().st_mtime_ns)
        except (OSError, subprocess.SubprocessError) as error:
            raise ConfigError(
                f"agent program {str(program.path)!r} does not tell its version: {error}",
                hint=f"install it again ({self.install})",
            ) from None


class KnownProgram(Program):
    """A program with a folder for its settings and for skills, in the home of whoever starts it."""

    folder: ClassVar[str]
    memory: ClassVar[str] = ""
    """The file in that folder which stands in its context; empty where a skill that does is told by an option."""
    model_option: ClassVar[bool] = True
    """It takes the name of the model on the command line."""
    has_commands: ClassVar[bool] = True
    """It takes a slash at the very start of a prompt for a command to it, not for a task."""
    last: ClassVar[tuple[str, ...]] = ()
    """What ends the command line."""

    @abstractmethod
    def options(self, order: Order, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Write the settings into the folder; further words of the command line, and variables."""

    def launch(self, order: Order) -> Launch:
        folder = order.home / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        if order.delivery == "install":
            install_skill(order.skill, folder / "skills")
        if self.memory and (skill := skill_instructions(order)):
            close(put(folder / self.memory, skill))
        words, env = self.options(order, folder)
        words += ["--model", order.model] if self.model_option and order.model else []
        prompt = f" {order.prompt}" if self.has_commands and order.prompt.startswith("/") else order.prompt
        argv = (*order.installed.argv, *words, *order.arguments, *self.last)
        return Launch(argv, environment(order) | env, prompt.encode())


def is_older(version: str, tested: str) -> bool:
    """Whether what a program says of its version is an older one.

    >>> is_older("codex-cli 0.20.0", "0.169.0"), is_older("2.2 (Claude Code)", "2.1.328"), is_older("dev", "1.0")
    (True, False, False)
    """
    found, other = (_NUMBERED.search(text) for text in (version, tested))
    if found is None or other is None:
        return False
    return [int(part) for part in found[0].split(".")] < [int(part) for part in other[0].split(".")]


@lru_cache(maxsize=16)
def _version(program: Installed, changed: int) -> str:
    """Asked once: it takes some programs two seconds. `changed` tells when it has to be asked again."""
    del changed
    # They write into their home even to say this.
    with Scratch() as scratch:
        home = str(scratch.path)
        done = subprocess.run(
            [*program.argv, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={"HOME": home, "TMPDIR": home, "PATH": search_path(program), **dict(program.env)},
            cwd=home,
            timeout=VERSION_SECONDS,
            check=False,
        )
    # Some write it to standard error.
    output = (done.stdout.strip() or done.stderr.strip()).decode(errors="replace")
    if done.returncode != 0:
        raise subprocess.SubprocessError(f"it ends with code {done.returncode}: {output[-300:]}")
    if not output:
        raise subprocess.SubprocessError("it says nothing")
    lines = output.splitlines()
    return next((line for line in lines if _NUMBERED.search(line)), lines[-1]).strip()


def search_path(program: Installed) -> str:
    """PATH for a program: the system's folders, and those the program and its interpreter are in."""
    folders = [str(program.path.parent), *(str(Path(part).parent) for part in program.argv if part.startswith("/"))]
    return os.pathsep.join(dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin"]))


def environment(order: Order) -> dict[str, str]:
    """What every program finds in its environment."""
    folders = {"HOME": str(order.home), "TMPDIR": str(order.temporary)}
    return folders | {"PATH": search_path(order.installed), **dict(order.installed.env), **order.login}


def usage_of(used: Mapping[str, Any], read: Iterable[str], written: Iterable[str], cached: str) -> Usage:
    """The tokens of a record, by the names that a program has for those that were read, written or in a cache."""

    def tokens(name: str) -> int:
        return max(0, number(used.get(name)) or 0)

    return Usage(
        input_tokens=sum(map(tokens, read)), output_tokens=sum(map(tokens, written)), cached_tokens=tokens(cached)
    )


def read_files(folder: Path, pattern: str, most: int = 64_000_000) -> bytes:
    """All files of a pattern, one after the other, sorted by name; at most the first `most` bytes.

    The folder was written by an untrusted program: no link is followed, neither in the place of a file nor
    of a folder on the way to it, and what cannot be read is passed over.
    """
    *folders, name = PurePosixPath(pattern).parts
    places = [str(folder)]
    for part in folders:
        inside = [entry for place in places for entry in _entries(place, part)]
        places = [entry.path for entry in inside if entry.is_dir(follow_symlinks=False)]
    found: list[bytes] = []
    for entry in (entry for place in places for entry in _entries(place, name)):
        with contextlib.suppress(OSError):
            if entry.is_file(follow_symlinks=False):
                with open(entry.path, "rb") as file:
                    found.append(file.read(most))
                most -= len(found[-1])
    return b"\n".join(found)


def _entries(place: str, pattern: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            found = [entry for entry in entries if fnmatch.fnmatchcase(entry.name, pattern)]
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)


def read_without(secrets: Secrets, program: Program, finished: Finished, order: Order) -> tuple[Finished, Report]:
    """How a program ended and what became of it, without secrets: they go before anything is quoted, since half of
    one would be left where a quote is cut."""
    stdout, stderr = secrets.hide_bytes(finished.stdout), secrets.hide_bytes(finished.stderr)
    finished = replace(finished, stdout=stdout, stderr=stderr)
    report = program.read(finished, order)
    return finished, replace(report, error=secrets.hide(report.error))


def last_words(finished: Finished, limit: int = 600) -> str:
    """The end of what a program wrote, standard error first."""
    text = (finished.stderr.strip() or finished.stdout.strip()).decode(errors="replace")
    return text if len(text) <= limit else "... " + text[-limit:]


def installable(skill: Skill) -> Skill | None:
    """The skill as programs list it, by the name and the description in its front matter: one without gets them. None
    for an empty skill."""
    document = Document.parse(skill.text)
    if not document.body.strip() and not skill.files:
        return None
    name = _DASHED.sub("-", str(document.meta.get("name") or skill.name).lower()).strip("-")[:_MAX_NAME] or "skill"
    text = skill.text
    if not document.front_matter:
        description = json.dumps(_described(document.body, name), ensure_ascii=False)  # JSON is YAML
        text = f"---\nname: {name}\ndescription: {description}\n---\n\n{skill.text}"
    return Skill(name=name, text=text, files=skill.files)


def install_skill(skill: Skill, folder: Path) -> Path | None:
    """Write the skill into a folder of skills, to be read only; returns the path of its SKILL.md, None for an empty
    skill."""
    made = installable(skill)
    if made is None:
        return None
    path = save_skill(made, folder)
    close(path.parent)
    return path


def _described(body: str, name: str) -> str:
    lines = (line.strip("#*-> \t") for line in body.splitlines())
    return next((line for line in lines if line and line[0].isalnum()), name)[:_MAX_DESCRIPTION]


def skill_file(order: Order) -> Path | None:
    """A file in the home with `skill_instructions`, to be read only, None where there are none."""
    text = skill_instructions(order)
    return close(put(order.home / "skill.md", text)) if text else None


def chat_file(order: Order) -> Path | None:
    """A file in the home with the instructions to answer by, None for an agent at work."""
    return None if order.chat is None else put(order.home / "system.md", order.chat)


def put(path: Path, text: str) -> Path:
    """Write a text to a file."""
    path.write_text(text, encoding="utf-8")
    return path


def skill_instructions(order: Order) -> str:
    """The text of a skill that is always in context, empty when there is none. Its files are put into the home."""
    body = Document.parse(order.skill.text).body.strip()
    if order.delivery != "inline" or not (body or order.skill.files):
        return ""
    text = f"# Skill\n\n{order.instructions}\n\n{body}\n"
    if order.skill.files:
        path = install_skill(order.skill, order.home / "skill-files")
        assert path is not None
        (order.workspace / SKILL_FOLDER).symlink_to(path.parent)
        text += f"\n{files_note(order.skill)}\n"
    return text


def files_note(skill: Skill) -> str:
    """What a model reads about the files of a skill that is always in context."""
    names = "\n".join(f"- {SKILL_FOLDER}/{name}" for name in sorted(skill.files))
    return (
        f"# Files of the skill\n\nPaths in the skill count from `{SKILL_FOLDER}`, which can only be read:\n\n{names}"
    )
