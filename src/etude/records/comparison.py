"""Two skills on the same tasks, and whether the second should take the place of the first."""

from collections.abc import Sequence

from pydantic import Field

from etude.records import Metric, Record, Split, brief
from etude.records.answer import Claim, Interval, ShipVerdict, about
from etude.records.tasks import Ended


class Settle(Record):
    """What would settle an inconclusive comparison in 4 of 5 cases, if the difference and its spread are as seen."""

    tasks: int | None
    """How many tasks, with as many trials. None: no number up to a million."""
    trials: int | None = None
    """How many of the same tasks say `ship` on just these. None: not ten."""
    note: str
    """The same in a sentence."""


class Loaded(Record):
    """In how many attempts an agent program opened a skill that it had to choose itself."""

    attempts: int
    of: int


class Compared(Record):
    """One of two skills, over the tasks that both have a score on."""

    skill: str
    hash: str
    score: Interval
    answer_tokens: float | None = None
    """Mean output tokens of the attempts that were compared, as billed or estimated; None where they were
    not counted."""
    loaded: Loaded | None = None
    """None where the skill is always in context, or it cannot be told."""


class Flip(Record):
    """A task on which two skills differ: means over the trials, in [0, 1]."""

    task: str
    a: float
    b: float


class ComparedTask(Record):
    """The attempts at a task that were compared: their values under both skills, trial by trial."""

    task: str
    a: tuple[float, ...]
    b: tuple[float, ...]


class OfTarget(Record):
    """How one of several targets did under two skills, over the tasks that both have a score on."""

    target: str
    a: Interval
    b: Interval
    difference: Interval
    """B minus A, paired by task."""
    verdict: ShipVerdict
    """Of this target alone; those of all targets hold together with 95% confidence."""


class TheseTasks(Record):
    """Whether B is better on these very tasks: exact, over the attempts at them."""

    verdict: ShipVerdict
    """`ship` where luck would hardly do as well, `do not ship` where B scores no more than A."""
    p: float
    """How often luck alone would do as well, in [0, 1]: `etude.intervals.permutation`."""

    @property
    def why(self) -> str:
        """For people."""
        if self.verdict == "do not ship":
            return "B scores no more than A"
        how_often = "less than 0.1%" if self.p < 0.001 else f"{100 * self.p:.{0 if self.p >= 0.1 else 1}f}%"
        return f"luck alone would do as well in {how_often} of cases"


class Comparison(Record):
    """How two skills did on the same tasks, and whether B should take the place of A."""

    a: Compared
    b: Compared
    split: Split
    metric: Metric
    trials: int
    difference: Interval
    """B minus A, paired by task."""
    at_least: float
    """One-sided 95% bound: the true difference is higher, with 95% confidence."""
    at_most: float
    """The same from above."""
    margin: float
    """The smallest gain worth having; below 0, the loss that is allowed."""
    verdict: ShipVerdict
    """`do not ship` when `at_most` is not above `margin`, else `ship` when `at_least` is above 0, or above a `margin`
    that is below 0. Where `claim` is `these tasks`, that of `these`."""
    claim: Claim = "tasks like these"
    """What `verdict` is about."""
    these: TheseTasks | None = None
    """The other claim, on these very tasks; None where `margin` is not 0, and of a night."""
    settle: Settle | None
    """None when there is a verdict."""
    gained: tuple[Flip, ...]
    """Tasks on which B is better, the largest gain first."""
    lost: tuple[Flip, ...]
    """Tasks on which B is worse, the largest loss first."""
    equal: int
    """How many tasks are left."""
    tried: tuple[ComparedTask, ...] = ()
    """All of them, attempt by attempt, in the order of the tasks."""
    targets: tuple[OfTarget, ...] = Field(default=(), exclude_if=lambda targets: not targets)
    """Each of several targets. What stands above is about their mean, with a task's value the mean over them; it is
    not to be shipped where one of them is seen to lose by more than `gate.allow_loss`."""
    voids: int
    """Attempts without a score. A trial that is void under one skill counts for neither."""
    ended: dict[Ended, int] = Field(default_factory=dict[Ended, int])
    """Attempts, of those with a score, whose last reply was cut off, refused or empty."""
    test_openings: int
    """Which opening of the run's test split this is: 1 for the first; 0 on another split, and for no skill."""
    simulated: bool
    file: str = ""
    """Where this record was written; empty in the file itself."""

    def __repr__(self) -> str:
        skills = f"{brief(self.a.skill, 25)} -> {brief(self.b.skill, 25)}"
        return f"<Comparison {skills} on {self.split}: {self.difference.shown_change}, {self.said}>"

    @property
    def said(self) -> str:
        """The verdict with what it is about."""
        return f"{self.verdict}, {about(self.claim)}"


def target_rows(
    targets: Sequence[OfTarget], no_skill: Sequence[OfTarget] = (), skills: tuple[str, str] = ("initial", "best")
) -> tuple[tuple[str, ...], ...]:
    """A column for each of several targets, below their names; nothing where there is one only."""
    if not targets:
        return ()
    rows = [
        ("", *(each.target for each in targets)),
        (skills[0], *(each.a.shown for each in targets)),
        (skills[1], *(each.b.shown for each in targets)),
        ("gain", *(each.difference.shown_change for each in targets)),
        ("verdict", *(each.verdict for each in targets)),
    ]
    if no_skill:
        rows.insert(1, ("no skill", *(each.a.shown for each in no_skill)))
        rows.insert(-1, ("over none", *(each.difference.shown_change for each in no_skill)))
    return tuple(rows)
