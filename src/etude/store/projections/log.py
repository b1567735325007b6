"""What `events.jsonl` tells, read on as the file grows. Much of what a person asks is an answer from here."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic_core import from_json

from etude.records import Role, Split, Usage
from etude.records.attempts import Outcome
from etude.store.views import EVENTS

OUTSIDE = "-"
"""Stands for the stage of calls that no event tells of: requests that a killed process had under way."""

_ASKING_OPTIMIZER = ("reflect", "aggregate", "select", "update", "slow_update", "meta_skill", "tidy")
_WITHOUT_ATTEMPTS = ("reflect", "aggregate", "select", "update", "meta_skill")
_KEPT_SECONDS = 3_600
_SPLITS, _OUTCOMES, _ROLES = frozenset(get_args(Split)), frozenset(get_args(Outcome)), frozenset(get_args(Role))
_ATTEMPT, _CALL = b'"kind": "attempt_finished"', b'"kind": "call_finished"'
"""As the log has them. No text in it can: its quotes are escaped."""


class LoggedAttempt(NamedTuple):
    """An attempt that came back, from the agent or from the journal."""

    attempt: str
    task: str
    split: Split
    outcome: Outcome
    hard: float | None
    soft: float | None
    skill: str
    """The hash of the skill."""
    type: str
    """Of the task."""
    usd: float | None
    """What the calls of its agent cost, in US dollars; None when that is unknown."""
    reason: str
    facts: tuple[str, ...]
    """The names of what the journal holds of it."""


class Mark(NamedTuple):
    """A decision, and what had been sent by then."""

    step: int
    origin: str
    action: str
    batch: float | None
    """Mean score of the training attempts of the step, made with the skill before it."""
    val: float | None
    """Mean validation score of the skill after it."""
    failed: int
    fixed: int
    target_calls: int
    tokens: int
    usd: float | None


@dataclass
class RoleUse:
    """What a role used in a stage."""

    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    """That its calls took, one after another."""

    @property
    def usage(self) -> Usage:
        """Its tokens."""
        return Usage(
            input_tokens=self.input_tokens, output_tokens=self.output_tokens, cached_tokens=self.cached_tokens
        )


class Log:
    """The events of a run folder so far. `read` goes on where it stopped. Most events are attempts and calls; without
    `many` these are passed over, which takes a tenth of the time."""

    def __init__(self, path: Path | str, *, many: bool = True) -> None:
        self.path = Path(path)
        self._many = many
        self.attempts: list[LoggedAttempt] = []
        self.known: dict[str, LoggedAttempt] = {}
        """The same by id: as each came back last."""
        self.batches: dict[int, tuple[LoggedAttempt, ...]] = {}
        """What the rollout of each step came to, also what was known from an earlier step."""
        self.marks: list[Mark] = []
        self.costs: dict[tuple[Role, str], RoleUse] = {}
        self.warnings: dict[str, str] = {}
        """What the run warned of, each with what to do about it."""
        self.rates: dict[int, list[int]] = {}
        """By second since 1970: calls that ended, and those of them that were told to slow down."""
        self.last: dict[str, dict[str, Any]] = {}
        """The last event of each kind that there are few of."""
        self.slow_updates: dict[int, int] = {}
        """After which step the slow update of an epoch was made."""
        self.finished: bool = False
        """The process that worked on the run last came to an end of it; one that is killed does not say so."""
        self._under_way: list[tuple[str, int]] = []
        self._offset = 0
        self._names: dict[str, str] = {}
        self._second = "", 0
        """The text of a time without its fraction, and the same in seconds since 1970: many calls share one."""

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
                    self._take(from_json(line))
        return True

    @property
    def calls(self) -> dict[Role, int]:
        """Requests that were told of, by role."""
        found: dict[Role, int] = {}
        for (role, _), used in self.costs.items():
            found[role] = found.get(role, 0) + used.calls
        return found

    @property
    def stage(self) -> tuple[str, int] | None:
        """The stage that began last of those under way, and its step."""
        return self._under_way[-1] if self._under_way else None

    def _take(self, event: dict[str, Any]) -> None:
        kind = str(event.get("kind"))
        match kind:
            case "attempt_finished":
                self._attempt(event)
            case "call_finished":
                self._call(event)
            case "stage_started":
                self._under_way.append((str(event["stage"]), int(event["step"])))
                if event["stage"] == "slow_update":
                    self.slow_updates[int(event["epoch"])] = int(event["step"])
            case "stage_finished":
                stage = str(event["stage"]), int(event["step"])
                if stage in self._under_way:
                    self._under_way.remove(stage)
                if stage[0] == "rollout" and not event.get("idle"):
                    found = [self.known.get(name) for name in event.get("attempts", ())]
                    self.batches[stage[1]] = tuple(seen for seen in found if seen is not None)
            case "decided":
                self._mark(event)
            case "notice":
                if event.get("withdrawn"):
                    self.warnings.pop(str(event["text"]), None)
                elif event["level"] == "warning":
                    self.warnings[str(event["text"])] = str(event.get("hint", ""))
            case "run_started" | "run_finished":
                self.finished = kind == "run_finished"
                self._under_way.clear()  # what a killed process left open is over
            case _:
                pass
        if kind not in ("attempt_finished", "call_finished"):
            self.last[kind] = event

    def _attempt(self, event: dict[str, Any]) -> None:
        if event["split"] not in _SPLITS or event["outcome"] not in _OUTCOMES:
            raise ValueError("no attempt is told of so")
        keep = self._names.setdefault
        task, skill, type = str(event["task"]), str(event.get("skill", "")), str(event.get("type", ""))
        seen = LoggedAttempt(
            attempt=str(event["attempt"]),
            task=keep(task, task),
            split=event["split"],
            outcome=event["outcome"],
            hard=event["hard"],
            soft=event.get("soft"),
            skill=keep(skill, skill),
            type=keep(type, type),
            usd=event.get("usd"),
            reason=str(event.get("reason", "")),
            facts=tuple(event.get("facts", ())),
        )
        self.attempts.append(seen)
        self.known[seen.attempt] = seen

    def _call(self, event: dict[str, Any]) -> None:
        role: Role = event["role"]
        if role not in _ROLES:
            raise ValueError("no call is told of so")
        key = role, self._stage_of(role)
        used = self.costs.get(key)
        if used is None:
            used = self.costs[key] = RoleUse()
        error = str(event.get("error", ""))
        used.calls += 1
        used.failed += bool(error)
        tokens = event.get("usage", {})
        used.input_tokens += tokens.get("input_tokens", 0)
        used.output_tokens += tokens.get("output_tokens", 0)
        used.cached_tokens += tokens.get("cached_tokens", 0)
        usd: float | None = event.get("usd")
        used.usd = None if used.usd is None or usd is None else used.usd + usd
        used.seconds += event.get("seconds", 0.0)
        count = self.rates.setdefault(self._time(event["at"]), [0, 0])
        count[0] += 1
        count[1] += "429" in error
        while len(self.rates) > _KEPT_SECONDS:
            del self.rates[next(iter(self.rates))]

    def _time(self, at: str) -> int:
        whole = at.partition(".")[0]
        if whole != self._second[0]:
            self._second = whole, int(datetime.fromisoformat(at).timestamp())
        return self._second[1]

    def _stage_of(self, role: Role) -> str:
        stages = [stage for stage, _ in self._under_way]
        fitting = [
            stage
            for stage in stages
            if (stage in _ASKING_OPTIMIZER if role == "optimizer" else stage not in _WITHOUT_ATTEMPTS)
        ]
        return (fitting or stages or [OUTSIDE])[-1]

    def _mark(self, event: dict[str, Any]) -> None:
        used = list(self.costs.values())
        prices = [one.usd for one in used]
        self.marks.append(
            Mark(
                step=int(event["step"]),
                origin=str(event["origin"]),
                action=str(event["action"]),
                batch=event.get("batch"),
                val=event["current"],
                failed=int(event.get("failed", 0)),
                fixed=int(event.get("fixed", 0)),
                target_calls=self.calls.get("target", 0),
                tokens=sum(one.input_tokens + one.output_tokens for one in used),
                usd=None if None in prices else sum(price for price in prices if price is not None),
            )
        )
