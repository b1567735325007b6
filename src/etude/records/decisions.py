"""What a run measured and decided, and where it stands."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal, Self

from pydantic import Field

from etude.records.attempts import Attempt
from etude.records.edits import Edit, EditFate
from etude.records.record import Record
from etude.records.skills import Skill
from etude.records.tasks import Metric, Score, Split


class Evaluation(Record):
    """Scores of one skill on one split, by task id. Attempts that errored are named and have no score."""

    skill_hash: str
    split: Split
    scores: dict[str, tuple[Score, ...]]
    """One score for each trial that has one."""
    voids: tuple[str, ...] = ()
    """Attempt ids without a score."""
    simulated: bool = False
    """Answers of the simulated world are among what was scored."""

    @classmethod
    def of(cls, skill_hash: str, split: Split, attempts: Sequence[Attempt]) -> Self:
        """Attempts with one skill, gathered by task in the order they are given."""
        scores: dict[str, tuple[Score, ...]] = {}
        for attempt in attempts:
            if attempt.score is not None:
                scores[attempt.task.id] = (*scores.get(attempt.task.id, ()), attempt.score)
        voids = tuple(attempt.id for attempt in attempts if attempt.outcome == "void")
        simulated = any(attempt.simulated for attempt in attempts)
        return cls(skill_hash=skill_hash, split=split, scores=scores, voids=voids, simulated=simulated)

    @property
    def every_score(self) -> Iterable[Score]:
        """The scores of all attempts."""
        return chain.from_iterable(self.scores.values())

    def plus(self, other: Self) -> Self:
        """Together with that of the same skill on further tasks."""
        return self.model_copy(
            update={
                "scores": self.scores | other.scores,
                "voids": (*self.voids, *other.voids),
                "simulated": self.simulated or other.simulated,
            }
        )

    def mean(self, metric: Metric, mixed_weight: float = 0.5) -> float | None:
        """Mean over the tasks that have a score; None when there are none."""
        values = self.values(metric, mixed_weight).values()
        return math.fsum(values) / len(values) if values else None

    def values(self, metric: Metric, mixed_weight: float = 0.5) -> dict[str, float]:
        """Mean over trials of the metric, for every task that has a score."""
        return {
            task: sum(score.value(metric, mixed_weight) for score in scores) / len(scores)
            for task, scores in self.scores.items()
            if scores
        }


class Tested(Record):
    """What a task scored under the current skill and under a candidate; None without a score."""

    task: str
    before: float | None
    after: float | None


class Verdict(Record):
    """The gate's decision on a candidate. It never depends on the order in which attempts came back."""

    accepted: bool
    reason: str
    current: float | None = None
    """Mean of the current skill over the compared tasks, None when nothing was compared."""
    candidate: float | None = None
    """Mean of the candidate over all compared tasks; None when it was rejected before the end."""
    compared: int = 0
    """How many tasks could be compared."""
    decided_after: int = 0
    """Length of the shortest prefix, in the fixed order, that decides."""
    voids: tuple[str, ...] = ()
    """Attempts that errored, which the decision was taken without."""
    tasks: tuple[Tested, ...] = ()
    """Those that decided, in their fixed order."""


class GateResult(Record):
    """A verdict, and the candidate's evaluation when it was completed."""

    verdict: Verdict
    evaluation: Evaluation | None = None


Standing = Literal["proved", "trusted", "not tested"]
"""How a line is known to help. `proved`: the contest of its own edit, against the skill without it, was won.
`trusted`: it entered on less. `not tested`: it had no contest, and was accepted as a part of a whole."""


class EditEvidence(Record):
    """What the tests say about one edit."""

    edit: Edit
    kept: bool
    standing: Standing | None = None  # of an edit that does not stay
    fixes: tuple[str, ...] = ()
    """Tasks it cites that failed before and do better with all edits together."""
    needed: tuple[str, ...] = ()
    """Tasks that did better in most attempts with it."""
    passed: int = 0
    """Attempts with it, at tasks it cites, that did better than the failure."""
    failed: int = 0
    """Those that did not."""
    passed_without: int = 0
    """Attempts without it, at the same tasks, that did better."""
    failed_without: int = 0
    """Those that did not, the failures it cites among them."""
    note: str = ""
    """What else decided."""
    copied: tuple[str, ...] = Field(default=(), exclude_if=lambda copied: not copied)
    """Training tasks whose gold answer or own words stand in it. It is not kept for these alone."""

    @property
    def counts(self) -> str:
        """Attempts for and against."""
        with_it, without = self.passed + self.failed, self.passed_without + self.failed_without
        if not with_it:
            return ""
        return f"{self.passed} of {with_it} attempts better with it, {self.passed_without} of {without} without"

    def why(self, stays: bool) -> str:
        """Why it stays or is left out."""
        what = "; ".join(part for part in (self.counts, self.note) if part)
        if stays:
            return ": ".join(filter(None, (self.standing, what)))
        if what:
            return f"not shown to help: {what}"
        if self.copied and set(self.fixes) <= set(self.copied):
            return f"copies {', '.join(self.copied)} and fixes no other task"
        if self.fixes:
            return "what it cites was not seen to need it"
        return "no task that it cites does better with all edits"


class Proof(Record):
    """What became of the edits of a step."""

    accepted: bool = False
    reason: str = ""
    edits: tuple[EditEvidence, ...]
    failed: int
    """Failures that the edits were tried on."""
    fixed: tuple[str, ...] = ()
    """Tasks of these that do better with the edits that are kept."""
    regained: float = 0.0
    """Measured noise: P(pass | failed once, nothing changed), in [0, 1]."""
    lost: float = 0.0
    """P(fail | passed once, nothing changed), in [0, 1]."""
    voids: int = 0


class TaskHistory(Record):
    """What attempts at a training task came to, under the last skill that it was attempted with."""

    skill: str
    """Its hash."""
    trials: int = 0
    """Attempts made with it, those without a score too."""
    passed: int = 0
    failed: int = 0
    best_failed: float | None = None
    """The highest value of one that failed; what does better counts as passed."""
    best: float = 0.0
    """The highest value of one that was not solved: under partial credit, what passed may be far from that."""
    solved: bool = False
    """One was solved."""
    gap: float | None = None
    """How far the next one was from it, with this skill or the last one for which that is known."""
    seen: tuple[tuple[int, bool], ...] = ()
    """All attempts that tell, with this skill and earlier ones: the last step whose edits the skill had, and whether
    it passed."""

    @property
    def before(self) -> int:
        """Times that it passed with earlier skills."""
        return sum(passed for _, passed in self.seen) - self.passed

    def split(self, step: int) -> tuple[list[bool], list[bool]]:
        """Whether it passed, in each attempt before the edits of this step and in each since."""
        before = [passed for made, passed in self.seen if made < step]
        return before, [passed for made, passed in self.seen if made >= step]


class LedgerEntry(Record):
    """One edit that was tried, and what came of it."""

    step: int
    edit: Edit
    fate: EditFate
    accepted: bool | None
    """The verdict on its candidate; None when there was none to decide on, or when a night holds what passed for
    possible luck, and `change` is then there."""
    change: float | None = None
    """Candidate mean minus current mean on validation; None when not measured in full."""
    types: tuple[str, ...] = ()
    """Types of the tasks whose attempts the edit cites."""
    tasks: tuple[str, ...] = ()
    """Ids of these tasks."""
    needed: tuple[str, ...] = Field(default=(), exclude_if=lambda needed: not needed)
    """Ids of the tasks that were seen to need it."""
    why: str = Field(default="", exclude_if=lambda why: not why)
    """Why it was left out."""


class Tally(Record):
    """How many of the training tasks attempted in a step were solved, by the skill it began with."""

    step: int
    solved: int
    attempted: int


class TrainState(Record):
    """Where the training stands after a step. Each step returns a new one."""

    step: int = 0
    epoch: int = 0
    current: Skill
    best: Skill
    initial_val: Evaluation | None = None
    current_val: Evaluation | None = None
    best_val: Evaluation | None = None
    epoch_skill: Skill | None = None
    """The skill at the end of the previous epoch."""
    meta_skill: str = ""
    """The optimizer's memory."""
    ledger: tuple[LedgerEntry, ...] = ()
    """Every edit that was tried."""
    tallies: tuple[Tally, ...] = ()
    """One for each step."""
    earlier: dict[str, Attempt] = Field(default_factory=dict[str, Attempt])
    """The last scored training attempt at each task, by task id."""
    history: dict[str, TaskHistory] = Field(default_factory=dict[str, TaskHistory])
    """By training task."""
    skills: dict[int, Skill] = Field(default_factory=dict[int, Skill])
    """By the step that made it, each skill of the search but the initial one."""
    helpful: tuple[float, ...] = ()
    """How likely each of several shares of the optimizer's edits help, as `etude.stages.shared.helpful` counts it;
    empty before any was tested."""
    idle: int = 0
    """Steps in a row in which tasks failed and no edit was shown to help."""
    repeated: tuple[tuple[int, int], ...] = ()
    """Of tasks that were attempted several times with an earlier skill, how often they passed and failed; the last
    ones."""
    suspected: frozenset[str] = frozenset()
    """Ids of what takes edits back that seemed to break tasks: each is traced once, and again in an audit."""
    settled: frozenset[str] = frozenset()
    """Ids of what takes edits back that were judged and stay, alone or together, or of which no task led to any,
    since the last audit."""
    audited: str = ""
    """Hash of the last skill that was audited."""
    races: int = 0
    """Times that edits were judged: each time in trials of its own."""
    traced: dict[str, str] = Field(default_factory=dict[str, str])
    """By training task that fails with one of the edits: the id of what takes that edit back."""
    rejected_texts: frozenset[str] = frozenset()
    """Hashes of candidates that were rejected against a bar no higher than the present one."""
    withheld_why: str = ""
    """Why `withheld` is not handed out."""
    withheld: Skill | None = None
    """The best skill of the search, where validation does not show that it is better than the initial one, which is
    `best` then."""
    silent_steps: int = 0
    """Steps in a row in which the optimizer gave nothing that could be tried."""
    gave_up: str = ""
    """Why the search ends before its time; empty while it goes on."""
    repaired_cites: int = 0
    """Citations that code had to repair."""
    uncited: int = 0
    """Proposals without a citation that could be read."""
    accepted: int = 0
    rejected: int = 0
    skipped: int = 0
    missed_edits: int = 0
    voids: int = 0

    def voided(self, attempts: Iterable[Attempt]) -> Self:
        """With the void ones of further attempts."""
        return self.model_copy(update={"voids": self.voids + sum(one.score is None for one in attempts)})

    @property
    def earlier_step(self) -> int:
        """The step that made the best skill of the search, where that is not its last one; else 0."""
        found = self.withheld or self.best
        made = [step for step, skill in self.skills.items() if skill.hash == found.hash]
        return max(made, default=0) if found.hash != self.current.hash else 0
