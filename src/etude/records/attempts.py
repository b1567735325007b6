"""Attempts at tasks, and what the agent did in them."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field, SerializationInfo, SerializerFunctionWrapHandler, model_serializer

from etude.records.messages import Message, Usage
from etude.records.record import Record, brief
from etude.records.skills import File
from etude.records.tasks import Ended, Score, Task

Outcome = Literal["completed", "failed", "void"]
Role = Literal["target", "optimizer", "judge"]


def role_of(place: str) -> Role:
    """The role of the model of these settings: `targets.0` is a target."""
    return "target" if place.startswith("targets.") else cast(Role, place)


class Trajectory(Record):
    """What an agent did in one attempt, before it is scored."""

    answer: str = ""
    messages: tuple[Message, ...] = ()
    failure: str = ""
    """Why the attempt failed by the agent's own fault (refusal, step limit, empty answer); empty if it did not."""
    ended: Ended | None = Field(default=None, exclude_if=lambda ended: ended is None)
    """How the last reply ended, where not by itself."""
    usage: Usage = Usage()
    simulated: bool = False
    exit_codes: dict[str, int] = Field(default_factory=dict[str, int])
    """How the commands of tool calls ended, by the id of the call."""
    files: dict[str, File | None] = Field(default_factory=dict[str, File | None])
    """Files of the workspace that are new or different afterwards, by relative POSIX path; None for one that is
    gone."""
    read_skill: bool | None = None
    """Whether the program opened the skill, where it had to decide that itself."""
    seconds: float | None = Field(default=None, ge=0)
    """How long the attempt took, waits for the model included; None when it was not measured. A view of a run does
    not have it: what depends on the clock differs from one run to the next."""
    usd: float | None = Field(default=None, ge=0)
    """What its model calls cost in US dollars; None when a price is unknown, or the calls are not metered. Not in
    views either."""

    def __repr__(self) -> str:
        failure = f", failed: {brief(self.failure, 20)}" if self.failure else ""
        return f"<Trajectory {brief(self.answer, 40)}: {len(self.messages)} messages{failure}>"

    @model_serializer(mode="wrap")
    def _for_views(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        if info.context is not None and cast(Mapping[str, Any], info.context).get("view"):
            for name in ("seconds", "usd"):
                data.pop(name, None)  # it may have been left out already
        return data


class Attempt(Record):
    """One try at one task under one skill.

    `completed` and `failed` attempts have a score (a failed one scores 0), a `void` one has none.
    """

    id: str
    """Short and stable: edits cite it. The same task, skill and trial always give the same id."""
    task: Task
    skill_hash: str
    trial: int = Field(default=0, ge=0)
    outcome: Outcome
    score: Score | None = None
    reason: str = ""
    """Why it failed or is void."""
    trajectory: Trajectory = Field(default_factory=Trajectory)
    facts: dict[str, str] = Field(default_factory=dict[str, str], exclude=True, repr=False)
    """What the journal holds of it: the name of each fact, and a digest of its value. Not in JSON."""

    def __repr__(self) -> str:
        score = "" if self.score is None else f", hard {self.score.hard:g}, soft {self.score.soft:g}"
        reason = f", {brief(self.reason, 40)}" if self.reason else ""
        return f"<Attempt {self.id} at {brief(self.task.id, 30)}: {self.outcome}{score}{reason}>"

    @property
    def simulated(self) -> bool:
        """Answers of the simulated world are part of it, of the target or of a judge."""
        return self.trajectory.simulated or (self.score is not None and self.score.simulated)

    @property
    def solved(self) -> bool:
        """The attempt has a score and `hard` is at least 1."""
        return self.score is not None and self.score.hard >= 1
