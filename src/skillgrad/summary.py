"""What a run reports at its end: `summary.json`."""

from pydantic import Field

from skillgrad.records import Metric, Record, Role, Usage


class Interval(Record):
    """A mean with its 95% interval over `n` tasks."""

    mean: float
    low: float
    high: float
    n: int


class SkillScores(Record):
    """How one skill did. None where it was not measured."""

    skill: str
    """File of the skill, from the run folder."""
    hash: str
    val: Interval | None = None
    test: Interval | None = None


class Cost(Record):
    """What the run used since it was first started."""

    target_calls: int = 0
    optimizer_calls: int = 0
    judge_calls: int = 0
    tokens: dict[Role, Usage] = Field(default_factory=dict[Role, Usage])
    usd: float | None = None
    """None when a price is unknown."""
    wall_seconds: float = 0.0
    """Of the last process only, when the run was resumed."""


class Summary(Record):
    """The result of a training run."""

    name: str
    folder: str
    """The run folder."""
    simulated: bool
    """The answers came from the simulated world: scores say nothing about a real model."""
    metric: Metric
    """What `val` and `test` are means of."""
    initial: SkillScores
    best: SkillScores
    """Its `val` was selected on and tends to be too high; `test` was not."""
    test_gain: Interval | None = None
    """Best minus initial on the test tasks, paired."""
    steps: int
    accepted: int
    rejected: int
    skipped: int
    """Steps and slow updates without a candidate worth evaluating."""
    missed_edits: int
    voids: int
    """Attempts without a score that the run went on without."""
    stopped: str | None = None
    """Why the run ended early."""
    cost: Cost
