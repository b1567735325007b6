"""How much the programs of a box have written."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .held import Held

_FASTEST = 2 << 30
"""Bytes that one processor writes in a second at most."""
_BEYOND = 1.1
"""How far beyond its limit a program may be when that is seen, as a factor."""
_SOONEST = 0.001
_LEAST = 4096
"""What an entry counts at least: millions of empty files fill a disk, too."""


class TooDeep(Exception):
    """A folder is nested so deeply that it has no path, or more folders are unreadable than can be opened."""


class Disk:
    """What a box has written. Counting takes long where there are many files; what is free on the disk is known at
    once, and tells when to count: others may have written that, too."""

    def __init__(self, folder: str, most: int) -> None:
        self._folder = os.open(folder, os.O_RDONLY)
        self._most = most
        self._speed = _FASTEST * (os.cpu_count() or 1)
        self._used, self._free = 0, self._room()
        self._first = self._free

    def _room(self) -> int:
        disk = os.fstatvfs(self._folder)
        return disk.f_bfree * disk.f_frsize

    def doubtful(self) -> bool:
        """The program may be over the limit: counting tells."""
        return self._likely() > self._most

    def _likely(self) -> int:
        return self._used + max(0, self._free - self._room())

    def pause(self) -> float:
        """Seconds until the next look: no program is much beyond the limit by then."""
        return max(_SOONEST, (_BEYOND * self._most - self._likely()) / self._speed)

    def count(self, folders: list[str], held: Held) -> bool:
        """Whether the files in `folders`, and those without a name, are over the limit. Where nobody may look at all
        of those, it is what the whole disk has lost since the program started."""
        free = self._room()
        try:
            self._used = size(folders, self._most) + held.disk
        except TooDeep:
            return True
        if held.more_disk:
            self._used = max(self._used, self._first - free)
        self._free = free
        return self._used > self._most


def size(folders: list[str], enough: int) -> int:
    """Bytes on disk below `folders`, links not followed; stops counting above `enough`. Raises TooDeep."""
    closed: list[tuple[int, int]] = []
    try:
        return _size(folders, enough, closed)
    finally:
        for place, mode in reversed(closed):
            os.chmod(f"/proc/self/fd/{place}", mode)
            os.close(place)


def _size(folders: list[str], enough: int, closed: list[tuple[int, int]]) -> int:
    total = 0
    twins: set[tuple[int, int]] = set()
    stack = list(folders)
    while stack and total <= enough:
        path = stack.pop()
        try:
            if os.geteuid():
                _unlock(path, folders, closed)
            entries = list(os.scandir(path))
        except OSError as error:
            _check_depth(error)
            continue
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError as error:
                _check_depth(error)
                continue
            if stat.S_ISDIR(info.st_mode):
                stack.append(entry.path)
            elif info.st_nlink > 1:
                if (info.st_dev, info.st_ino) in twins:
                    continue
                twins.add((info.st_dev, info.st_ino))
            total += max(info.st_blocks * 512, _LEAST)
    return total


def _unlock(path: str, folders: list[str], closed: list[tuple[int, int]]) -> None:
    """Makes a folder readable that its owner made unreadable, and notes the descriptor and mode to undo that."""
    mode = os.lstat(path).st_mode
    if not stat.S_ISDIR(mode) or mode & 0o500 == 0o500 or not hasattr(os, "O_PATH"):
        return
    place = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    closed.append((place, mode & 0o7777))
    where = os.readlink(f"/proc/self/fd/{place}") + "/"
    if any(where.startswith(os.path.realpath(folder) + "/") for folder in folders):  # nobody moved it elsewhere
        os.chmod(f"/proc/self/fd/{place}", mode & 0o7777 | 0o500)


def _check_depth(error: OSError) -> None:
    """Other errors mean that it is gone meanwhile."""
    if error.errno in (errno.ENAMETOOLONG, errno.EMFILE):
        raise TooDeep from None
