"""A user's program as a scorer: it reads about an attempt, or looks at the workspace that the agent left."""

import base64
import hashlib
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from etude.envs.scorers.answer_scorer import shorten
from etude.envs.second_box import HELP, PORT, second_box
from etude.errors import BoundaryError, ConfigError, DataError
from etude.programs.installed import find_program, installed
from etude.protocols import Scorer
from etude.records import File, Score, Task, Trajectory, canonical
from etude.sandbox import Finished, Limits, Sandbox, Workspace, run

Form = Literal["grader", "check", "judge"]
"""`judge` is a check whose attempt has a box of its own."""

SCORE_FILE = "score.json"
"""The file in which a check may write its score."""
TAIL_LINES = 20
TAIL_CHARS = 1_000
"""How much of what a check says becomes feedback."""
_NOT_FOUND = 127
_NOT_RUNNABLE = 126
_SIGNALS = range(129, 193)
"""How a shell tells that a program was ended by a signal."""
_GIT = (("core.fsmonitor", "false"), ("core.hooksPath", "/dev/null"), ("safe.bareRepository", "explicit"))
"""Settings that come before those of any repository."""
_PYTEST_INI = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_GIT_DATA = frozenset({"COMMIT_EDITMSG", "HEAD", "ORIG_HEAD", "index", "logs", "objects", "packed-refs", "refs"})
"""What is in `.git` and cannot name a program to run."""
_MOST_SCORE_BYTES = 1_000_000


@dataclass(frozen=True)
class UserCommand:
    """A command of the user's, ready to be run: the program and its arguments, with files of the user's by their
    absolute path; these files; what the sandbox has to show; and the command as the user wrote it."""

    words: tuple[str, ...]
    files: tuple[Path, ...]
    readable: tuple[Path, ...]
    shown: str

    @staticmethod
    def parse(command: str | Sequence[str], folders: Sequence[Path], where: str) -> "UserCommand":
        """Words that name a file or a folder from one of `folders` stand for it; the first word is a program.
        Raises ConfigError: there is no program, or none that can be started, or a quote is left open."""
        try:
            written = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise ConfigError(f"{where} = {command!r}: {error}", hint="write it as a list of words") from None
        name = written[0] if written else ""
        program = find_program(name, folders) if name else None
        if program is None:
            raise ConfigError(
                f"{where} = {command!r}: there is no program {name!r}, or it is not executable",
                hint="give one on the PATH, or the path of a file that may be executed",
            )
        words, files = [str(program)], [program] if "/" in name else []
        for word in written[1:]:
            path = _existing(word, folders)
            words.append(word if path is None else str(path))
            files += [path] if path is not None else []
        readable = {folder for file in files for folder in _with_target(file if file.is_dir() else file.parent)}
        shown = command if isinstance(command, str) else shlex.join(command)
        return UserCommand(tuple(words), tuple(files), (*sorted(readable), *installed(program).readable), shown)

    def with_readable(self, paths: Sequence[str], folders: Sequence[Path], where: str) -> "UserCommand":
        """The same with further files and folders to read, seen from `folders`.
        Raises ConfigError: one does not exist."""
        found: list[Path] = []
        for text in paths:
            path = _existing(text, folders)
            if path is None:
                raise ConfigError(f"{where}: readable: {text!r} does not exist", hint="leave it out, or correct it")
            found += _with_target(path)
        return replace(self, readable=(*self.readable, *found))

    def digest(self) -> str:
        """Changes with the words and with the content of the files, not with where they are."""
        names = {str(path): path.name for path in self.files}
        words = [Path(self.words[0]).name, *(names.get(word, word) for word in self.words[1:])]
        contents = [[name, hashlib.sha256(path.read_bytes()).hexdigest()] for name, path in self.all_files()]
        return canonical([words, contents])

    def all_files(self) -> list[tuple[str, Path]]:
        """The files, and those in the folders."""
        found: list[tuple[str, Path]] = []
        for path in self.files:
            inside = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
            found += [(each.relative_to(path.parent).as_posix(), each) for each in inside]
        return found


def _existing(word: str, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        path = Path(os.path.abspath(folder / os.path.expanduser(word)))
        if word and os.path.exists(path):
            return path
    return None


def _with_target(folder: Path) -> tuple[Path, Path]:
    return folder, folder.resolve()


class CommandScorer(Scorer):
    """Scores with a command, run in the sandbox with nothing but what it needs.

    A `grader` reads the attempt as JSON and prints a score. A `check` is run in a copy of the workspace as the agent
    left it, and its exit code is the score: 0 for full marks, which a score that it wrote to a file can lower,
    anything else for none. A `judge` is scored alike; it reads the attempt as a grader does, and runs code of it in
    a second box. What goes wrong with the command itself is raised, and never a score.
    """

    name = "command"

    def __init__(
        self, form: Form, command: UserCommand, limits: Limits, sandbox: Sandbox, *, network: bool = False
    ) -> None:
        self.form: Form = form
        self._command = command
        self._limits = limits
        self._sandbox = sandbox
        self._network = network
        self._digest = command.digest()
        self._starts_code = form in ("check", "judge")
        self._said = "wrote" if self._starts_code else "printed"

    def fingerprint(self) -> str:
        """Form, words, the content of the files they name, and whether there is a network."""
        return canonical([self.name, self.form, self._digest, self._network])

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """What the command says. A check that is not run to its end, or finds no place for the files of an attempt,
        gives 0 where it runs to its end without them.
        Raises BoundaryError: it broke, took too long, or said nothing that can be understood; DataError: the task's
        own files cannot be put into a workspace."""
        try:
            return await self._score(task, trajectory)
        except (BoundaryError, DataError) as error:
            if not self._starts_code:
                raise
            problem = f"the check {error.cause}" if isinstance(error, BoundaryError) else error.message
        await self._score(task, Trajectory())
        return Score(hard=0, soft=0, feedback=problem)

    async def _score(self, task: Task, trajectory: Trajectory) -> Score:
        with Workspace() as workspace:
            workspace.fill(_files_for(self.form, task, trajectory))
            finished = await self._run(workspace, task, trajectory)
            written = _text(workspace.tmp / SCORE_FILE) if self._starts_code else ""
        self._check_machinery(finished)
        if self.form == "grader":
            if finished.code != 0:
                raise self._broken(f"ended with exit code {finished.code}: {tail(finished) or 'without a word'}")
            return self._printed(finished.stdout.decode("utf-8", "replace"))
        if finished.code != 0:
            said = tail(finished) or f"ended with exit code {finished.code}, without a word"
            return Score(hard=0, soft=0, feedback=said)
        return self._printed(written) if written else Score(hard=1, soft=1, feedback="correct")

    async def _run(self, workspace: Workspace, task: Task, trajectory: Trajectory) -> Finished:
        if self.form != "judge":
            return await self._run_in(workspace, task, trajectory)
        async with second_box(files_afterwards(task, trajectory), self._limits, self._sandbox) as second:
            finished = await self._run_in(workspace, task, trajectory, second.socket)
        if second.trouble is not None:
            raise second.trouble
        return finished

    async def _run_in(
        self, workspace: Workspace, task: Task, trajectory: Trajectory, socket: Path | None = None
    ) -> Finished:
        readable = [path for path in self._command.readable if path.exists()]
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        env = {"PATH": os.pathsep.join(filter(os.path.isabs, folders)), "ETUDE_TASK_ID": task.id.replace("\0", "")}
        if self._starts_code:
            env |= self._guards(workspace) | {"ETUDE_ATTEMPT_PORT": str(PORT)}
            readable.append(HELP)
        network = "gateway" if socket is not None else "host" if self._network else "none"
        return await run(
            list(self._command.words),
            box=workspace.box(readable, network, socket, PORT),
            limits=self._limits,
            sandbox=self._sandbox,
            env=workspace.env | env,
            stdin=_input_of(self.form, task, trajectory).encode("utf-8", "replace"),
        )

    def _guards(self, workspace: Workspace) -> dict[str, str]:
        """Variables that keep what the attempt left out of the programs that a check starts."""
        words, files = self._command.words, self._command.files
        module = "".join(words[2:3]) if words[1:2] == ("-m",) else ""
        # Without them pytest looks at all folders above the tests, which a sandbox may forbid.
        root = files[0] if files and files[0].is_dir() else (files or (HELP,))[0].parent
        ini = next((root / name for name in _PYTEST_INI if (root / name).is_file()), Path(os.devnull))
        pytest = (
            shlex.join([f"--rootdir={root}", f"--confcutdir={root}", "-c", str(ini)])
            if module == "pytest" and files
            else ""
        )
        git = {f"GIT_CONFIG_KEY_{n}": key for n, (key, _) in enumerate(_GIT)}
        git |= {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(_GIT)}
        return git | {
            "GIT_CONFIG_COUNT": str(len(_GIT)),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONNOUSERSITE": "1",
            "PYTHONPATH": str(HELP),
            "PYTHONSAFEPATH": "1",
            "PYTEST_ADDOPTS": pytest,
            "ETUDE_MODULE": module,
            "ETUDE_SCORE_FILE": str(workspace.tmp / SCORE_FILE),
            "ETUDE_UNTRUSTED": str(workspace.folder),
        }

    def _check_machinery(self, finished: Finished) -> None:
        """Raises BoundaryError where the command was not run to its end."""
        if finished.over:
            raise self._broken(f"was ended for its {finished.over}")
        if finished.code is None:
            raise self._broken(f"was ended by signal {finished.signal}")
        if finished.code in (_NOT_FOUND, _NOT_RUNNABLE) or finished.code in _SIGNALS:
            raise self._broken(f"ended with exit code {finished.code}: {tail(finished) or 'without a word'}")

    def _printed(self, output: str) -> Score:
        """The score a grader printed: all of its output, or the last line, as JSON."""
        lines = output.strip().splitlines()
        for text in (output, lines[-1] if lines else ""):
            try:
                value = json.loads(text)
            except ValueError:
                continue
            if isinstance(value, dict):
                return self._score_of(cast(dict[str, Any], value))
            return self._score_of({"score": value})
        raise self._broken(f"{self._said} no score but {shorten(output.strip(), 200)!r}")

    def _score_of(self, value: Mapping[str, Any]) -> Score:
        hard = self._share(value, "score")
        soft = self._share(value, "soft") if value.get("soft") is not None else hard
        feedback = value.get("feedback")
        if feedback is not None and not isinstance(feedback, str):
            raise self._broken(f"{self._said} the feedback {feedback!r:.80}, which is not text")
        return Score(hard=hard, soft=soft, feedback=feedback if feedback is not None else "")

    def _share(self, value: Mapping[str, Any], key: str) -> float:
        number = value.get(key)
        if not isinstance(number, int | float) or not 0 <= number <= 1:
            raise self._broken(f"{self._said} {key} = {number!r:.80}; allowed: a number from 0 to 1")
        return float(number)

    def _broken(self, problem: str) -> BoundaryError:
        return BoundaryError(f"{self.form} {self._command.shown!r}", ChildProcessError(problem))


def files_afterwards(task: Task, trajectory: Trajectory) -> dict[str, File]:
    """The workspace as the agent left it."""
    files: dict[str, File | None] = {**task.files, **trajectory.files}
    return {path: file for path, file in files.items() if file is not None}


def _files_for(form: Form, task: Task, trajectory: Trajectory) -> Mapping[str, File]:
    """What the command finds where it is started."""
    if form != "check":
        return {}
    kept = {path: file for path, file in trajectory.files.items() if not _steers_git(path)}
    return files_afterwards(task, trajectory.model_copy(update={"files": kept}))


def _steers_git(path: str) -> bool:
    """Whether git could take from a file which programs to run."""
    _, found, inside = f"/{path}/".partition("/.git/")
    return bool(found) and inside.partition("/")[0] not in _GIT_DATA


def _text(path: Path) -> str:
    """The text of an ordinary file; empty where there is none, or too much in it."""
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > _MOST_SCORE_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _input_of(form: Form, task: Task, trajectory: Trajectory) -> str:
    """What the command reads on its standard input."""
    # What a check starts of an agent's code could read the same, so there is no gold answer in it.
    hidden = {"files", "gold"} if form == "check" else {"files"}
    shown: dict[str, Any] = {
        "task": task.model_dump(mode="json", exclude=hidden),
        "answer": trajectory.answer,
        "changed": sorted(trajectory.files),
    }
    if form != "check":  # a check finds the files around it
        shown["files"] = {path: _content(file) for path, file in sorted(files_afterwards(task, trajectory).items())}
    return json.dumps(shown, ensure_ascii=False)


def _content(file: File) -> str | dict[str, str]:
    try:
        return file.data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(file.data).decode()}


def tail(finished: Finished) -> str:
    """The last lines of what was printed, errors last."""
    text = "\n".join(stream.decode("utf-8", "replace").strip() for stream in (finished.stdout, finished.stderr))
    lines = text.strip().splitlines()[-TAIL_LINES:]
    return "\n".join(lines)[-TAIL_CHARS:]
