"""How much the programs of a box have written."""

import errno
import os
import stat

_LEAST = 4096
"""What an entry counts at least: millions of empty files fill a disk, too."""


class TooDeep(Exception):
    """A folder is nested so deeply that it has no path, or more folders are unreadable than can be opened."""


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
