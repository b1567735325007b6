"""Files replaced together: all of them or none, whenever the power goes.

Order of a transaction: copies of the old files; the pending record; complete new files next to the old ones; renames,
one by one; removal of the pending record. The last rename decides: a transaction that was killed before it is undone
by the next process, any other is finished. A file that was changed meanwhile is left as it is and named.
"""

import os
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import ValidationError

from etude.errors import EtudeError, LockedError
from etude.files import TEMPORARY, sync_folder, write_atomically
from etude.records import Record
from etude.sleep.state import unwritable, why_unreadable

__all__ = [
    "LOCK",
    "PENDING",
    "OnWrite",
    "Recovery",
    "Write",
    "carry_out",
    "locked",
    "missing_folders",
    "settle",
    "silent",
]

LOCK = "adopt.lock"
PENDING = "pending.json"

OnWrite = Callable[[str], None]
"""Called with the name of a write before it is made."""


def silent(name: str) -> None:
    """Listens to nothing."""
    del name


class Write(Record):
    """What one file becomes."""

    real: str
    """Absolute, without links."""
    before: bytes | None
    """What is there now; None for no file."""
    after: bytes | None
    """None to remove the file."""
    mode: int | None = None
    """Permission bits afterwards; None for those of any new file."""
    drop: tuple[str, ...] = ()
    """Folders to remove afterwards if they are empty, the innermost first."""


class Recovery(Record):
    """What was done about a transaction that had not ended."""

    finished: bool
    """The new files are there; else the old ones."""
    left: tuple[str, ...] = ()
    """Files that were changed since, left as they are."""
    backups: str
    """Folder with the old files."""

    @property
    def told(self) -> tuple[str, ...]:
        """The same for people, a sentence each."""
        what = "finished" if self.finished else "taken back: documents are as they were before it"
        others = (
            f"{path!r} was changed since and left as it is; what it was is in {self.backups!r}" for path in self.left
        )
        return (f"an interrupted adoption or revert was {what}", *others)


class _Step(Record):
    write: Write
    old_mode: int | None
    made: tuple[str, ...]
    """Folders to make, the outermost first."""
    temporary: str

    @property
    def back(self) -> str:
        """Where the old file is written before it is put back."""
        return f"{self.temporary}-back"

    @property
    def is_done(self) -> bool:
        """Whether the file was replaced. It may have been changed since."""
        return not os.path.lexists(self.temporary) and _read(self.write.real) != self.write.before


class _Pending(Record):
    version: Literal[3] = 3
    backups: str
    steps: tuple[_Step, ...]


@contextmanager
def locked(state: Path) -> Generator[None]:
    """The state folder for this process alone. A killed process does not keep it.

    Raises:
        LockedError: another process has it.
        StopRun: the folder cannot be written.
    """
    lock = FileLock(state / LOCK, thread_local=False)
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=0)
    except Timeout:
        raise LockedError(
            f"documents are being adopted or reverted in {str(state)!r} by another process",
            hint="wait until that one has ended",
        ) from None
    except OSError as error:
        raise unwritable(state / LOCK, error) from error
    try:
        yield
    finally:
        lock.release()


def carry_out(
    state: Path, backups: Path, writes: Sequence[Write], records: Mapping[Path, str], on_write: OnWrite = silent
) -> None:
    """Replace all files and write all records, or none. The caller has the lock and has settled what was pending.

    Args:
        backups: a folder of its own for the old files, named `before-0` and so on in the order of `writes`.
        records: files of the state folder with their new text.

    Raises:
        EtudeError: a file is not as the caller says, or could not be written. Everything is as it was.
    """
    try:
        on_write("backups")
        backups.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = [_record(os.path.realpath(path), text.encode()) for path, text in records.items()]
        pending = _plan(backups, (*writes, *(write for write in kept if write.before != write.after)))
        for number, step in enumerate(pending.steps):
            if step.write.before is not None:
                on_write(f"backup {number}")
                _write(str(backups / f"before-{number}"), step.write.before, 0o600)
        sync_folder(backups)
        on_write("pending")
        write_atomically(state / PENDING, pending.model_dump_json(indent=1).encode(), mode=0o600, durable=True)
        for number, step in enumerate(pending.steps):
            for folder in (each for each in step.made if not os.path.lexists(each)):
                on_write(f"folder {folder}")
                os.mkdir(folder)
                sync_folder(Path(folder).parent)
            if step.write.after is not None:
                on_write(f"text {number}")
                _write(step.temporary, step.write.after, step.write.mode)
        for number, step in enumerate(pending.steps):
            on_write(f"replace {number}")
            _replace(step)
        _finish(state, pending, on_write)
    except BaseException as error:
        recovery = settle(state, silent)
        if not isinstance(error, OSError):
            raise
        if recovery is None or not recovery.finished:
            raise EtudeError(
                f"the documents could not be replaced, and are as they were: {error}",
                hint="see that there is room on the disk and that you may write there",
            ) from error


def settle(state: Path, on_write: OnWrite = silent) -> Recovery | None:
    """End the transaction that an earlier process did not; None when there is none. The caller has the lock.

    Raises:
        EtudeError: the pending record cannot be read, or a file cannot be put back; it can be tried again.
    """
    place = state / PENDING
    for left in state.glob(f"{TEMPORARY}*"):
        left.unlink()
    try:
        pending = _Pending.model_validate_json(place.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise EtudeError(
            f"{str(place)!r} cannot be read: {why_unreadable(error)}",
            hint=f"compare your documents with the copies in {str(state)!r}, then remove that file",
        ) from error
    try:
        if not pending.steps or pending.steps[-1].is_done:
            _finish(state, pending, on_write)
            return Recovery(finished=True, backups=pending.backups)
        return Recovery(finished=False, backups=pending.backups, left=_put_back(state, pending, on_write))
    except OSError as error:
        raise EtudeError(
            f"the documents could not be put back: {error}",
            hint=f"the old ones are in {pending.backups!r}; try again",
        ) from error


def missing_folders(real: str) -> tuple[str, ...]:
    """The folders that a file at this path needs and that are not there, the outermost first."""
    return tuple(str(folder) for folder in reversed(Path(real).parents) if not folder.exists())


def _record(real: str, after: bytes) -> Write:
    return Write(real=real, before=_read(real), after=after, mode=0o600)


def _plan(backups: Path, writes: Sequence[Write]) -> _Pending:
    mark = secrets.token_hex(8)
    steps: list[_Step] = []
    for number, write in enumerate(writes):
        _check_place(write.real)
        real = Path(write.real)
        steps.append(
            _Step(
                write=write,
                old_mode=None if write.before is None else real.stat().st_mode & 0o7777,
                made=missing_folders(write.real),
                temporary=str(real.parent / f"{TEMPORARY}{mark}-{number}"),
            )
        )
    return _Pending(backups=str(backups), steps=tuple(steps))


def _check_place(real: str) -> None:
    """Raises EtudeError where the path leads through a link: what is written there would land elsewhere."""
    if os.path.realpath(real) != real:
        raise EtudeError(f"{real!r} is reached through a link now", hint="look at it, then try again")


def _replace(step: _Step) -> None:
    real = step.write.real
    _check_place(real)
    if _read(real) != step.write.before:
        raise EtudeError(f"{real!r} changed while it was being replaced", hint="look at it, then try again")
    if step.write.after is None:
        os.unlink(real)
    else:
        os.replace(step.temporary, real)
    sync_folder(Path(real).parent)


def _finish(state: Path, pending: _Pending, on_write: OnWrite) -> None:
    for step in pending.steps:
        _drop(step.write.drop, on_write)
    on_write("commit")
    _forget(state)


def _put_back(state: Path, pending: _Pending, on_write: OnWrite) -> tuple[str, ...]:
    left: list[str] = []
    for step in reversed(pending.steps):
        real = step.write.real
        if step.is_done and (_read(real) != step.write.after or os.path.realpath(real) != real):
            left.append(real)
        elif step.is_done:
            on_write(f"put back {real}")
            if step.write.before is None:
                os.unlink(real)
            else:
                _write(step.back, step.write.before, step.old_mode)
                on_write(f"rename {real}")
                os.replace(step.back, real)
            sync_folder(Path(real).parent)
        for temporary in (step.temporary, step.back):
            if os.path.lexists(temporary):
                on_write(f"remove {temporary}")
                os.unlink(temporary)
    for step in reversed(pending.steps):
        _drop(tuple(reversed(step.made)), on_write)
    on_write("end")
    _forget(state)
    return tuple(sorted(left))


def _drop(folders: Sequence[str], on_write: OnWrite) -> None:
    for folder in folders:
        on_write(f"drop {folder}")
        with suppress(OSError):  # something is in it, or it is not there
            os.rmdir(folder)


def _forget(state: Path) -> None:
    (state / PENDING).unlink()
    sync_folder(state)


def _read(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
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
