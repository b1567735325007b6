"""How much the programs of a box have written."""

import errno
import os
import stat

_LEAST = 4096
"""What an entry counts at least: millions of empty files fill a disk, too."""


class TooDeep(Exception):
    """A folder is nested so deeply that it has no path."""


def size(folders: list[str], enough: int) -> int:
    """Bytes on disk below `folders`, links not followed; stops counting above `enough`. Raises TooDeep."""
    total = 0
    twins: set[tuple[int, int]] = set()
    stack = list(folders)
    while stack and total <= enough:
        try:
            entries = list(os.scandir(stack.pop()))
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


def _check_depth(error: OSError) -> None:
    """Other errors mean that it is gone meanwhile, or not readable even for its owner."""
    if error.errno == errno.ENAMETOOLONG:
        raise TooDeep from None


def held(pids: list[int]) -> int:
    """Bytes of files that are deleted, or never had a name, and that these processes keep open."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        try:
            numbers = os.listdir(folder)
        except OSError:
            continue
        for number in numbers:
            try:
                info = os.stat(f"{folder}/{number}")
            except OSError:
                continue
            if info.st_nlink == 0 and stat.S_ISREG(info.st_mode):
                sizes[info.st_dev, info.st_ino] = info.st_blocks * 512
    return sum(sizes.values())
