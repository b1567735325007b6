"""The harvest of a night: from the transcripts of agents to clean sessions of which the new turns are marked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import AwareDatetime, Field

from etude.readable import counted, some
from etude.records import Record
from etude.redaction.redactor import Redactor
from etude.sleep.report import NightIntake
from etude.sleep.transcripts.cleaning import SCRIPT, cleaned
from etude.sleep.transcripts.ledger import Entry, Ledger, Status, mark, same_turns, used_turns
from etude.sleep.transcripts.redaction import redacted
from etude.sleep.transcripts.scope import Scope, is_gone
from etude.sleep.transcripts.sessions import Session, Turn, UnreadSession
from etude.sleep.transcripts.sources.plain import PlainTranscripts
from etude.sleep.transcripts.sources.source import Source

_LONGEST_PROBLEM = 300
_SHOWN = 5
_NEVER = datetime.min.replace(tzinfo=UTC)


class SessionQuery(Record):
    """Which sessions a night is to work on."""

    now: AwareDatetime
    """When the night begins."""
    scope: str | None = None
    """A folder: sessions of agents that worked in it or below; None for all projects."""
    other_paths: tuple[str, ...] = ()
    """Other paths of the same project: earlier names, names that it has on other systems."""
    scripts: bool = False
    """To take what scripts told agents, too."""
    hours: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """How far to look back. Sessions that are queued since an earlier night count whatever their age. None for
    everything there is."""
    limit: int | None = Field(default=None, ge=1)
    """Most sessions of the night; the others wait for the next ones."""


class Harvest(NightIntake):
    """What a night has to work on, and what became of all else."""

    taken: tuple[Session, ...] = ()
    """To work on, clean and without secrets; the one changed first comes first."""
    gone: dict[str, int] = Field(default_factory=dict[str, int])
    """Sessions of folders that are not on this machine, by folder: an earlier name of the project may be among
    them."""
    entries: tuple[Entry, ...] = ()
    """What the ledger is to know: `Ledger.take`."""

    @property
    def hints(self) -> tuple[str, ...]:
        """What could be taken in as well, and how."""
        often = sorted(self.gone.items(), key=lambda each: (-each[1], each[0]))
        folders = some([f"{folder!r} ({count})" for folder, count in often], _SHOWN)
        told = self.skipped.get(SCRIPT, 0)
        return (
            *((f"folders that are gone: {folders}; sleep.other_paths takes in those of this project",) * bool(often)),
            *(
                (f"left out: {counted(told, 'prompt')} of scripts; sleep.scripts: true takes in what scripts said",)
                * bool(told)
            ),
        )


def harvest(
    sources: Sequence[Source],
    ledger: Ledger | None,
    asked: SessionQuery,
    *,
    home: Path,
    environ: Mapping[str, str],
    redactor: Redactor | None = None,
) -> Harvest:
    """Find, read, clean and redact sessions: those that wait longest first, so that none waits for ever or is lost to
    a program that deletes old transcripts.

    Only reads: `Ledger.take` writes down what came of it. A source that fails is named in `problems` and stops no
    other.

    Args:
        ledger: None where all there is counts as new.
        home: the user's home folder, where programs keep transcripts.
        environ: the environment: where programs keep them instead, and values of secrets to be taken out.
        redactor: by default one for transcripts that knows the secrets of `environ`.
    """
    work = _Work(ledger, asked, redactor or Redactor.for_transcripts(environ))
    candidates: list[tuple[Source, UnreadSession]] = []
    for source in sources:
        try:
            found = list(source.find(home, environ))
        except Exception as error:  # noqa: BLE001 - the boundary: a source can meet any kind of file
            work.problem(source.name, "", error)
            continue
        candidates += [(source, each) for each in _newest(found, work.skipped)]
    work.found = {(each.source, each.id): each for _, each in candidates}
    for source, each in sorted(candidates, key=lambda candidate: _order(candidate[1])):
        work.look(source, each)
    return work.result()


def _order(found: UnreadSession) -> tuple[datetime, str, str]:
    return (found.changed or _NEVER, found.source, found.id)


def _newest(found: Sequence[UnreadSession], skipped: Counter[str]) -> list[UnreadSession]:
    """One of each session: a program may keep a copy elsewhere."""
    chosen: dict[str, UnreadSession] = {}
    for each in found:
        other = chosen.get(each.id)
        if other is not None:
            skipped["copy"] += 1
        if other is None or (each.changed or _NEVER) > (other.changed or _NEVER):
            chosen[each.id] = each
    return list(chosen.values())


class _Work:
    """A harvest under way."""

    def __init__(self, ledger: Ledger | None, asked: SessionQuery, redactor: Redactor) -> None:
        self._ledger = ledger
        self._asked = asked
        self._redactor = redactor
        self.found: dict[tuple[str, str], UnreadSession] = {}
        self._since = None if asked.hours is None else asked.now.astimezone(UTC) - timedelta(hours=asked.hours)
        self.skipped: Counter[str] = Counter()
        self._redacted: Counter[str] = Counter()
        self._waiting = 0
        self._scope = Scope(None if asked.scope is None else (asked.scope, *asked.other_paths))
        self._taken: list[Session] = []
        self._problems: dict[tuple[str, str], list[str]] = {}
        self._gone: Counter[str] = Counter()
        self._entries: list[Entry] = []
        self._owners = {} if ledger is None else ledger.owners()

    def problem(self, source: str, session: str, reason: Exception | str) -> None:
        told = reason if isinstance(reason, str) else f"{type(reason).__name__}: {reason}"
        self._problems.setdefault((source, told), []).append(session)

    def result(self) -> Harvest:
        return Harvest(
            taken=tuple(self._taken),
            sessions=dict(sorted(Counter(session.source for session in self._taken).items())),
            skipped=dict(sorted((+self.skipped).items())),
            redacted=dict(sorted(self._redacted.items())),
            waiting=self._waiting,
            problems=tuple(self._told(*key, sessions) for key, sessions in self._problems.items()),
            gone=dict(+self._gone),
            entries=tuple(self._entries),
        )

    def _told(self, source: str, reason: str, sessions: Sequence[str]) -> str:
        which = f": session {sessions[0]!r}" if sessions[0] else ""
        which += f" and {len(sessions) - 1} more" if len(sessions) > 1 else ""
        return self._redactor.redact(f"{source}{which}: {reason}")[:_LONGEST_PROBLEM]

    def _copied(self, found: UnreadSession, session: Session) -> int:
        """How many turns from the first another session has as well, asked in the same words at the same time."""
        own = (found.source, found.id)
        return same_turns(session, lambda _, turn: self._owners.get(turn, own) != own)

    def _of_parent(self, source: Source, found: UnreadSession, parent: str, session: Session) -> int:
        """How many turns a fork and its parent begin with, whenever they were written down."""
        other = self.found.get((found.source, parent))
        begun = source.read(other).session if other is not None and parent != found.id else None
        asked = [] if begun is None else [turn.prompt for turn in begun.turns]
        pairs = enumerate(zip(asked, session.turns, strict=False))
        same = min(len(asked), len(session.turns))
        return next((at for at, (one, turn) in pairs if one != turn.prompt), same)

    def _own(self, found: UnreadSession, turns: Sequence[Turn]) -> None:
        for turn in turns:
            if turn.at is not None:
                self._owners.setdefault(mark(turn), (found.source, found.id))

    @property
    def _full(self) -> bool:
        return self._asked.limit is not None and len(self._taken) >= self._asked.limit

    def look(self, source: Source, found: UnreadSession) -> None:
        """Read a session, unless the ledger says that nothing in it is wanted."""
        entry = None if self._ledger is None else self._ledger.entry(found.source, found.id)
        waits = entry is not None and entry.status == "queued"
        reason = self._known(entry, found) or ("" if waits else self._too_old(found.changed))
        if reason:
            self.skipped[reason] += 1
        elif self._full and entry is not None and waits and entry.revision == found.revision:
            self._waiting += self._scope.has(entry.project)
        else:
            try:
                self._read(source, found, entry)
            except Exception as error:  # noqa: BLE001 - the boundary: a source can meet any kind of file
                self._fail(source, found, error)

    def _read(self, source: Source, found: UnreadSession, entry: Entry | None) -> None:
        reading = source.read(found)
        self.skipped.update(reading.skipped)
        if reading.problem:
            self._fail(source, found, reading.problem)
            return
        if reading.session is None:
            self.skipped["empty"] += "subagent" not in reading.skipped
            self._note(found, entry, "empty")
        else:
            copied = max(reading.copied, self._of_parent(source, found, reading.parent, reading.session))
            self._weigh(reading.session, copied, found, entry)

    def _fail(self, source: Source, found: UnreadSession, reason: Exception | str) -> None:
        self.skipped["unreadable"] += 1
        self.problem(source.name, found.id, reason)

    def _known(self, entry: Entry | None, found: UnreadSession) -> str:
        """Why a session need not be read, from what the ledger knows of it."""
        if entry is None or (entry.status != "own" and entry.revision != found.revision):
            return ""
        if entry.status in ("queued", "outside") and not self._scope.has(entry.project):
            self._elsewhere(found, entry.project)
            return "other project"
        return {"own": "own", "used": "used before", "empty": "empty"}.get(entry.status, "")

    def _elsewhere(self, found: UnreadSession, project: str) -> None:
        """A program names folders of this machine; what a user has converted may be from any other."""
        self._gone[project] += found.source != PlainTranscripts.name and is_gone(project)

    def _too_old(self, moment: datetime | None) -> str:
        return "too old" if self._since is not None and moment is not None and moment < self._since else ""

    def _weigh(self, session: Session, copied: int, found: UnreadSession, entry: Entry | None) -> None:
        """Decide what becomes of a session that was read."""
        copied = max(copied, self._copied(found, session))
        known = max(used_turns(entry, session), copied)
        clean = cleaned(session, seen=known, scripts=self._asked.scripts)
        waits = entry is not None and entry.status == "queued"
        if "own" in clean.skipped:
            self.skipped.update(clean.skipped)
            self._note(found, entry, "own", session)
        elif not self._scope.has(session.project):
            self.skipped["other project"] += 1
            self._elsewhere(found, session.project)
            self._note(found, entry, "outside", session)
        elif not waits and self._too_old(session.ended):
            self.skipped["too old"] += 1
        elif clean.session is None:
            self.skipped.update(clean.skipped)
            if SCRIPT in clean.skipped:  # not noted: it may be asked for another time
                return
            self.skipped["nothing new" if known else "empty"] += 1
            self._note(found, entry, "used" if known else "empty", session, copied)
        elif self._full:
            self._waiting += 1
            self._note(found, entry, "queued", session)
        else:
            without, counts = redacted(clean.session, self._redactor)
            self.skipped.update(clean.skipped)
            self._redacted.update(counts)
            self._taken.append(without)
            self._own(found, session.turns[known:])
            self._note(found, entry, "used", session, copied)

    def _note(
        self,
        found: UnreadSession,
        entry: Entry | None,
        status: Status,
        session: Session | None = None,
        copied: int = 0,
    ) -> None:
        noted = entry or Entry(source=found.source, id=found.id, status=status)
        project = noted.project if session is None else session.project
        update = {"status": status, "revision": found.revision, "project": project}
        noted = Entry.model_validate({**dict(noted), **update})
        self._entries.append(noted.used(session, copied) if status == "used" and session is not None else noted)
