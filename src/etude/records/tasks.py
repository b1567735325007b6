"""Tasks, and how well they were done."""

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, get_args

from pydantic import Field, JsonValue

from etude.records.messages import ImagePart
from etude.records.record import Record, brief, digest
from etude.records.skills import File

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
Metric = Literal["hard", "soft", "mixed"]
MEANS: Mapping[Metric, str] = {
    "hard": "share solved",
    "soft": "mean score",
    "mixed": "mean of share solved and score",
}
"""What people call a mean over tasks."""
REFUSED = "the model refused"
"""The failure of an attempt that the target refused, or a filter before it."""
Ended = Literal["cut off", "refused", "empty"]
"""How the last reply of an attempt ended, where not by itself."""
CURES: Mapping[Ended, str] = {
    "cut off": "raise target.max_output_tokens",
    "refused": "take another target.model, or leave out what it refuses",
    "empty": "see what the server makes of thoughts and tools, or take another target.model",
}
"""What to do about such replies."""


def counted_ends(scores: Iterable["Score"]) -> dict[Ended, int]:
    """How many of them are of attempts whose last reply did not end by itself, by how it did."""
    ends = [score.ended for score in scores]
    return {how: ends.count(how) for how in CURES if how in ends}


def ends_together(ends: Iterable[Mapping[Ended, int]]) -> dict[Ended, int]:
    """Counts of several parts, as one."""
    every = list(ends)
    return {how: count for how in CURES if (count := sum(each.get(how, 0) for each in every))}


class Place(Record):
    """Where the makers of a task have its workspace. Only a sandbox that can put a folder there runs such a task."""

    path: str
    """Absolute path at which programs of an attempt find the workspace, too."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment variables of these programs."""
    image: str = Field(default="", exclude_if=lambda image: not image)
    """The image of Docker that brings these programs, by a name that says what it is made of; empty for those of the
    sandbox."""


class Task(Record):
    """One thing to do, and what a right answer is compared with."""

    id: str
    input: str
    """What the agent has to do."""
    gold: JsonValue = None
    """The reference a scorer compares with. Agents never see it."""
    type: str = ""
    """Kind of task; splits by ratio are stratified by it."""
    group: str = ""
    """Tasks of one group stay in one split."""
    images: tuple[str, ...] = ()
    """Pictures that belong to the input: http(s) or data URLs, or references that `Environment.image` resolves."""
    files: dict[str, File] = Field(default_factory=dict[str, File])
    """What an agent with a workspace finds in it, by relative POSIX path."""
    place: Place | None = Field(default=None, exclude_if=lambda place: place is None)
    """Where programs of an attempt find these files, besides the folder they start in."""
    data: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """Further fields for environments and scorers."""
    target: str = Field(default="", exclude_if=lambda target: not target)
    """Which of several targets attempts it: the id ends in `@` and that name. Hidden from environments and agents."""

    def __repr__(self) -> str:
        return f"<Task {brief(self.id, 30)}: {brief(self.input)}>"

    @property
    def text(self) -> str:
        """The input, and a line for each picture."""
        return "\n".join((self.input, *(ImagePart(url=image).shown for image in self.images)))

    @property
    def own_id(self) -> str:
        """Its id without the target: the same for all that attempt it."""
        return self.id.removesuffix(f"@{self.target}") if self.target else self.id

    def seed(self, trial: int) -> int:
        """What an attempt sends to its model as the seed: below 2^31, another one for each task and each trial, so
        that a server that draws by the seed alone does not give all tasks of a trial the same luck."""
        return int(digest([self.own_id, trial])[:8], 16) >> 1

    @property
    def plain(self) -> "Task":
        """As its environment made it."""
        return self.model_copy(update={"id": self.own_id, "target": ""}) if self.target else self


def for_each_target(tasks: Iterable[Task], targets: Collection[str]) -> tuple[Task, ...]:
    """Each task once for each of these targets, side by side; one target without a name leaves them as they are."""
    made = [
        task.model_copy(update={"id": f"{task.id}@{name}", "target": name}) if name else task
        for task in tasks
        for name in targets
    ]
    return tuple(made)


def once_each(tasks: Iterable[Task]) -> tuple[tuple[Task, ...], ...]:
    """Each task with all that attempt it: once for each target, side by side."""
    found: dict[str, tuple[Task, ...]] = {}
    for task in tasks:
        found[task.own_id] = (*found.get(task.own_id, ()), task)
    return tuple(found.values())


class Criterion(Record):
    """What a judge found about one criterion of a task."""

    text: str
    met: bool
    evidence: str
    """What shows it."""


class Score(Record):
    """How good an attempt was."""

    hard: float = Field(ge=0, le=1)
    """Solved or not: 0 or 1, or a fraction where the task has parts."""
    soft: float = Field(ge=0, le=1)
    """Partial credit."""
    feedback: str = ""
    """What the optimizer may read about the score."""
    simulated: bool = Field(default=False, exclude_if=lambda simulated: not simulated)
    """A judge of the simulated world was asked for it."""
    ended: Ended | None = Field(default=None, exclude_if=lambda ended: ended is None)
    """How the last reply ended, where not by itself: `cut off`, `refused` or `empty`."""
    criteria: tuple[Criterion, ...] = Field(default=(), exclude_if=lambda criteria: not criteria)
    """Where a judge decided criterion by criterion."""

    def value(self, metric: Metric, mixed_weight: float = 0.5) -> float:
        """The number the gate compares, in [0, 1]. `mixed` is (1 - w) * hard + w * soft."""
        if metric == "mixed":
            return (1 - mixed_weight) * self.hard + mixed_weight * self.soft
        return self.hard if metric == "hard" else self.soft
