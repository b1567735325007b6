"""Files that are replaced as a whole, so that a reader sees the old one or the new one; files and folders for their
owner only; locks on files."""

import os
import secrets
from pathlib import Path

from filelock import FileLock, Timeout

from etude.errors import LockedError, StopRun

TEMPORARY = ".etude-"
"""What the names of files begin with while they are written, next to those that they replace."""


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    """Write a file in one move, in a folder that exists, for its owner only, or with the permissions of `mode` less
    what the umask takes away. A failed write leaves no trace. What is `durable` is on the disk when this returns;
    else a power cut may undo it."""
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner only; close one that is there."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        if not folder.parent.exists():  # one that is there stays as it is, also where none can be made in it (/proc)
            private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def unversioned_folder(folder: Path) -> None:
    """Make a private folder of whose content git takes no notice; one that is there stays as it is."""
    if not folder.exists():
        private_folder(folder)
        write_atomically(folder / ".gitignore", b"*\n")


def private_file(path: str | Path, flags: int = os.O_WRONLY | os.O_APPEND | os.O_CREAT) -> int:
    """Open a file, one that is made for its owner only: an `opener` of `open`."""
    return os.open(path, flags, 0o600)


def unwritable(path: Path, error: Exception) -> StopRun:
    """For a file that a run cannot go without, as when the disk is full."""
    hint = "free some space or fix the permissions, then run the same command again"
    return StopRun(f"{str(path)!r} cannot be written: {getattr(error, 'strerror', None) or error}", hint=hint)


def take_lock(path: Path, in_use: LockedError, *, wait_seconds: float = 0.0) -> FileLock:
    """The lock on the file `path`, taken for this process, in whichever thread it is released; it ends with the
    process, however that ends. Raises `in_use`: another process has it; StopRun: the file cannot be written."""
    lock = FileLock(path, mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=wait_seconds, poll_interval=0.025)
    except Timeout:
        raise in_use from None
    except OSError as error:
        raise unwritable(path, error) from error
    return lock


def is_locked(path: Path) -> bool:
    """Whether a process has the lock. One that cannot be tried, of another user or on a read-only disk, counts as
    free."""
    if path.exists():
        try:
            take_lock(path, LockedError("it is in use", hint="try again later")).release()
        except LockedError:
            return True
        except StopRun:
            pass
    return False


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: files that were made, renamed or removed in it stay so."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed process left in a folder that only this process writes to."""
    for left in folder.rglob(f"{TEMPORARY}*"):
        if left.is_file():
            left.unlink()
