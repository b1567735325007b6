"""A night every day: a script in the state of the project, and one line of the user's crontab that runs it."""

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
SCRIPT = "night.sh"
_LONGEST = 990
"""Characters of a line; some crons cut off or refuse more."""
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\\]")


def job_name(project: Path) -> str:
    """The name of a project's job: the name of its folder, and a hash of its path."""
    word = re.sub(r"[^a-z0-9]+", "-", project.name.lower()).strip("-")[:32].strip("-") or "project"
    return f"{word}-{hashlib.sha256(os.fsencode(str(project))).hexdigest()[:8]}"


def script_of(argv: Sequence[str], folder: str, log: str) -> str:
    """A shell script that runs a command in a folder: with the PATH of this process, since schedulers have a short
    one. The output is appended to the log."""
    return f"""\
#!/bin/sh
# Made by `etude sleep schedule`: a night, for a scheduler to run.
{PROFILE}
PATH={shlex.quote(os.environ.get("PATH", os.defpath))}
export PATH
cd {shlex.quote(folder)} && exec {shlex.join(argv)} >> {shlex.quote(log)} 2>&1
"""


def command_of(script: Path) -> str:
    """What a scheduler has to run."""
    return f"/bin/sh {shlex.quote(str(script))}"


def line_of(name: str, at: tuple[int, int], command: str) -> str:
    """The line of a crontab that runs a command every day at this hour and minute.

    Raises:
        InputError: a character cannot stand in a crontab, or the line is too long for one.
    """
    hint = "set XDG_STATE_HOME to another folder"
    if found := _UNUSABLE.search(command):
        raise InputError(f"{found[0]!r} cannot stand in a crontab: {command!r}", hint=hint)
    line = f"{at[1]} {at[0]} * * * {command}{_mark(name)}".replace("%", "\\%")
    if len(os.fsencode(line)) > _LONGEST:
        raise InputError(f"the line has {len(line):,} characters; a crontab takes {_LONGEST}", hint=hint)
    return line


def install(name: str, at: tuple[int, int], command: str) -> None:
    """Run a command every day, in place of the job of this name, which stays after an error. The hint of each error
    says what another scheduler has to run.

    Raises:
        InputError: as `line_of`; there is no `crontab`.
        EtudeError: `crontab` failed, or has not taken the line.
    """
    other = f"have another scheduler run this every day at {at[0]:02}:{at[1]:02}: {command}"
    if shutil.which("crontab") is None:
        raise InputError("there is no program 'crontab'", hint=other)
    try:
        _replace(name, line_of(name, at, command).encode() + b"\n")
        if not installed(name):
            raise EtudeError("`crontab -` reported no error, but the line is not in `crontab -l`")
    except EtudeError as error:
        hint = "; or ".join(filter(None, (error.hint, other)))
        raise type(error)(error.message, hint=hint) from error


def installed(name: str) -> bool:
    """Whether there is a crontab that has the job. Raises EtudeError: it cannot be read."""
    lines = [] if shutil.which("crontab") is None else _crontab().splitlines()
    return any(line.endswith(_mark(name).encode()) for line in lines)


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
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        raise EtudeError(
            f"`crontab {argument}` failed: {said or error}", hint="see whether `crontab -l` works"
        ) from error
    return done.stdout
