"""Any command line as an agent program."""

import glob
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import ClassVar

from etude.errors import ConfigError, DataError
from etude.programs.installed import Installed
from etude.programs.program import (
    Launch,
    Order,
    Program,
    Report,
    environment,
    install_skill,
    last_words,
    put,
    read_files,
    skill_file,
)
from etude.records import digest
from etude.sandbox import Finished

PLACEHOLDERS = ("prompt", "prompt_file", "skill_file", "answer_file", "workspace", "model")
LONGEST_ARGUMENT = 131_071
"""Most bytes that Linux takes in one argument."""
_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_MOST_ANSWER = 4_000_000


class CommandProgram(Program):
    """A command that finds the address of a model and a key in OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL
    and ANTHROPIC_API_KEY. `words` is the command line, with placeholders as `agent.command` has them; the answer is
    afterwards in `answer_file` in the workspace, or on standard output (None)."""

    name: ClassVar[str] = "command"
    command: ClassVar[str] = "command"
    install: ClassVar[str] = "with its own installer"
    silent: ClassVar[bool] = True
    login_variables: ClassVar[tuple[str, ...]] = (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
    )

    def __init__(self, words: Sequence[str], answer_file: str | None = None) -> None:
        self.words = tuple(words)
        self.answer_file = answer_file
        used = {name for word in words for name in _PLACEHOLDER.findall(word)}
        if "answer_file" in used and answer_file is None:
            raise ConfigError(
                "agent.command contains '{answer_file}', but agent.answer_file is not set",
                hint="set agent.answer_file to the name of a file in the workspace",
            )
        if answer_file is not None and not _is_inner(answer_file):
            raise ConfigError(
                f"agent.answer_file = {answer_file!r} is not a file in the workspace",
                hint="give a relative path without '..', as in 'out/answer.txt'",
            )
        self._names_prompt = bool(used & {"prompt", "prompt_file"})
        self._names_skill = "skill_file" in used

    def find(self, path: str | None = None) -> Installed:
        """As `Program.find`, for the first word of the command line. Words that are files, scripts for one, are meant
        from the current folder, and the program can read them; not what is next to them or to a program that is
        named by its place, which may be gold data."""
        name = path or self.words[0]
        found = super().find(name)
        readable = _alone(found) if "/" in name else found.readable
        places = {word: Path(os.path.expanduser(word)) for word in self.words[1:]}
        files = {word: path.absolute() for word, path in places.items() if path.is_file()}
        words = tuple(str(files.get(word, word)) for word in self.words[1:])
        return replace(found, argv=(*found.argv, *words), readable=(*readable, *files.values()))

    def version(self, program: Installed) -> str:
        """A command need not know a version: what its scripts say takes the place of one."""
        scripts = [Path(word) for word in program.argv if Path(word).is_file()]
        texts = [path.read_bytes() for path in scripts if path != program.path or _is_script(path)]
        return digest([hashlib.sha256(text).hexdigest() for text in texts])

    def launch(self, order: Order) -> Launch:
        prompt, skill = order.prompt, self._skill(order)
        if not self._names_skill and skill is not None:
            prompt = f"{skill.read_text(encoding='utf-8')}\n# Task\n\n{prompt}"
        values = {
            "prompt": prompt,
            "prompt_file": str(put(order.home / "prompt.md", prompt)),
            "skill_file": str(skill if skill is not None else put(order.home / "no-skill.md", "")),
            "answer_file": str(order.workspace / (self.answer_file or "")),
            "workspace": str(order.workspace),
            "model": order.model,
        }
        argv = [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in order.installed.argv]
        argv += order.arguments
        for word in argv:
            if len(word.encode()) > LONGEST_ARGUMENT:
                raise DataError(
                    f"a word of agent.command is longer than {LONGEST_ARGUMENT:,} bytes with this task in it",
                    hint="use {prompt_file}, or leave both out: the task then comes on standard input",
                )
        return Launch(tuple(argv), _environment(order), b"" if self._names_prompt else prompt.encode())

    def _skill(self, order: Order) -> Path | None:
        """The file with the skill, None without one."""
        if order.delivery == "install":
            return install_skill(order.skill, order.home / "skills")
        return skill_file(order)

    def read(self, finished: Finished, order: Order) -> Report:
        answer = finished.stdout.decode(errors="replace")
        if self.answer_file is not None:
            data = read_files(order.workspace, glob.escape(self.answer_file), _MOST_ANSWER)
            answer = data.decode(errors="replace")
        # The exit code is all that a plain command tells about itself.
        error = last_words(finished) or f"it ended with code {finished.code}" if finished.code != 0 else ""
        return Report(answer=answer, error=error)


def _alone(found: Installed) -> tuple[Path, ...]:
    """What a program needs that was named by its place: not its neighbours, unless they are programs as well."""
    own = {path.parent: path for path in (found.path, found.path.resolve()) if path.parent.name != "bin"}
    return tuple(own.get(place, place) for place in found.readable)


def _is_inner(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts


def _is_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _environment(order: Order) -> dict[str, str]:
    env = environment(order)
    if order.url:
        env |= {
            "OPENAI_BASE_URL": f"{order.url}/v1",
            "OPENAI_API_BASE": f"{order.url}/v1",
            "OPENAI_API_KEY": order.key,
            "ANTHROPIC_BASE_URL": order.url,
            "ANTHROPIC_API_KEY": order.key,
        }
    return env
