"""Typed events: what happens in a run, as it happens. Console, dashboard and `events.jsonl` read them."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args

from pydantic import Field
from pydantic_core import from_json

from etude.records import Attempt, Record, Role, Split, Usage
from etude.records.tasks import Ended

Stage = Literal[
    "baseline",
    "validation",
    "rollout",
    "reflect",
    "aggregate",
    "select",
    "update",
    "gate",
    "proof",
    "slow_update",
    "meta_skill",
    "tidy",
    "test",
]

ATTEMPTING: Mapping[Split, Stage] = MappingProxyType({"train": "rollout", "val": "validation", "test": "test"})
"""The stage that attempts at the tasks of a split are, when they belong to no step."""


class RunStarted(Record):
    """A run begins, or continues."""

    kind: Literal["run_started"] = "run_started"
    name: str
    folder: str
    epochs: int
    steps: int
    resumed: bool
    simulated: bool
    dry: bool = Field(default=False, exclude_if=lambda dry: not dry)
    """The simulated models know none of the tasks: only the plumbing is tried."""
    models: dict[Role, str] = Field(default_factory=dict[Role, str])
    """What answers in each role, as in `openai:gpt-5.5`."""


class StageStarted(Record):
    """A stage begins. `total` is the number of attempts or calls it may need, 0 when unknown."""

    kind: Literal["stage_started"] = "stage_started"
    stage: Stage
    step: int
    epoch: int
    total: int = 0


class StageFinished(Record):
    """A stage is done; `note` says in a few words with what. An idle one had nothing to work on."""

    kind: Literal["stage_finished"] = "stage_finished"
    stage: Stage
    step: int
    note: str = ""
    idle: bool = False
    attempts: tuple[str, ...] = ()
    """Ids of the attempts that a rollout came to, also of those that were known from an earlier step."""


class AttemptFinished(Record):
    """An attempt came back, from the agent or from the journal."""

    kind: Literal["attempt_finished"] = "attempt_finished"
    attempt: str
    task: str
    split: Split
    outcome: str
    hard: float | None
    soft: float | None = None
    reason: str = ""
    ended: Ended | None = Field(default=None, exclude_if=lambda ended: ended is None)
    """As `Trajectory.ended`."""
    skill: str = ""
    """The hash of the skill."""
    trial: int = 0
    """Which attempt at the task with this skill it is, counted from 0."""
    type: str = ""
    """Of the task."""
    usd: float | None = None
    """What the calls of its agent cost in US dollars, those that the journal answered included; None when the price
    is unknown or the calls are not metered."""
    usage: Usage = Usage()
    """What they used."""
    agent: str = ""
    """The digest of the agent's fingerprint, which tells its model and settings too."""
    facts: tuple[str, ...] = ()
    """The names of what the journal holds of it."""

    @classmethod
    def of(cls, made: Attempt, split: Split, agent: str) -> "AttemptFinished":
        """That this attempt came back."""
        return cls(
            attempt=made.id,
            task=made.task.id,
            split=split,
            outcome=made.outcome,
            hard=made.score.hard if made.score else None,
            soft=made.score.soft if made.score else None,
            reason=made.reason,
            ended=made.trajectory.ended,
            skill=made.skill_hash,
            trial=made.trial,
            type=made.task.type,
            usd=made.trajectory.usd,
            usage=made.trajectory.usage,
            agent=agent,
            facts=tuple(made.facts),
        )


class CallFinished(Record):
    """A model request was answered or failed. `usage` is empty for a failure, which costs nothing."""

    kind: Literal["call_finished"] = "call_finished"
    role: Role
    model: str = ""
    """The digest of the model's fingerprint, which tells its settings too."""
    error: str = ""
    final: bool = False
    """The error ends the run, which says it."""
    usage: Usage = Usage()
    usd: float | None = None
    """US dollars; None when the price is unknown."""
    seconds: float = 0.0


class SpendChanged(Record):
    """Totals since the run was first started, over all its processes."""

    kind: Literal["spend_changed"] = "spend_changed"
    calls: int
    tokens: int
    usd: float | None


class Decided(Record):
    """The gate, or the lack of anything to decide, ended a step."""

    kind: Literal["decided"] = "decided"
    step: int
    steps: int
    action: Literal["accepted", "rejected", "skipped"]
    origin: Literal["step", "slow_update", "tidy"]
    reason: str
    current: float | None
    """Mean validation score of the skill after it; None where it was not measured."""
    best: float | None
    """The same of the best skill."""
    skill_tokens: int
    solved: int = 0
    """Training tasks that were solved when they were last attempted."""
    tried: int = 0
    """Training tasks that were attempted so far."""
    tasks: int = 0
    """All training tasks."""


class Notice(Record):
    """Something a person should know."""

    kind: Literal["notice"] = "notice"
    level: Literal["info", "warning"]
    text: str
    hint: str = ""
    """What to do about it."""
    withdrawn: bool = Field(default=False, exclude_if=lambda withdrawn: not withdrawn)
    """The same was said before, and does not hold any more."""


class RunFinished(Record):
    """The run is over. `stopped` is empty, or why it ended early."""

    kind: Literal["run_finished"] = "run_finished"
    stopped: str
    summary: str


Event = (
    RunStarted
    | StageStarted
    | StageFinished
    | AttemptFinished
    | CallFinished
    | SpendChanged
    | Decided
    | Notice
    | RunFinished
)

_KINDS: Mapping[str, type[Event]] = MappingProxyType(
    {kind.model_fields["kind"].default: kind for kind in get_args(Event)}
)
_HEAD = re.compile(rb'\{"at": "([^"]*)", "kind": "(\w+)"')
"""How a run folder begins a line: most need not be read twice to know their kind."""


def event_of(data: Mapping[str, Any]) -> Event:
    """The event that stands in a line of `events.jsonl`, without what stands there besides. Raises LookupError,
    ValueError: it is none."""
    return _KINDS[data["kind"]].model_validate(data, extra="ignore")


def read_event(line: bytes) -> tuple[Event, str]:
    """The event of a line of `events.jsonl`, and when it was told. Raises as `event_of`, and TypeError."""
    if head := _HEAD.match(line):
        return _KINDS[head[2].decode()].model_validate_json(line, extra="ignore"), head[1].decode()
    data = from_json(line)
    return event_of(data), str(data.get("at", ""))
