"""Files of transcripts, read with care: JSON lines whatever they hold, and the values in them whatever they are.

Nothing here raises for what a file holds. Links are followed; pipes and devices are not opened.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from etude.programs.transcripts.values import moment, object_of
from etude.sleep.transcripts.sessions import UnreadSession

LONG_LINE = 8 * 2**20
"""Bytes. Lines that are longer without their pictures are left out: they hold dumps, and would fill the memory."""

_HEAD = 16 * 2**10
_PICTURE = re.compile(rb"[A-Za-z0-9+/=_-]{1000,}")


def program_folder(home: Path, environ: Mapping[str, str], variable: str, *default: str) -> Path:
    """Where a program keeps its things: what the variable names, if that is absolute, or a folder of the home
    folder."""
    moved = environ.get(variable, "")
    return Path(moved) if os.path.isabs(moved) else home.joinpath(*default)


def files_under(root: Path, suffix: str, depth: int) -> Iterator[tuple[Path, os.stat_result | None]]:
    """Regular files whose name ends with `suffix`, in folders at most `depth` below the root; none where there is no
    such folder. Follows links to files, and to folders elsewhere. What may hold such files and cannot be read, as a
    link to nothing or a closed folder, comes with None.

    Raises OSError when the root cannot be read.
    """
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        path, linked = root / entry.name, entry.is_symlink()
        try:
            entry.name.encode()
            state = entry.stat()
            if stat.S_ISDIR(state.st_mode):
                if depth and (not linked or _is_elsewhere(path, root)):
                    yield from files_under(path, suffix, depth - 1)
            elif entry.name.endswith(suffix):
                yield path, state if stat.S_ISREG(state.st_mode) else None
        except UnicodeEncodeError:  # a name that no program gives
            continue
        except OSError:
            if linked or entry.is_dir(follow_symlinks=False):  # else it is gone meanwhile
                yield path, None


def _is_elsewhere(link: Path, root: Path) -> bool:
    """Whether a link leads to a folder that holds nothing of the root, and is not in it."""
    target, real = Path(os.path.realpath(link)), Path(os.path.realpath(root))
    return target.is_dir() and not (target.is_relative_to(real) or real.is_relative_to(target))


def found_in(source: str, files: Iterable[tuple[str, Path, os.stat_result | None]]) -> tuple[UnreadSession, ...]:
    """Sessions, one to a file: its id, path and state (`files_under`). Of several files with one id, the one changed
    last. One without an id is none; one without a state is found so that reading it says why."""
    known = [(id, path, state) for id, path, state in files if id or state is None]
    known.sort(key=lambda file: (0 if file[2] is None else file[2].st_mtime_ns, file[1]))
    last = {str(path) if state is None else id: (path, state) for id, path, state in known}
    return tuple(
        UnreadSession(
            source=source,
            id=id,
            path=str(path),
            revision="" if state is None else f"{state.st_size}:{state.st_mtime_ns}",
            changed=None if state is None else moment(state.st_mtime_ns // 1000 / 1000),
        )
        for id, (path, state) in last.items()
    )


def open_regular(path: str | Path) -> BinaryIO:
    """A file opened for reading. Raises OSError if it is not a regular file, without opening what it is instead."""
    if os.path.isdir(path):
        os.scandir(path).close()  # says why a folder cannot be read
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "it is not a regular file")
    # Should it be replaced this moment: no pipe is waited for.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags), "rb")


def reason_of(error: OSError) -> str:
    """What a person reads about a file that cannot be read."""
    return f"cannot be read: {error.strerror or type(error).__name__}"


def head(path: Path) -> str:
    """How a file begins; empty when it cannot be read."""
    try:
        with open_regular(path) as file:
            return file.read(_HEAD).decode("utf-8", "replace")
    except OSError:
        return ""


def records(path: str | Path, skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one a line. Any other line is counted as `broken line` or `long line`.

    Raises OSError when the file cannot be read.
    """
    with open_regular(path) as file:
        while line := file.readline(LONG_LINE + 1):
            if len(line) > LONG_LINE and not line.endswith(b"\n"):
                line = _without_pictures(line, file)
            if len(line) > LONG_LINE and not line.endswith(b"\n"):
                skipped["long line"] += 1
            elif line.strip():
                record = object_of(line)
                if record is None:
                    skipped["broken line"] += 1
                else:
                    yield record


def _without_pictures(piece: bytes, file: BinaryIO) -> bytes:
    """All of a line without what is written in base64. Of one that is too long all the same, the beginning."""
    kept = b""
    while piece:
        kept += _PICTURE.sub(b"", piece) if len(kept) <= LONG_LINE else b""
        if piece.endswith(b"\n"):
            break
        piece = file.readline(LONG_LINE)
    return kept
