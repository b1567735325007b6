"""Lines of the user's crontab."""

import re
import shlex
from typing import ClassVar

from etude.errors import EtudeError, InputError
from etude.sleep.schedule.base import CATCH_UP, MARK, Job, Piece, Scheduler

__all__ = ["Cron"]

BEGIN = "# etude sleep: begin, kept by `etude sleep schedule`"
END = "# etude sleep: end"
_MOST = 990
"""Bytes of a line; some implementations cut a longer command without a word."""
_OWN = re.compile(rf"# {MARK}([a-z0-9-]+)$")


class Cron(Scheduler):
    """Two lines for each job, in a marked block of the crontab: one for its time, one for the start of the computer,
    which catches up. All other lines stay byte for byte."""

    name: ClassVar[str] = "cron"
    note: ClassVar[str] = (
        "a night that the computer was off for is caught up when it starts, unless one ran in the 24 hours before; "
        "one that it slept through is not"
    )

    def installed(self) -> tuple[str, ...]:
        _, block, _ = _parts(self._read())
        return tuple(sorted({name for line in block if (name := _name(line))}))

    def _entries(self, job: Job) -> tuple[Piece, ...]:
        script, mark = _word(str(self.script_file(job.name))), f"# {MARK}{job.name}"
        lines = [
            f"{job.minute} {job.hour} * * * /bin/sh {script} {mark}",
            f"@reboot /bin/sh {script} {CATCH_UP} {mark}",
        ]
        if max(len(line.encode()) for line in lines) > _MOST:
            raise InputError(f"the folder {str(self.jobs)!r} is too long for a crontab", hint="use a shorter one")
        return (Piece(where="crontab", text="".join(f"{line}\n" for line in lines)),)

    def _activate(self, job: Job, entries: tuple[Piece, ...]) -> None:
        (entry,) = entries
        before, block, after = _parts(self._read())
        if before and not before.endswith(b"\n"):
            before += b"\n"
        block = [line for line in block if _name(line) != job.name]
        self._write(before, [*block, entry.text.encode()], after)

    def _deactivate(self, name: str) -> None:
        before, block, after = _parts(self._read())
        self._write(before, [line for line in block if _name(line) != name], after)

    def _read(self) -> bytes:
        called = self.run(("crontab", "-l"), b"")
        if called.code == 0:
            return called.output
        # There is none, nor the program, or the user may have none: writing one says so.
        if re.search("no crontab|no such file|not allowed", called.errors, re.IGNORECASE):
            return b""
        # Whatever is in it would be lost by writing another.
        raise EtudeError(
            f"the crontab cannot be read: {called.errors or f'`crontab -l` ended with code {called.code}'}",
            hint="look at `crontab -l`, or choose another scheduler",
        )

    def _write(self, before: bytes, block: list[bytes], after: bytes) -> None:
        inside = [f"{BEGIN}\n".encode(), *block, f"{END}\n".encode()] if block else []
        self.call("crontab", "-", stdin=b"".join([before, *inside, after]))


def _parts(text: bytes) -> tuple[bytes, list[bytes], bytes]:
    """What is before the block, its lines, and what is after it.

    Raises:
        EtudeError: a marker of the block is missing or there twice.
    """
    lines = text.splitlines(keepends=True)
    begins, ends = (
        [number for number, line in enumerate(lines) if line.strip() == marker.encode()] for marker in (BEGIN, END)
    )
    if not begins and not ends:
        return text, [], b""
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0]:
        raise EtudeError(
            f"the crontab has {len(begins)} lines {BEGIN!r} and {len(ends)} lines {END!r}, not one of each in order",
            hint="mend it with `crontab -e`",
        )
    return b"".join(lines[: begins[0]]), lines[begins[0] + 1 : ends[0]], b"".join(lines[ends[0] + 1 :])


def _name(line: bytes) -> str:
    """The name of the job of a line, empty where it is somebody else's."""
    found = _OWN.search(line.decode(errors="replace").strip())
    return found[1] if found else ""


def _word(word: str) -> str:
    """A word of a command as cron and then a shell read it.

    A percent sign ends the command unless a backslash is before it. What two backslashes are differs between
    implementations, and so does one before a percent sign: the shell makes them from their number.
    """
    pieces = [shlex.quote(piece) if piece else "" for piece in word.split("\\")]
    return "\"$(printf '\\134')\"".join(pieces).replace("%", "\\%")
