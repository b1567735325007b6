"""The SQLite file of a run: how it is opened, read and written. Journal and spend are tables in it."""

import hashlib
import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from etude.errors import DataError, EtudeError, IdentityError, StopRun
from etude.files import is_locked, private_file, unwritable
from etude.store.wal import cut_short

FORMAT = "3"
BUSY_MILLISECONDS = 5_000

_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, digest TEXT NOT NULL)",
    """CREATE TABLE facts (
        kind TEXT NOT NULL, key_hash TEXT NOT NULL, key TEXT, value TEXT NOT NULL,
        seconds REAL NOT NULL, created TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (kind, key_hash))""",
    """CREATE TABLE spend (
        ticket INTEGER PRIMARY KEY, role TEXT NOT NULL, tokens_bound INTEGER NOT NULL, usd_bound REAL,
        input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER, usd REAL, state TEXT NOT NULL,
        digest TEXT NOT NULL)""",
    "CREATE INDEX spend_open ON spend (role) WHERE state = 'open'",
    """CREATE TABLE spend_settled (
        role TEXT PRIMARY KEY, calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL, usd REAL NOT NULL, unpriced INTEGER NOT NULL, digest TEXT NOT NULL)""",
)
FACT = "kind, key_hash, CAST(key AS BLOB), CAST(value AS BLOB), seconds, created, digest"
"""The columns of a fact as they are read: long texts as the bytes that their digest is made of."""
_SMALL = ("meta", "spend", "spend_settled")
"""What a reader looks through before it reads: facts are the bulk, and each is compared with its digest."""
_REFUSED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Database:
    """One connection. Every write is one transaction, on disk before `write` ends, so that it outlives the process.
    The connection may move to another thread but not be used by two at a time.

    The last column of each table is a digest of the row. Who writes looks through the whole file first, since a
    damaged tree of SQLite can lose rows; a reader looks through the small tables.

    All that SQLite raises is an error with the file and what to do: StopRun where it is used to write, since attempts
    under way must end with it; DataError while it is opened, and of a reader. Opening raises besides DataError: the
    file is missing (when only reading); IdentityError: it has an unknown format version; StopRun: the disk is full or
    cannot be written."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._error: type[EtudeError] = DataError
        if read_only and not path.exists():
            raise DataError(f"there is no journal {str(path)!r}", hint="`etude runs` lists the runs that are there")
        self._check_log(read_only)
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
        except sqlite3.Error as error:
            raise self._problem(error) from error
        self._error = DataError if read_only else StopRun

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows a query gives, as they are."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._problem(error) from error

    def guarded(self, table: str, where: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a table, without their digests. Raises as `rows`, also where a row is not as it was written."""
        found = self.rows(f"SELECT * FROM {table} WHERE {where}", parameters)
        whole = [row for row in found if intact(table, row)]
        if len(whole) < len(found):
            raise self.damaged(f"a row of its table {table!r} was changed")
        return [row[:-1] for row in whole]

    def put(self, table: str, *row: Any) -> None:
        """Write a row with its digest, in place of one with the same key; within `write`."""
        marks = ", ".join("?" * (len(row) + 1))
        sql = f"INSERT OR REPLACE INTO {table} VALUES ({marks})"
        self._connection.execute(sql, (*row, row_digest(table, row)))

    def check(self, table: str = "") -> None:
        """Look through a table, or the whole file. Raises as `rows`, also where its structure is damaged."""
        ((found,), *_) = self.rows(f"PRAGMA integrity_check({table or 1})")
        if found != "ok":
            raise self.damaged(" ".join(str(found).split()))

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
        except sqlite3.Error as error:
            raise self._problem(error, writing=True) from error

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
        self._connection.text_factory = _decoded
        try:
            self._prepare(read_only)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, read_only: bool) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        if not read_only:
            self._choose_journal_mode()
            if not self._ask("SELECT 1 FROM sqlite_master LIMIT 1"):
                self._make_tables()
        self._check_format()
        if {sql for (sql,) in self._ask("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")} != set(_TABLES):
            raise self.damaged("its tables are not those that etude makes")
        for table in _SMALL if read_only else ("",):
            self.check(table)

    def _make_tables(self) -> None:
        self.check()
        with self.write() as connection:
            for statement in _TABLES:
                connection.execute(statement)
            self.put("meta", "format", FORMAT)

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()

    def _choose_journal_mode(self) -> None:
        with suppress(sqlite3.OperationalError):
            if self._ask("PRAGMA journal_mode = WAL")[0][0] == "wal":
                # A commit outlives the process at once, and a power cut can only take the last ones with it.
                self._connection.execute("PRAGMA synchronous = NORMAL")
                return
        self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.execute("PRAGMA synchronous = FULL")

    def _check_format(self) -> None:
        found = "none"
        try:
            found = next((str(row[0]) for row in self._ask("SELECT value FROM meta WHERE name = 'format'")), "none")
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_ERROR:  # which says that there is no such table
                raise
        if found != FORMAT:
            raise IdentityError(
                f"journal {str(self.path)!r} has format {found!r}, this version of etude reads {FORMAT!r}",
                hint="use the version of etude that made it, or another `run.name`",
            )

    def _check_log(self, read_only: bool) -> None:
        """Refuse a log that SQLite would read in part and say nothing about. One that is being written to is not
        looked at."""
        log = self.path.with_name(f"{self.path.name}-wal")
        if read_only and is_locked(self.path.with_name(f"{self.path.name}.lock")):
            return
        if cut_short(log):
            raise DataError(
                f"the log {str(log)!r} of a journal is damaged: writes at its end would be lost",
                hint="restore the folder from a copy; or remove the log to go on without them, then what they hold "
                "is paid for again",
            )

    def _problem(self, error: sqlite3.Error, *, writing: bool = False) -> EtudeError:
        code = _code(error)
        if refused_by_disk(error) or (writing and code in _REFUSED):
            return unwritable(self.path, error)
        if code in _BUSY:
            return self._error(
                f"journal {str(self.path)!r} is held by another program: {error}",
                hint="close what has it open, then run the same command again",
            )
        if code in _REFUSED and self.path.exists():
            return self._error(
                f"journal {str(self.path)!r} cannot be opened, the folder {str(self.path.parent)!r} cannot be "
                "written to",
                hint="fix its permissions, or copy the folder to a place that can be written to",
            )
        return self.damaged(str(error))

    def damaged(self, what: str) -> EtudeError:
        """The error for a file that is not as it was written."""
        return self._error(
            f"journal {str(self.path)!r} cannot be used: {what}",
            hint="restore the file from a copy, or move the folder away: the run then begins anew and pays again",
        )


def row_digest(table: str, row: Sequence[Any]) -> str:
    """Of the values of a row, text as such or as UTF-8."""
    parts = [_as_bytes(value) for value in (table, *row)]
    lengths = repr([len(part) for part in parts]).encode()
    return hashlib.sha256(lengths + b"".join(parts)).hexdigest()[:32]


def _as_bytes(value: Any) -> bytes:
    """Numbers count as what they are worth, since SQLite keeps 1 and 1.0 alike."""
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        value = repr(value + 0.0) if isinstance(value, int | float) else str(value)
    return value.encode("utf-8", "surrogatepass")


def intact(table: str, row: Sequence[Any]) -> bool:
    """Whether a row, its digest last, is as it was written."""
    return row[-1] == row_digest(table, row[:-1])


def refused_by_disk(error: sqlite3.Error) -> bool:
    """Whether it is the disk that is full or fails, and not the file that is damaged."""
    return _code(error) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _decoded(data: bytes) -> str:
    """Text that a damaged file holds need not be UTF-8; then its digest says so."""
    return data.decode("utf-8", "replace")


def _has_log(path: Path) -> bool:
    """Whether a process that uses the database, or was killed, left what is not yet in the file."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0
