"""Databases of other programs, read without touching them.

SQLite writes next to a database even to read it, and a program at work keeps its last pages in a log next to it. So
the files are copied, and the copy is opened.
"""

import os
import shutil
import sqlite3
import stat
import tempfile
import weakref
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from etude.sleep.transcripts.sources.lines import LONG_LINE, open_regular

MOST_BYTES = 2 * 2**30
"""A larger database is not copied."""

_SUFFIXES = ("", "-wal", "-journal")
_TRIES = 5
_STEPS = 100_000
_LONGEST_VALUE = 8 * LONG_LINE
"""Bytes. What is longer ends the reading; it leaves room for files that a program keeps with what was said."""

Row = dict[str, object]


class DatabaseCopy:
    """A private copy of a database, kept until the original changes or this object is gone. What is done with it is
    ended after `steps` times 100,000 instructions of SQLite."""

    def __init__(self, steps: int = 5_000) -> None:
        self._steps = steps
        self._state: object = None
        self._folder: Path | None = None

    @contextmanager
    def opened(self, path: Path) -> Generator[sqlite3.Connection]:
        """A copy of the database, as it was committed last. Its tables can be read and its views cannot: one in a
        forged database has rows and columns without end. Raises OSError: it is not a regular file, too large, not a
        database, or written to all the time; also in place of whatever SQLite raises in the `with` block."""
        copy = self._copy(Path(os.path.realpath(path)) if path.is_symlink() else path)
        try:
            with closing(sqlite3.connect(copy)) as database:
                database.text_factory = _decoded
                steps = iter(range(self._steps))
                database.set_progress_handler(lambda: next(steps, None) is None, _STEPS)
                database.execute("PRAGMA trusted_schema = OFF")
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
                database.set_authorizer(_tables_only)
                yield database
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise OSError(0, f"it cannot be read as a database: {error}") from None

    def _copy(self, path: Path) -> Path:
        state = path, _state(path)
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="etude-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        target = self._folder / "copy.db"
        for _ in range(_TRIES):
            if state == self._state:
                return target
            for suffix in _SUFFIXES:
                _copy_file(Path(f"{path}{suffix}"), Path(f"{target}{suffix}"))
            before, state = state, (path, _state(path))
            self._state = before
        raise OSError(0, "it is being written to")


def rows(
    database: sqlite3.Connection, table: str, wanted: tuple[str, ...], rest: str, *values: object
) -> Iterator[Row]:
    """Rows with those of the wanted columns that the table has; the others are None. `rest` is what follows the
    table in the query."""
    there = {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}
    names = [name for name in wanted if name in there]
    if not names:
        return
    for row in database.execute(f"SELECT {', '.join(names)} FROM {table} {rest}", values):
        yield dict.fromkeys(wanted) | dict(zip(names, row, strict=True))


def _state(path: Path) -> object:
    """What differs after any write to the database. Raises OSError where it is too large or is not a regular file."""
    found: list[tuple[int, int, int] | None] = []
    size = 0
    for suffix in _SUFFIXES:
        try:
            state = os.lstat(f"{path}{suffix}")
        except FileNotFoundError:
            if not suffix:
                raise
            found.append(None)
            continue
        if not stat.S_ISREG(state.st_mode):
            raise OSError(0, "it is not a regular file")
        size += state.st_size
        found.append((state.st_ino, state.st_size, state.st_mtime_ns))
    if size > MOST_BYTES:
        raise OSError(0, f"it is larger than {MOST_BYTES // 2**30} GiB")
    return found


def _copy_file(path: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        with open_regular(path) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file)
    except FileNotFoundError:
        pass  # most have no log; whether one went meanwhile is looked at afterwards


def _tables_only(action: int, first: str | None, second: str | None, of: str | None, view: str | None) -> int:
    """SQLite asks this of all that a statement does; the last argument names the view or trigger that does it."""
    del action, first, second, of
    return sqlite3.SQLITE_OK if view is None else sqlite3.SQLITE_DENY


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
