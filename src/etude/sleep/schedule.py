"""A night every day: one line of the user's crontab."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from etude.errors import EtudeError, InputError

PROFILE = "test ! -r ~/.profile || . ~/.profile"
"""What the job begins with: keys and other variables come from there."""
_LONGEST = 990
"""Characters of a line; some crons cut off or refuse more."""
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\\]")


def job_name(project: Path) -> str:
    """The name of a project's job: the name of its folder, and a hash of its path."""
    word = re.sub(r"[^a-z0-9]+", "-", project.name.lower()).strip("-")[:32].strip("-") or "project"
    return f"{word}-{hashlib.sha256(os.fsencode(str(project))).hexdigest()[:8]}"


def command_of(argv: Sequence[str], folder: str, log: str) -> str:
    """The shell command of a job, for any scheduler: with the PATH of this process, since schedulers have a short
    one. Its output is appended to the log."""
    path = shlex.quote(os.environ.get("PATH", os.defpath))
    return f"{PROFILE}; cd {shlex.quote(folder)} && PATH={path} {shlex.join(argv)} >> {shlex.quote(log)} 2>&1"


def line_of(name: str, at: tuple[int, int], command: str) -> str:
    """The line of a crontab that runs a command every day at this hour and minute.

    Raises:
        InputError: a character cannot stand in a crontab, or the line is too long for one.
    """
    if found := _UNUSABLE.search(command):
        raise InputError(f"{found[0]!r} cannot stand in a crontab: {command!r}", hint="rename what holds it")
    line = f"{at[1]} {at[0]} * * * {command}{_mark(name)}".replace("%", "\\%")
    if len(os.fsencode(line)) > _LONGEST:
        longest = max(shlex.split(command), key=len)
        hint = f"shorten {longest!r}, or move settings from the command line to the settings file"
        raise InputError(f"the line has {len(line):,} characters; a crontab takes {_LONGEST}", hint=hint)
    return line


def install(name: str, at: tuple[int, int], command: str) -> None:
    """Run a command every day, in place of the job of this name, which stays after an error.

    Raises:
        InputError: as `line_of`; there is no `crontab`.
        EtudeError: `crontab` failed.
    """
    line = line_of(name, at, command)
    if shutil.which("crontab") is None:
        hint = f"have another scheduler run this every day at {at[0]:02}:{at[1]:02}: {command}"
        raise InputError("there is no program 'crontab'", hint=hint)
    _replace(name, line.encode() + b"\n")


def installed(name: str) -> bool:
    """Whether the crontab has the job; not where it cannot be read."""
    with suppress(EtudeError):
        return any(line.endswith(_mark(name).encode()) for line in _crontab().splitlines())
    return False


def remove(name: str) -> bool:
    """Undo `install`; whether there was such a job. The log stays.

    Raises:
        EtudeError: `crontab` failed; the job stays.
    """
    found = installed(name)
    if found:
        _replace(name, b"")
    return found


def _mark(name: str) -> str:
    """What the line of a job ends with."""
    return f" # etude-sleep-{name}"


def _replace(name: str, line: bytes) -> None:
    """Replace the line of a job. All other lines stay byte for byte."""
    before, mark = _crontab(), _mark(name).encode()
    kept = b"".join(each for each in before.splitlines(keepends=True) if not each.rstrip().endswith(mark))
    end = b"\n" if line and kept and not kept.endswith(b"\n") else b""
    try:
        _call("-", kept + end + line)
    except EtudeError:
        with suppress(EtudeError):
            _call("-", before)
        raise


def _crontab() -> bytes:
    try:
        return _call("-l")
    except EtudeError as error:  # any other error stops: writing would lose what is there
        if "no crontab" in error.message.lower():
            return b""
        raise


def _call(argument: str, stdin: bytes = b"") -> bytes:
    environ = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["crontab", argument], input=stdin, capture_output=True, env=environ, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (
            error.stderr.decode(errors="replace").strip() if isinstance(error, subprocess.CalledProcessError) else ""
        )
        raise EtudeError(
            f"`crontab {argument}` failed: {said or error}", hint="see whether `crontab -l` works"
        ) from error
    return done.stdout
