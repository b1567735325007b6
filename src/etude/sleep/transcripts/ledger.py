"""The ledger: which sessions were seen, and how far each was used.

A night takes what it works on; only its success (`commit`) moves anything. What a night took that failed or was
killed, the next night sees again. What was past the limit of a night stays queued, however old it becomes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from filelock import FileLock
from pydantic import BeforeValidator, Field

from etude.errors import LockedError
from etude.files import is_locked, take_lock
from etude.records import Record, digest
from etude.sleep.state import read_kept, write_private
from etude.sleep.transcripts.sessions import Session, Turn

Status = Literal["queued", "used", "own", "empty", "outside"]
"""`queued`: waits for a night. `used`: a night has learnt from it. `own`: etude's own. `empty`: nothing in it is
of use. `outside`: it is of another project."""

_GRACE_SECONDS = 0.25
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
    """Of the session when it was seen last, as in `UnreadSession.revision`."""
    project: _Text = ""
    marks: tuple[str, ...] = ()
    """Of the turns that were used (`mark`), from the first."""
    context: int = Field(default=0, ge=0)
    """How many turns from the first are another session's."""
    last: str = ""
    """Digest of the last used turn: changes when the agent continued it."""
    tried: int | None = None
    """The night that has left it to the next one, once."""

    def used(self, session: Session, context: int = 0) -> "Entry":
        """The same after a night has used all turns of the session, the first of them as context only."""
        marks = tuple(map(mark, session.turns))
        return self.model_copy(
            update={"status": "used", "marks": marks, "context": context, "last": _last(session, len(marks))}
        )


class _Kept(Record):
    """The file."""

    version: Literal[1] = 1
    entries: tuple[Entry, ...] = ()


def used_turns(entry: Entry | None, session: Session) -> int:
    """How many turns from the first were used; the others are new. A used turn that the agent continued afterwards
    counts as new, and so does all that follows where the user has changed the past."""
    if entry is None:
        return 0
    used = same_turns(session, lambda at, found: at < len(entry.marks) and entry.marks[at] == found)
    return used - (used == len(entry.marks) > 0 and _last(session, used) != entry.last)


def same_turns(session: Session, known: Callable[[int, str], bool]) -> int:
    """How many turns from the first are known, by place and mark."""
    marks = enumerate(map(mark, session.turns))
    return next((at for at, found in marks if not known(at, found)), len(session.turns))


def mark(turn: Turn) -> str:
    """What tells a turn from others, wherever it is written down: when and what was asked. Of one without a time only
    the words are known, which others may have as well (`-`)."""
    return f"{'-' if turn.at is None else ''}{digest([turn.at and turn.at.isoformat(), turn.prompt])[:12]}"


def _last(session: Session, turns: int) -> str:
    return digest([turn.model_dump(mode="json") for turn in session.turns[max(0, turns - 1) : turns]])[:16]


class Ledger:
    """The ledger in a JSON file, locked for this process unless it is only read. Every change replaces the file in
    one move. Use as a context manager.

    Args:
        path: the file; its folder exists. A missing one is an empty ledger.
        read_only: needs no lock and writes nothing.

    Raises:
        LockedError: another night is under way.
        DataError: the file is damaged, or another version wrote it. It is never made again by itself.
        StopRun: the file cannot be written.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._lock = None if read_only else _locked(path)
        try:
            kept = read_kept(path, _Kept, _HINT) or _Kept()
        except BaseException:
            self.close()
            raise
        self._entries = {(entry.source, entry.id): entry for entry in kept.entries}

    def entry(self, source: str, id: str) -> Entry | None:
        """What is known of a session; None when it was never seen."""
        return self._entries.get((source, str(_storable(id))))

    def entries(self) -> list[Entry]:
        """All sessions, ordered by source and id."""
        return [self._entries[key] for key in sorted(self._entries)]

    def owners(self) -> dict[str, tuple[str, str]]:
        """Source and id of a session that has a turn which was used, by its mark."""
        return {
            found: key
            for key, entry in self._entries.items()
            for found in entry.marks[entry.context :]
            if not found.startswith("-")
        }

    def counts(self) -> dict[str, int]:
        """How many sessions there are of each status."""
        return dict(sorted(Counter[str](entry.status for entry in self._entries.values()).items()))

    def take(self, entries: Sequence[Entry]) -> None:
        """Begin a night with what its harvest found (`Harvest.entries`). What is `used` waits as `queued` until
        `commit`, and how far it was used stays; all else is written as it is."""
        found: list[Entry] = []
        for entry in entries:
            if entry.status == "used":
                known = self.entry(entry.source, entry.id) or Entry(source=entry.source, id=entry.id, status="queued")
                update = {"status": "queued", "revision": entry.revision, "project": entry.project}
                entry = known.model_copy(update=update)
            found.append(entry)
        self._put(found)

    def once_more(self, night: int) -> set[tuple[str, str]]:
        """Source and id of the sessions that a night before this one has left waiting (`commit`) and that no night
        has used since."""
        return {key for key, entry in self._entries.items() if entry.tried is not None and entry.tried < night}

    def commit(self, night: int, entries: Sequence[Entry], once_more: Collection[tuple[str, str]] = ()) -> None:
        """End a night with success: what it took is used, except sessions (`once_more`: source and id) that the next
        night is to try again. Doing it again changes nothing."""
        left, found = {(source, _storable(id)) for source, id in once_more}, list[Entry]()
        for entry in entries:
            if entry.status == "used" and (entry.source, entry.id) in left:
                waits = self.entry(entry.source, entry.id) or entry
                found.append(waits.model_copy(update={"tried": night}))
            elif entry.status == "used":
                found.append(entry.model_copy(update={"tried": None}))
        self._put(found)

    def close(self) -> None:
        """Release the lock. Closing twice does no harm."""
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _put(self, entries: Iterable[Entry]) -> None:
        if self._lock is None:
            raise ValueError(f"ledger {str(self.path)!r} was opened to be read only")
        changed = self._entries | {(entry.source, entry.id): entry for entry in entries}
        kept = _Kept(entries=tuple(changed[key] for key in sorted(changed)))
        write_private(self.path, kept.model_dump_json() + "\n")
        self._entries = changed


def under_way(path: Path) -> bool:
    """Whether a process holds the ledger, that is, works through a night."""
    return is_locked(_lock_file(path))


def _lock_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _locked(path: Path) -> FileLock:
    in_use = LockedError(
        f"ledger {str(path)!r} is in use: another night is under way",
        hint="wait until it has ended; `etude sleep status` shows the nights",
    )
    return take_lock(_lock_file(path), in_use, wait_seconds=_GRACE_SECONDS)
