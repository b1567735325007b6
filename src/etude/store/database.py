"""The SQLite file of a run: how it is opened, read and written. Journal and spend are tables in it."""

import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from etude.errors import DataError, IdentityError
from etude.files import private_file, unwritable

FORMAT = "2"
BUSY_MILLISECONDS = 5_000

_SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE facts (
        kind TEXT NOT NULL, key_hash TEXT NOT NULL, key TEXT, value TEXT NOT NULL,
        digest TEXT NOT NULL, seconds REAL NOT NULL, created TEXT NOT NULL, PRIMARY KEY (kind, key_hash))""",
    """CREATE TABLE spend (
        ticket INTEGER PRIMARY KEY, role TEXT NOT NULL, tokens_bound INTEGER NOT NULL, usd_bound REAL,
        input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER, usd REAL, state TEXT NOT NULL)""",
    "CREATE INDEX spend_open ON spend (role) WHERE state = 'open'",
    """CREATE TABLE spend_settled (
        role TEXT PRIMARY KEY, calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL, usd REAL NOT NULL, unpriced INTEGER NOT NULL)""",
    f"INSERT INTO meta VALUES ('format', '{FORMAT}')",
)


class Database:
    """One connection. Every write is one transaction, on disk before `write` ends, so that it outlives the process.
    The connection may move to another thread but not be used by two at a time. Raises DataError: the file is missing
    (when only reading) or is not an SQLite database; IdentityError: it has an unknown format version; StopRun: the
    disk is full or cannot be written."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        if read_only and not path.exists():
            raise DataError(f"there is no journal {str(path)!r}", hint="`etude runs` lists the runs that are there")
        options = f"mode={'ro' if read_only else 'rwc'}"
        try:
            try:
                self._open(options, read_only)
            except sqlite3.OperationalError as error:
                # On a read-only file system SQLite cannot make the two files that it shares with other readers; where
                # no other process left them, nothing else uses the database and they are not needed.
                if not (read_only and _code(error) == sqlite3.SQLITE_CANTOPEN) or _has_log(path):
                    raise
                self._open(f"{options}&immutable=1", read_only)
        except sqlite3.DatabaseError as error:
            if refused_by_disk(error):
                raise unwritable(path, error) from error
            if _code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) and path.exists():
                raise DataError(
                    f"journal {str(path)!r} cannot be opened, the folder {str(path.parent)!r} cannot be written to",
                    hint="fix its permissions, or copy the folder to a place that can be written to",
                ) from error
            raise DataError(
                f"journal {str(path)!r} cannot be used: {error}",
                hint="give `run.name` another value, or move the file away",
            ) from error

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows a query gives."""
        return self._connection.execute(sql, parameters).fetchall()

    @contextmanager
    def write(self) -> Generator[sqlite3.Connection]:
        """One transaction: committed when the block ends, rolled back when it raises.
        Raises StopRun: the file cannot be written, as when the disk is full."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                raise
        except sqlite3.OperationalError as error:
            raise unwritable(self.path, error) from error

    def close(self) -> None:
        """Close the file. Closing twice does no harm."""
        self._connection.close()

    def _open(self, options: str, read_only: bool) -> None:
        if not read_only:
            with suppress(OSError):  # SQLite says what is wrong
                os.close(private_file(self.path))
        # Transactions are explicit; a synchronous caller may hand the connection to the thread of its event loop.
        self.uri = f"{self.path.absolute().as_uri()}?{options}"
        self._connection = sqlite3.connect(self.uri, uri=True, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(read_only)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, read_only: bool) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        if not read_only:
            self._choose_journal_mode()
        if not read_only and not self.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
            with self.write() as connection:
                for statement in _SCHEMA:
                    connection.execute(statement)
        self._check_format()

    def _choose_journal_mode(self) -> None:
        with suppress(sqlite3.OperationalError):
            if self.rows("PRAGMA journal_mode = WAL")[0][0] == "wal":
                # A commit outlives the process at once, and a power cut can only take the last ones with it.
                self._connection.execute("PRAGMA synchronous = NORMAL")
                return
        self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.execute("PRAGMA synchronous = FULL")

    def _check_format(self) -> None:
        found = "none"
        try:
            found = next((str(row[0]) for row in self.rows("SELECT value FROM meta WHERE name = 'format'")), "none")
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_ERROR:  # which says that there is no such table
                raise
        if found != FORMAT:
            raise IdentityError(
                f"journal {str(self.path)!r} has format {found!r}, this version of etude reads {FORMAT!r}",
                hint="use the version of etude that made it, or another `run.name`",
            )


def refused_by_disk(error: sqlite3.DatabaseError) -> bool:
    """Whether it is the disk that is full or fails, and not the file that is damaged."""
    return _code(error) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _code(error: sqlite3.DatabaseError) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _has_log(path: Path) -> bool:
    """Whether a process that uses the database, or was killed, left what is not yet in the file."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0
