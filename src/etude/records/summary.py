"""What a run reports at its end: `summary.json` and, for two skills on the same tasks, a `Comparison`."""

from typing import Literal

from pydantic import Field

from etude.records import Metric, Record, Role, Split, Usage, brief
from etude.records.doubts import Doubt
from etude.records.html import comparison_html, summary_html

ShipVerdict = Literal["ship", "do not ship", "inconclusive"]
"""Whether the second skill should take the place of the first."""
Claim = Literal["tasks like these", "these tasks"]
"""What a verdict is about: a gain on new tasks of the same kind, or one on just those that were attempted."""


class Interval(Record):
    """A mean with its 95% interval over `n` tasks."""

    mean: float
    low: float
    high: float
    n: int

    def __repr__(self) -> str:
        return f"<Interval {self.mean:.3g} [{self.low:.3g}, {self.high:.3g}], n={self.n}>"

    @property
    def shown(self) -> str:
        """As in `0.86 [0.77, 0.92]`."""
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"

    @property
    def shown_change(self) -> str:
        """The same of a difference, with signs."""
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


class Settle(Record):
    """What would settle an inconclusive comparison in 4 of 5 cases, if the difference and its spread are as seen."""

    tasks: int | None
    """How many tasks, with as many trials. None: no number up to a million."""
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
    """The other claim, on these very tasks; None where `margin` is not 0, and of the test of a run or a night."""
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
    cut_off: int = 0
    """Attempts, of those with a score, whose last reply was cut off at the token limit."""
    test_openings: int
    """Which opening of the run's test split this is: 1 for the first; 0 on another split, and for no skill."""
    simulated: bool
    file: str = ""
    """Where this record was written; empty in the file itself."""

    def __repr__(self) -> str:
        skills = f"{brief(self.a.skill, 25)} -> {brief(self.b.skill, 25)}"
        return f"<Comparison {skills} on {self.split}: {self.difference.shown_change}, {self.verdict}>"

    def _repr_html_(self) -> str:
        return comparison_html(self)


class NoSkill(Record):
    """How the test tasks come out without any skill, and what the best one is worth against that."""

    score: Interval
    """Without any skill."""
    gain: Interval
    """With the best skill minus without, paired."""
    targets: tuple[OfTarget, ...] = Field(default=(), exclude_if=lambda targets: not targets)
    """Each of several targets without any skill (A) and with the best one (B)."""
    voids: int = 0
    """Attempts without a skill that errored."""
    simulated: bool = False


class SkillScores(Record):
    """How one skill did. None where it was not measured."""

    skill: str
    """File of the skill, from the run folder."""
    hash: str
    val: Interval | None = None
    test: Interval | None = None
    loaded: Loaded | None = None
    """In how many test attempts the program opened it, with `agent.delivery: install`."""


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

    @property
    def answered(self) -> bool:
        """A model has answered."""
        return any(usage.total for usage in self.tokens.values())


class Step(Record):
    """How a step went."""

    step: int
    action: Literal["accepted", "rejected", "skipped"]
    batch: float | None
    """Mean score of its training attempts, made with the skill before it; without those at tasks that an earlier step
    of the epoch left to it because they had failed. None where there are no others."""
    val: float | None
    """Mean validation score of the skill after it; None where it was not measured."""


_MUCH = 10
"""Noise is much where one attempt in so many turns out otherwise: of the edits that a step tests (`search.edits`, 12)
one then passes its first attempt by luck. Fewer tasks than that show nothing."""


class Noise(Record):
    """What training attempts came to that were made again with nothing changed: the same task, the same skill."""

    failed: int
    """Tasks that had failed, each with one skill."""
    regained: int
    """Those of them that passed the next time."""
    passed: int
    lost: int
    """Those of the ones that had passed that failed the next time."""
    again: int
    """Training attempts that were not the first of their task with their skill: what noise costs. A run makes some to
    learn that there is none."""
    attempts: int
    """Training attempts in all. Those without a score do not count."""

    @property
    def note(self) -> str:
        """What a reader has to know; empty where noise is little."""
        seen = (("failed", "passed", self.failed, self.regained), ("passed", "failed", self.passed, self.lost))
        parts = [
            f"{turned} of {count} tasks that had {had} {turn} when tried again with nothing changed"
            for had, turn, count, turned in seen
            if count >= _MUCH and turned * _MUCH >= count
        ]
        if not parts:
            return ""
        return "; ".join([*parts, f"{self.again} of {self.attempts} training attempts were such repeats"])


class Summary(Record):
    """The result of a training run."""

    name: str
    folder: str
    """The run folder."""
    simulated: bool
    """The answers came from the simulated world: scores say nothing about a real model."""
    dry: bool = Field(default=False, exclude_if=lambda dry: not dry)
    """Its models know none of the tasks: scores mean nothing at all, only the plumbing was tried."""
    metric: Metric
    """What `val` and `test` are means of."""
    initial: SkillScores
    best: SkillScores
    """Its `val` was selected on and tends to be too high; `test` was not."""
    test_gain: Interval | None = None
    """Best minus initial on the test tasks, paired."""
    verdict: ShipVerdict | None = None
    """Whether to replace the initial skill by the best one. None when that was not asked on the test tasks."""
    settle: Settle | None = None
    """What would settle an inconclusive verdict."""
    targets: tuple[OfTarget, ...] = Field(default=(), exclude_if=lambda targets: not targets)
    """Each of several targets on the test tasks, with the initial (A) and the best skill (B)."""
    no_skill: NoSkill | None = None
    """The test tasks without any skill. None where that was not asked, or the best skill is empty."""
    test_openings: int = 0
    """Which opening of the run's test split the test was: 1 for the first; 0 when there was none."""
    withheld: str = ""
    """Where validation does not show that the skill of the search is better than the initial one, its file, relative
    to the folder; the initial one is the best skill then."""
    withheld_why: str = Field(default="", exclude_if=lambda why: not why)
    """Why it is not handed out: that validation does not show it, or which of several targets seems to do worse with
    it, and the scores."""
    steps: int
    accepted: int
    rejected: int
    skipped: int
    """Steps and slow updates without a candidate worth evaluating."""
    missed_edits: int
    repaired_cites: int = 0
    """Citations of attempts that named them in another way than by their id."""
    uncited: int = 0
    """Proposals that cited no attempt, even when asked again: they counted for all failures that were shown."""
    voids: int
    """Attempts that errored, which the run continued without."""
    noise: Noise | None = None
    """How often training attempts turned out otherwise with nothing changed. None where none was made again."""
    curve: tuple[Step, ...] = ()
    """Step by step."""
    doubts: tuple[Doubt, ...] = Field(default=(), exclude_if=lambda doubts: not doubts)
    """About tasks, scorer and models: look at these before the scores."""
    stopped: str | None = None
    """Why the run ended early."""
    cost: Cost

    def __repr__(self) -> str:
        initial, best, split = self.initial.test, self.best.test, "test"
        if initial is None or best is None:
            initial, best, split = self.initial.val, self.best.val, "val"
        scores = "not scored" if initial is None or best is None else f"{split} {initial.mean:.2f} -> {best.mean:.2f}"
        end = f"stopped: {brief(self.stopped, 40)}" if self.stopped is not None else self.verdict or "no verdict"
        return f"<Summary {brief(self.name, 30)}: {scores}, {end}>"

    def _repr_html_(self) -> str:
        return summary_html(self)
