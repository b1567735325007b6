"""Files replaced together: all of them or none, whenever the power goes.

The pending record holds every file before and after. Once it is on the disk, all new files are written next to the
old ones and renamed one by one; then the record is removed. A process that finds a record does the rest. A file that
was changed meanwhile is left as it is and named.
"""

import os
import secrets
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from etude.errors import EtudeError, LockedError
from etude.files import TEMPORARY, private_folder, sync_folder, take_lock, unwritable, write_atomically
from etude.records import Record
from etude.sleep.state import read_kept

LOCK = "adopt.lock"
PENDING = "pending.json"


def about_to(step: str) -> None:
    """Does nothing: crash tests put something else in its place."""


class Write(Record):
    """What one file becomes."""

    real: str
    """Absolute, without links."""
    before: bytes | None
    """What is there now; None for no file."""
    after: bytes | None
    """None to remove the file."""
    mode: int | None = None
    """Permission bits; None for those of any new file."""
    folders: tuple[str, ...] = ()
    """Made for the file where they are missing, removed with it if they are empty; the outermost first."""
    temporary: str = ""
    """Where the new file is written first."""

    @property
    def changed(self) -> str:
        """Why the file is not to be replaced: empty while it is what it was or what it becomes."""
        if os.path.realpath(self.real) != self.real:
            return "is reached through a link now"
        return "" if _read(self.real) in (self.before, self.after) else "changed while it was being replaced"

    @property
    def done(self) -> bool:
        """Whether the file is what it becomes."""
        return not self.changed and _read(self.real) == self.after


class Recovery(Record):
    """What was done about a transaction that had not ended: it was finished."""

    left: tuple[str, ...] = ()
    """Files that were changed since, left as they are."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The same for people, a sentence each."""
        others = (f"{path!r} was changed since and left as it is" for path in self.left)
        return ("an interrupted adoption or revert was finished", *others)


class _Pending(Record):
    version: Literal[4] = 4
    writes: tuple[Write, ...]


@contextmanager
def locked(state: Path) -> Generator[None]:
    """The state folder for this process alone. A killed process does not keep it."""
    in_use = LockedError(
        f"documents are being adopted or reverted in {str(state)!r} by another process",
        hint="wait until that one has ended",
    )
    try:
        private_folder(state)
    except OSError as error:
        raise unwritable(state / LOCK, error) from error
    with take_lock(state / LOCK, in_use):
        yield


def carry_out(state: Path, writes: Sequence[Write]) -> None:
    """Replace all files, or none. The caller has the lock and has settled what was pending.

    Raises:
        EtudeError: a file is not as the caller says, or could not be written. Everything is as it was.
    """
    mark = secrets.token_hex(8)
    named = (
        write.model_copy(update={"temporary": str(Path(write.real).parent / f"{TEMPORARY}{mark}-{number}")})
        for number, write in enumerate(writes)
    )
    pending = _Pending(writes=tuple(write for write in named if write.before != write.after))
    try:
        about_to("pending")
        text = pending.model_dump_json(indent=1).encode()
        write_atomically(state / PENDING, text, durable=True)
        _apply(pending.writes)
        _tidy(state, pending)
    except BaseException as error:
        finished = all(write.done for write in pending.writes)
        back = [] if finished else [_back(write) for write in reversed(pending.writes) if write.done]
        _finish(state, pending, back)
        if not isinstance(error, OSError):
            raise
        if not finished:
            raise EtudeError(
                f"the documents could not be replaced, and are as they were: {error}",
                hint="see that there is room on the disk and that you may write there",
            ) from error


def settle(state: Path) -> Recovery | None:
    """Finish the transaction that an earlier process did not; None when there is none. The caller has the lock."""
    for leftover in state.glob(f"{TEMPORARY}*"):
        leftover.unlink()
    pending = _kept(state)
    if pending is None:
        return None
    left = tuple(sorted(write.real for write in pending.writes if write.changed))
    _finish(state, pending, [write for write in pending.writes if not write.changed])
    return Recovery(left=left)


def _kept(state: Path) -> _Pending | None:
    return read_kept(state / PENDING, _Pending, "compare your documents with what the file says, then remove it")


def missing_folders(real: str) -> tuple[str, ...]:
    """The folders that a file at this path needs and that are not there, the outermost first."""
    return tuple(str(folder) for folder in reversed(Path(real).parents) if not folder.exists())


def _apply(writes: Sequence[Write]) -> None:
    """Make each file what it becomes. All that needs room is written before the first one is replaced."""
    for number, write in enumerate(writes):
        _check(write)
        if write.after is not None and not write.done:
            for folder in (each for each in write.folders if not os.path.lexists(each)):
                about_to(f"folder {folder}")
                os.mkdir(folder)
                sync_folder(Path(folder).parent)
            about_to(f"text {number}")
            _check(write)
            _write(write.temporary, write.after, write.mode)
    for number, write in enumerate(writes):
        about_to(f"replace {number}")
        _check(write)
        if write.done:
            continue
        if write.after is None:
            os.unlink(write.real)
        else:
            os.replace(write.temporary, write.real)
        sync_folder(Path(write.real).parent)


def _finish(state: Path, pending: _Pending, writes: Sequence[Write]) -> None:
    try:
        _apply(writes)
        _tidy(state, pending)
    except OSError as error:
        raise EtudeError(
            f"an interrupted adoption or revert could not be finished: {error}",
            hint=f"old and new texts are in {str(state / PENDING)!r}; try again",
        ) from error


def _tidy(state: Path, pending: _Pending) -> None:
    """Remove what is of no use any more: new files that took no place, empty folders, the pending record."""
    for write in pending.writes:
        about_to(f"tidy {write.real}")
        if os.path.realpath(write.real) != write.real:
            continue
        Path(write.temporary).unlink(missing_ok=True)
        for folder in () if os.path.lexists(write.real) else reversed(write.folders):
            with suppress(OSError):  # something is in it, or it is not there
                os.rmdir(folder)
    about_to("end")
    (state / PENDING).unlink(missing_ok=True)
    sync_folder(state)


def _back(write: Write) -> Write:
    return write.model_copy(update={"before": write.after, "after": write.before})


def _check(write: Write) -> None:
    if why := write.changed:
        raise EtudeError(f"{write.real!r} {why}", hint="look at it, then try again")


def _read(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write(path: str, data: bytes, mode: int | None) -> None:
    """A whole file that is on the disk when this returns."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    narrow = 0o666 if mode is None else 0o600  # what a private file will hold is private while it is written
    with open(os.open(path, flags, narrow), "wb") as file:
        file.write(data)
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())
