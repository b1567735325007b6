"""The skill where a program finds it: to be read only."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path


def close(place: Path) -> Path:
    """Take away the right to write from a file, or from a folder with all that is in it; returns the place."""
    for path in (*place.rglob("*"), place) if place.is_dir() else (place,):
        path.chmod(path.stat().st_mode & 0o555)
    return place


class ReadOnlyFiles:
    """What is closed in the home of an attempt before its program starts.

    A sandbox of namespaces keeps it so (`paths` are among what a box can read). Elsewhere a program may take the
    right to write again, as whoever owns a file can: `changed` tells.
    """

    def __init__(self, home: Path) -> None:
        self.paths = tuple(_closed(home))
        self._before = {file: _content(file) for path in self.paths for file in _files(path)}

    def changed(self, home: Path) -> str:
        """The first file that is not what it was, by its path in the home; empty when all are."""
        after = {file for path in self.paths for file in _files(path)}
        for file in sorted({*self._before, *after}):
            before = self._before.get(file)
            if before is None or _size(file) != before[0] or _content(file) != before:
                return file.relative_to(home).as_posix()
        return ""


def _closed(folder: Path) -> Iterator[Path]:
    """The outermost files and folders that may not be written."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            continue
        if not path.stat().st_mode & stat.S_IWUSR:
            yield path
        elif path.is_dir():
            yield from _closed(path)


def _files(path: Path) -> Iterator[Path]:
    """Itself, or all that is in a folder and is none. No link is followed."""
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for folder, inner, names in os.walk(path):
        linked = [name for name in inner if Path(folder, name).is_symlink()]
        yield from (Path(folder, name) for name in (*names, *linked))


def _size(file: Path) -> int:
    """Of a regular file; -1 for anything else, or nothing."""
    try:
        found = file.lstat()
    except OSError:
        return -1
    return found.st_size if stat.S_ISREG(found.st_mode) else -1


def _content(file: Path) -> tuple[int, str]:
    try:
        return _size(file), hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return -1, ""
