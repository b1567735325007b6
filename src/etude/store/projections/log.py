"""What `events.jsonl` tells, read on as the file grows: the story of a run, its attempts and its times."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, get_args

from etude.events import AttemptFinished, CallFinished, Event, RunFinished, RunStarted, StageFinished, read_event
from etude.records import Role, Split, Usage
from etude.records.attempts import Outcome
from etude.store.views import EVENTS
from etude.story import Story, after

_OUTCOMES = frozenset(get_args(Outcome))
_ATTEMPT, _CALL = b'"kind": "attempt_finished"', b'"kind": "call_finished"'
"""As the log has them. No text in it can: its quotes are escaped."""


class LoggedAttempt(NamedTuple):
    """An attempt that came back, from the agent or from the journal."""

    attempt: str
    task: str
    split: Split
    outcome: str
    hard: float | None
    soft: float | None
    skill: str
    """The hash of the skill."""
    type: str
    """Of the task."""
    usd: float | None
    """What the calls of its agent cost, in US dollars; None when that is unknown."""
    reason: str
    usage: Usage
    """What they used."""
    agent: str
    """As `AttemptFinished` has it."""
    facts: tuple[str, ...]
    """The names of what the journal holds of it."""


class CallTotals(NamedTuple):
    """What calls of a model came to."""

    calls: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    """That they took, one after another; with those that failed."""


class Log:
    """The events of a run folder so far. `read` goes on where it stopped. Most events are attempts and calls; without
    `many` these are passed over, which takes a tenth of the time."""

    def __init__(self, path: Path | str, *, many: bool = True) -> None:
        self.path = Path(path)
        self._many = many
        self.story = Story()
        self.attempts: list[LoggedAttempt] = []
        self.known: dict[str, LoggedAttempt] = {}
        """The same by id: as each came back last."""
        self.batches: dict[int, tuple[LoggedAttempt, ...]] = {}
        """What the rollout of each step came to, also what was known from an earlier step."""
        self.answers: dict[tuple[Role, str], CallTotals] = {}
        """By role and model, as `CallFinished` has it."""
        self.calling: list[list[int]] = []
        """For each process the seconds since 1970 in which its first and its last call ended."""
        self.slowed = 0
        """Calls that were told to slow down."""
        self.started = self.at = ""
        """When the run was last started, and when something else than an attempt or a call was last told; UTC."""
        self._offset = 0
        self._names: dict[str, str] = {}
        self._second = ""
        """In which the last call ended."""

    def read(self) -> bool:
        """Take what is new; says whether there was anything. A file that became shorter is read from the start."""
        file = self.path / EVENTS
        size = file.stat().st_size if file.exists() else 0
        if size < self._offset:
            self.__init__(self.path, many=self._many)
        if size == self._offset:
            return False
        with file.open("rb") as stream:
            stream.seek(self._offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    break  # it is being written, or a killed process left it so
                self._offset += len(line)
                if not self._many and (_CALL in line or _ATTEMPT in line):
                    continue
                with suppress(ValueError, LookupError, TypeError, AttributeError):  # it was changed
                    self._take(*read_event(line))
        return True

    def _take(self, event: Event, at: str) -> None:
        self.story = after(self.story, event)
        match event:
            case AttemptFinished():
                self._attempt(event)
                return
            case CallFinished():
                self._call(event, at)
                return
            case StageFinished(stage="rollout", idle=False):
                found = [self.known.get(name) for name in event.attempts]
                self.batches[event.step] = tuple(seen for seen in found if seen is not None)
            case RunStarted() | RunFinished():
                self.started = at if isinstance(event, RunStarted) else self.started
                self.calling.append([])
                self._second = ""
            case _:
                pass
        self.at = max(self.at, at)

    def _attempt(self, event: AttemptFinished) -> None:
        if event.outcome not in _OUTCOMES:
            raise ValueError("no attempt is told of so")
        keep = self._names.setdefault
        seen = LoggedAttempt(
            attempt=event.attempt,
            task=keep(event.task, event.task),
            split=event.split,
            outcome=event.outcome,
            hard=event.hard,
            soft=event.soft,
            skill=keep(event.skill, event.skill),
            type=keep(event.type, event.type),
            usd=event.usd,
            reason=event.reason,
            usage=event.usage,
            agent=event.agent,
            facts=event.facts,
        )
        self.attempts.append(seen)
        self.known[seen.attempt] = seen

    def _call(self, event: CallFinished, at: str) -> None:
        whole = at.partition(".")[0]
        if whole != self._second:  # many calls share one
            self._second, second = whole, int(datetime.fromisoformat(at).timestamp())
            if not self.calling:
                self.calling.append([])
            self.calling[-1] = [*self.calling[-1][:1], second] if self.calling[-1] else [second, second]
        key = event.role, event.model
        known = self.answers.get(key, CallTotals())
        self.answers[key] = CallTotals(
            known.calls + (not event.error), known.usage + event.usage, known.seconds + event.seconds
        )
        self.slowed += "429" in event.error
