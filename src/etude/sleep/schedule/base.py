"""What is run every night, and what a scheduler is.

The whole job is in one shell script, and the scheduler only starts it: the line of a crontab is cut at 1,000
characters by some, and each scheduler has its own rules for quotes and variables.
"""

import hashlib
import os
import re
import shlex
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Self

from pydantic import model_validator

from etude.errors import EtudeError, InputError
from etude.records import Record
from etude.sleep.state import REPORT

__all__ = ["CATCH_UP", "MARK", "Called", "Job", "Piece", "Run", "Scheduler", "job_name", "program_runner"]

CATCH_UP = "catch-up"
"""The word with which a script leaves at once where no night was missed."""
MARK = "etude-sleep-"
"""What all that is written begins with, before the name of the job."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SECONDS = 60


class Called(Record):
    """What came of calling a program of the system."""

    code: int
    """Its exit code."""
    output: bytes = b""
    errors: str = ""


Run = Callable[[Sequence[str], bytes], Called]
"""Runs a command with that on its standard input."""


class Piece(Record):
    """One text that is written."""

    where: str
    """The path of a file, or `crontab`."""
    text: str


class Job(Record):
    """What is run every night.

    Raises:
        InputError: a word holds control characters, a path is not absolute, a time or a name is out of range.
    """

    name: str
    """As from `job_name`: lower-case letters, digits and dashes."""
    command: tuple[str, ...]
    """The words of the command; the first is an absolute path."""
    folder: str
    """Where it is started; absolute."""
    path: str
    """PATH of the job: schedulers have a short one of their own, which lacks what a user installed."""
    home: str
    """HOME of the job; absolute."""
    log: str
    """The file that its output is appended to; absolute."""
    nights: str
    """The folder with a folder for each night, which has the report of it; absolute. It tells whether one was
    missed."""
    variables: tuple[str, ...] = ()
    """Names of variables it also gets. Their values are in a file that only the user can read, nowhere else."""
    hour: int = 3
    """0 to 23, local time."""
    minute: int = 17
    """0 to 59."""

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if not _NAME.fullmatch(self.name):
            raise InputError(
                f"job name {self.name!r} is not lower-case letters, digits and dashes", hint="shorten it"
            )
        if not self.command:
            raise InputError("a job has no command", hint="give the words of the command")
        for word in (*self.command, self.folder, self.path, self.home, self.log, self.nights):
            _refuse_control(word)
        for place in (self.command[0], self.folder, self.home, self.log, self.nights):
            if not place.startswith("/"):
                raise InputError(f"{place!r} is no absolute path", hint="a scheduler starts elsewhere: write it out")
        for name in self.variables:
            if not _VARIABLE.fullmatch(name):
                raise InputError(f"{name!r} is no name of a variable", hint="letters, digits and underscores")
            if name in ("PATH", "HOME"):
                raise InputError(f"{name} is carried in any case", hint=f"leave {name} out")
        if not 0 <= self.hour <= 23:
            raise InputError(f"hour {self.hour} is no hour", hint="give 0 to 23")
        if not 0 <= self.minute <= 59:
            raise InputError(f"minute {self.minute} is no minute", hint="give 0 to 59")
        return self


def _refuse_control(word: str) -> None:
    if _CONTROL.search(word):
        raise InputError(f"{word!r} holds control characters or line breaks", hint="rename it, or leave it out")


def check_name(name: str) -> None:
    """Raises InputError for what no job can be named; paths are made of names."""
    if not _NAME.fullmatch(name):
        raise InputError(f"job name {name!r} is not lower-case letters, digits and dashes", hint="at most 64 of them")


def job_name(folder: Path) -> str:
    """The name of a project's job: what the folder is called, and a hash of where it is."""
    place = str(folder)
    word = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")[:32].strip("-") or "project"
    return f"{word}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:8]}"


def program_runner(environ: Mapping[str, str]) -> Run:
    """Runs programs found on the PATH of `environ`, with `environ` and plain English words."""

    def run(argv: Sequence[str], stdin: bytes) -> Called:
        try:
            done = subprocess.run(
                list(argv),
                input=stdin,
                capture_output=True,
                env={**environ, "LC_ALL": "C"},
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return Called(code=127, errors=str(error))
        return Called(code=done.returncode, output=done.stdout, errors=done.stderr.decode(errors="replace").strip())

    return run


class Scheduler(ABC):
    """One program of the system that starts jobs.

    Args:
        jobs: the folder for the scripts and the values of variables; made when needed, for the user alone.
        home: the user's home folder.
        environ: the environment; values of variables are read from it at `install`.
        run: how programs of the system are called.
    """

    name: ClassVar[str]
    note: ClassVar[str]
    """What a user must know of it, in one sentence."""

    def __init__(self, jobs: Path, home: Path, environ: Mapping[str, str], run: Run | None = None) -> None:
        self.jobs = jobs.absolute()
        self.home = home
        self.environ = environ
        self.run = program_runner(environ) if run is None else run

    def install(self, job: Job) -> None:
        """Have the job run every night, in place of the one of its name. On failure all files are as they were.

        Raises:
            InputError: a variable is not set, or its value has line breaks.
            EtudeError: the system's program refused, or a file cannot be written.
        """
        values = "".join(f"{name}={_quoted(self._value(name))}\n" for name in job.variables)
        script, *entries = self.render(job)
        files = [(Path(entry.where), entry.text, 0o644) for entry in entries if entry.where.startswith("/")]
        files += [(Path(script.where), script.text, 0o700), (self.values_file(job.name), values, 0o600)]
        before: list[tuple[Path, str, int]] = []
        try:
            Path(job.log).parent.mkdir(parents=True, exist_ok=True)
            for path, text, mode in files:
                before.append((path, path.read_text(encoding="utf-8") if path.is_file() else "", mode))
                _put(path, text, mode)
            self._activate(job, tuple(entries))
        except (EtudeError, OSError) as error:
            for path, text, mode in before:
                with suppress(OSError):  # what could not be written is as it was
                    _put(path, text, mode)
            if isinstance(error, OSError):
                raise EtudeError(
                    f"the job cannot be written: {error}",
                    hint="make room or mend the permissions, or choose another scheduler",
                ) from error
            raise

    def remove(self, name: str) -> bool:
        """Undo `install`; whether there was something to undo. The log stays.

        Raises:
            InputError: no job can have that name.
            EtudeError: the system's program refused. The files are gone even so.
        """
        there = False
        try:
            there = self.withdraw(name)
        finally:
            there = bool(self.delete_files(name)) or there
        return there

    def withdraw(self, name: str) -> bool:
        """Take the job out of this scheduler; whether it had it. Script and values stay: another may have it, too.

        Raises:
            InputError: no job can have that name.
            EtudeError: the system's program refused.
        """
        check_name(name)
        there = name in self.installed()
        if there:
            self._deactivate(name)
        return there

    def render(self, job: Job) -> tuple[Piece, ...]:
        """All texts that `install` writes but the values of variables: the script first. Touches nothing.

        Raises:
            InputError: the path of the folder for scripts cannot be written down.
        """
        _refuse_control(str(self.jobs))
        return (Piece(where=str(self.script_file(job.name)), text=self._script(job)), *self._entries(job))

    @abstractmethod
    def installed(self) -> tuple[str, ...]:
        """The names of the jobs it has, sorted."""

    @abstractmethod
    def _entries(self, job: Job) -> tuple[Piece, ...]:
        """What the scheduler itself reads."""

    @abstractmethod
    def _activate(self, job: Job, entries: tuple[Piece, ...]) -> None:
        """Tell the scheduler of entries that are written, where they are files."""

    @abstractmethod
    def _deactivate(self, name: str) -> None:
        """Take the entries away and tell the scheduler."""

    def script_file(self, name: str) -> Path:
        return self.jobs / f"{MARK}{name}.sh"

    def values_file(self, name: str) -> Path:
        """The file with the values of the variables: `NAME="value"` lines, readable by the user alone."""
        return self.jobs / f"{MARK}{name}.environment"

    def call(self, *argv: str, stdin: bytes = b"") -> Called:
        """Call a program that must succeed.

        Raises:
            EtudeError: it did not.
        """
        called = self.run(argv, stdin)
        if called.code != 0:
            raise EtudeError(
                f"{shlex.join(argv)!r} failed with code {called.code}: {called.errors or 'it said nothing'}",
                hint=f"look whether {argv[0]} works for this user, or choose another scheduler",
            )
        return called

    def _script(self, job: Job) -> str:
        word = shlex.quote
        reports = f"{word(job.nights)}/*/{REPORT}"
        lines = [
            "#!/bin/sh",
            f"# Every night at {job.hour:02}:{job.minute:02}. `etude sleep schedule` writes it anew,",
            "# `etude sleep unschedule` takes it away.",
            f'if [ "$1" = {CATCH_UP} ]; then',
            "  # Nothing was missed where a night ran in the last 24 hours, or this was written then.",
            f'  [ -z "$(find {reports} {word(str(self.script_file(job.name)))} -mmin -1440 2>/dev/null)" ] || exit 0',
            "fi",
            f"(umask 077; : >> {word(job.log)}) || exit 1",
            f"exec >> {word(job.log)} 2>&1 < /dev/null",
            f"cd {word(job.folder)} || exit 1",
        ]
        if job.variables:
            lines += ["set -a", f". {word(str(self.values_file(job.name)))}", "set +a"]
        lines += [
            f"PATH={word(job.path)}",
            f"HOME={word(job.home)}",
            "export PATH HOME",
            f"exec {shlex.join(job.command)}",
        ]
        return "\n".join(lines) + "\n"

    def _value(self, name: str) -> str:
        value = self.environ.get(name)
        if value is None:
            raise InputError(f"variable {name} is not set", hint=f"export {name}, or leave it out")
        if _CONTROL.search(value):  # the value may be a secret: it is not shown
            raise InputError(f"the value of {name} holds control characters or line breaks", hint=f"leave {name} out")
        return value

    def delete_files(self, name: str) -> tuple[Path, ...]:
        """Delete script and values of a job, which all schedulers share; those that were there.

        Raises:
            InputError: no job can have that name.
        """
        check_name(name)
        files = tuple(path for path in (self.script_file(name), self.values_file(name)) if path.is_file())
        for path in files:
            path.unlink()
        return files


def _put(path: Path, text: str, mode: int) -> None:
    """Write a file as a whole, or not at all; without text there is none. A folder that has to be made is for the
    user alone."""
    if not text:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _quoted(value: str) -> str:
    """A value as a shell reads it, in double quotes."""
    return '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"'
