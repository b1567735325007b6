"""The ledger: which sessions were seen, and how far each was used.

A night takes what it works on; only its success (`commit`) moves anything. What a night took that failed or was
killed, the next night sees again. What was past the limit of a night stays queued, however old it becomes.
"""

import os
import sqlite3
from collections.abc import Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from filelock import FileLock, Timeout
from pydantic import BeforeValidator, Field, ValidationError

from etude.errors import DataError, IdentityError, LockedError, StopRun
from etude.records import Record, digest
from etude.sleep.transcripts.sessions import Session
from etude.store.database import BUSY_MILLISECONDS, Database, refused_by_disk

__all__ = ["Entry", "Ledger", "Status", "under_way", "used_turns"]

Status = Literal["queued", "used", "own", "empty", "outside"]
"""`queued`: waits for a night. `used`: a night has learnt from it. `own`: etude's own. `empty`: nothing in it is
of use. `outside`: it is of another project."""

FORMAT = 3
_APPLICATION = 0x736B6C70
_GRACE_SECONDS = 0.25
_SCHEMA = """CREATE TABLE sessions (
    source TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (source, id))"""
_HINT = "move the file away to start again (every session is read again), or bring back a copy of it"


def _storable(text: object) -> object:
    """A transcript may hold halves of surrogate pairs, which no file can."""
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text


_Text = Annotated[str, BeforeValidator(_storable)]


class Entry(Record):
    """What is known of a session."""

    source: str
    id: _Text
    status: Status
    revision: _Text = ""
    """Of the session when it was seen last, as in `Found.revision`."""
    project: _Text = ""
    past: str = ""
    """Digest of the prompts of the used turns: changes when the past is rewritten."""
    last: str = ""
    """Digest of the last used turn: changes when the agent went on with it."""
    turns: int = Field(default=0, ge=0)
    """How many turns from the first have been used."""
    tried: int | None = None
    """The night that has left it to the next one, once."""

    def used(self, session: Session) -> "Entry":
        """The same after a night has used all turns of the session."""
        turns = len(session.turns)
        past, last = _past(session, turns), _last(session, turns)
        return self.model_copy(update={"status": "used", "past": past, "last": last, "turns": turns})


def used_turns(entry: Entry | None, session: Session) -> int:
    """How many turns from the first were used; the others are new. A used turn that the agent went on with afterwards
    counts as new, and so does all of a session whose past is shorter or another one than was used."""
    if entry is None or len(session.turns) < entry.turns or _past(session, entry.turns) != entry.past:
        return 0
    went_on = _last(session, entry.turns) != entry.last
    return max(0, entry.turns - went_on)


def _past(session: Session, turns: int) -> str:
    return digest([turn.prompt for turn in session.turns[:turns]])[:16]


def _last(session: Session, turns: int) -> str:
    return digest([turn.model_dump(mode="json") for turn in session.turns[max(0, turns - 1) : turns]])[:16]


class _File(Database):
    """An SQLite file with the one table of the ledger."""

    def _prepare(self, read_only: bool) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        problems = [str(row[0]) for row in self.rows("PRAGMA quick_check(1)")]
        if problems != ["ok"]:
            raise sqlite3.DatabaseError(problems[0])
        if self.rows("PRAGMA application_id")[0][0] != _APPLICATION:
            raise sqlite3.DatabaseError("it is not a ledger")
        found = self.rows("PRAGMA user_version")[0][0]
        if found != FORMAT:
            raise IdentityError(
                f"ledger {str(self.path)!r} has format {found}, this version of etude reads {FORMAT}",
                hint="use the version of etude that made it, or move the file away",
            )
        if not read_only:
            self._choose_journal_mode()


class Ledger:
    """The ledger in an SQLite file, locked for this process unless it is only read. Use as a context manager.

    Args:
        path: the file; its folder exists. A new one is made, all at once, where there is none.
        read_only: needs no lock and writes nothing; a missing file is an empty ledger.

    Raises:
        LockedError: another night is under way.
        DataError: the file is damaged or not a ledger. It is never made again by itself.
        IdentityError: the file has another format version.
        StopRun: the file cannot be written.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._file: _File | None = None
        with ExitStack() as held:
            if not read_only:
                held.callback(_lock(path).release)
                if not path.exists():
                    _create(path)
            if path.exists():
                self._file = self._opened()
                held.callback(self._file.close)
            self._held = held.pop_all()

    def _opened(self) -> _File:
        try:
            return _File(self.path, read_only=self.read_only)
        except DataError as error:
            raise self._broken(error.__cause__ or error) from error
        except StopRun as error:
            raise _unwritable(self.path, error.__cause__ or error) from error

    def entry(self, source: str, id: str) -> Entry | None:
        """What is known of a session; None when it was never seen."""
        found = self._entries("WHERE source = ? AND id = ?", (source, _storable(id)))
        return found[0] if found else None

    def entries(self) -> list[Entry]:
        """All sessions, ordered by source and id."""
        return self._entries("", ())

    def counts(self) -> dict[str, int]:
        """How many sessions there are of each status."""
        return dict(self._rows("SELECT status, COUNT(*) FROM sessions GROUP BY status ORDER BY status"))

    def take(self, entries: Sequence[Entry]) -> None:
        """Begin a night with what its harvest found (`Harvest.entries`). What is `used` waits as `queued` until
        `commit`, and how far it was used stays; all else is written as it is."""
        with self._write() as connection:
            for seen in entries:
                entry = seen
                if seen.status == "used":
                    known = self.entry(seen.source, seen.id) or Entry(source=seen.source, id=seen.id, status="queued")
                    update = {"status": "queued", "revision": seen.revision, "project": seen.project}
                    entry = known.model_copy(update=update)
                _put(connection, entry)

    def once_more(self, night: int) -> set[tuple[str, str]]:
        """Source and id of the sessions that a night before this one has left waiting (`commit`) and that no night
        has used since."""
        tried = (entry for entry in self.entries() if entry.tried is not None and entry.tried < night)
        return {(entry.source, entry.id) for entry in tried}

    def commit(self, night: int, entries: Sequence[Entry], once_more: Collection[tuple[str, str]] = ()) -> None:
        """End a night with success: what it took is used. Doing it again changes nothing.

        Args:
            entries: as for `take`.
            once_more: source and id of sessions that the next night is to try again.
        """
        left = {(source, _storable(id)) for source, id in once_more}
        with self._write() as connection:
            for entry in entries:
                if entry.status == "used" and (entry.source, entry.id) in left:
                    waits = self.entry(entry.source, entry.id) or entry
                    _put(connection, waits.model_copy(update={"tried": night}))
                elif entry.status == "used":
                    _put(connection, entry.model_copy(update={"tried": None}))

    def close(self) -> None:
        """Close the file and give it free. Closing twice does no harm."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _entries(self, where: str, parameters: Sequence[Any]) -> list[Entry]:
        rows = self._rows(f"SELECT entry FROM sessions {where} ORDER BY source, id", parameters)
        try:
            return [Entry.model_validate_json(text) for (text,) in rows]
        except ValidationError as error:
            raise self._broken(_plain(error)) from error

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if self._file is None:
            return []
        try:
            return self._file.rows(sql, parameters)
        except sqlite3.DatabaseError as error:
            if refused_by_disk(error):
                raise _unwritable(self.path, error) from error
            raise self._broken(error) from error

    @contextmanager
    def _write(self) -> Generator[sqlite3.Connection]:
        if self._file is None or self.read_only:
            raise StopRun(f"ledger {str(self.path)!r} was opened to be read only", hint="open it without `read_only`")
        try:
            with self._file.write() as connection:
                yield connection
        except StopRun as error:
            raise _unwritable(self.path, error.__cause__ or error) from error
        except sqlite3.DatabaseError as error:
            raise self._broken(error) from error

    def _broken(self, error: BaseException | str) -> DataError:
        return DataError(f"ledger {str(self.path)!r} cannot be used: {error}", hint=_HINT)


def _plain(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"a row has a bad {'.'.join(map(str, first['loc'])) or 'entry'}: {first['msg']}"


def _put(connection: sqlite3.Connection, entry: Entry) -> None:
    row = (entry.source, entry.id, entry.status, entry.model_dump_json())
    connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)", row)


def _create(path: Path) -> None:
    """A new ledger under another name first: an empty file in its place is a damaged one, never a new one."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        finally:
            connection.close()
        temporary.replace(path)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def under_way(path: Path) -> bool:
    """Whether a process holds the ledger, that is, works through a night."""
    place = _lock_file(path)
    if not place.exists():
        return False
    lock = FileLock(place, mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:  # somebody else's file: nobody here can be at work
        return False
    lock.release()
    return False


def _unwritable(path: Path, error: BaseException) -> StopRun:
    return StopRun(
        f"ledger {str(path)!r} cannot be written: {error}",
        hint="make room or fix the permissions, then run the same command again",
    )


def _lock_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _lock(path: Path) -> FileLock:
    # The system holds the lock for the process: it ends with it, however that ends.
    lock = FileLock(_lock_file(path), mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=_GRACE_SECONDS, poll_interval=_GRACE_SECONDS / 10)
    except Timeout:
        raise LockedError(
            f"ledger {str(path)!r} is in use: another night is under way",
            hint="wait until it has ended; `etude sleep status` shows the nights",
        ) from None
    except OSError as error:
        raise _unwritable(path, error) from error
    return lock
