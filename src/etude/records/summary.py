"""What a run reports at its end: `summary.json`."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from etude.readable import counted, duration, money, short
from etude.records import MEANS, Metric, Record, Role, Usage, brief
from etude.records.answer import Answer, Claim, Interval, Remark, ScoreRow, ShipVerdict, about
from etude.records.comparison import (
    Compared,
    ComparedTask,
    Comparison,
    Flip,
    Loaded,
    OfTarget,
    Settle,
    TheseTasks,
    target_rows,
)

__all__ = [
    "Claim",
    "Compared",
    "ComparedTask",
    "Comparison",
    "Cost",
    "Flip",
    "Interval",
    "Loaded",
    "NoSkill",
    "Noise",
    "OfTarget",
    "Settle",
    "ShipVerdict",
    "SkillScores",
    "Summary",
    "TheseTasks",
    "seen_before",
    "target_rows",
]


def seen_before(openings: int) -> str:
    """That the test split is not unseen any more."""
    return f"scored {openings} times in this run: a skill that is chosen by these scores has no unseen test left"


class Doubt(Record):
    """A reason to look before going on."""

    what: str
    example: str
    todo: str

    @property
    def text(self) -> str:
        """In three lines."""
        return "\n".join((self.what, self.example, f"-> {self.todo}"))


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
    claim: Claim = "tasks like these"
    these: TheseTasks | None = None
    settle: Settle | None = None
    """What would settle an inconclusive verdict."""
    targets: tuple[OfTarget, ...] = Field(default=(), exclude_if=lambda targets: not targets)
    """Each of several targets on the test tasks, with the initial (A) and the best skill (B)."""
    no_skill: NoSkill | None = None
    """The test tasks without any skill. None where that was not asked, or the best skill is empty."""
    test_openings: int = 0
    """Which opening of the run's test split the test was: 1 for the first; 0 when there was none."""
    earlier_step: int = Field(default=0, exclude_if=lambda step: not step)
    """Where the best skill of the search is not that of its last step: the step that made it."""
    withheld: str = ""
    """Where validation does not show that the skill of the search is better than the initial one, its file, relative
    to the folder; the initial one is the best skill then."""
    withheld_why: str = Field(default="", exclude_if=lambda why: not why)
    """Why it is not handed out: that validation does not show it, or which of several targets seems to do worse with
    it, and the scores."""
    judge: str = Field(default="", exclude_if=lambda told: not told)
    """How far a person agreed with the judge that gave these scores, where somebody has labelled its answers."""
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
        end = f"stopped: {brief(self.stopped, 40)}" if self.stopped is not None else self.said or "no verdict"
        return f"<Summary {brief(self.name, 30)}: {scores}, {end}>"

    @property
    def said(self) -> str:
        """The verdict with what it is about; empty where there is none."""
        return f"{self.verdict}, {about(self.claim)}" if self.verdict else ""

    @property
    def same(self) -> bool:
        """The best skill is the initial one."""
        return self.initial.hash == self.best.hash

    @property
    def of_descriptions(self) -> bool:
        """Descriptions were trained (`etude trigger --train`), which no other verb takes for a skill."""
        return Path(self.best.skill).parent.name == "descriptions"

    @property
    def answer(self) -> Answer:
        """What the run came to, in words."""
        if self.dry:
            return self._plumbing()
        scores = [ScoreRow(name="validation", initial=self.initial.val, best=self.best.val)]
        scores.append(ScoreRow(name="test", initial=self.initial.test, best=self.best.test))
        tested = self.initial.test is not None or self.best.test is not None
        words = self.said or "not tested"
        return Answer(
            verdict=None if self.same else self.verdict,
            words="the best skill is the initial one" if self.same and self.best.val is not None else words,
            scores=tuple(scores if tested else scores[:1]),
            about=f"{MEANS[self.metric]}, 95% interval",
            gain=None if self.same else self.test_gain,
            lines=tuple(self._lines()),
            targets=() if self.same else target_rows(self.targets, self.no_skill.targets if self.no_skill else ()),
            facts=tuple(self._facts()),
        )

    def _plumbing(self) -> Answer:
        """What a dry run shows: nothing about skills or models."""
        asked = "the optimizer is asked, " if self.cost.optimizer_calls else ""
        works = f"tasks are read, attempted and scored, {asked}files are written"
        line = Remark(name="dry run", text=f"the plumbing works: {works}")
        if self.stopped is not None:
            line = Remark(name="stopped", text=self.stopped)
        elif self.voids:
            text = f"{counted(self.voids, 'attempt')} errored: `etude show {self.folder}` shows them"
            line = Remark(name="errors", text=text)
        facts = [fact for fact in self._facts() if fact.name in ("calls", "time")]
        facts.append(Remark(name="folder", text=self.folder))
        return Answer(
            verdict=None,
            words=line.name,
            scores=(),
            about="",
            gain=None,
            lines=(line,),
            targets=(),
            facts=tuple(facts),
        )

    def _lines(self) -> Iterator[Remark]:
        """What has to be known with the scores."""
        if self.initial.val is not None and not self.same:
            yield Remark(name="note", text="best was chosen by its validation score, which tends to be too high")
        if self.these is not None and not self.same:
            yield Remark(name="these tasks", text=f"{self.these.verdict}: {self.these.why}")
            if self.claim == "these tasks":
                yield Remark(name="like these", text="no verdict on tasks like these: there are too few in the test")
        if self.settle is not None and not self.same:
            note, trials = self.settle.note, self.settle.trials
            if trials is not None:
                these, _, alike = note.partition("; ")
                again = f"`etude compare {self.name}:initial {self.name}:best --trials {trials}`"
                note = f"{these}; {alike}" if self.of_descriptions else f"{these}: {again}; {alike}"
            yield Remark(name="to settle", text=note)
        if self.no_skill is not None:
            without, gain = self.no_skill.score.mean, self.no_skill.gain
            both = f"without {without:.2f}, with the best skill {without + gain.mean:.2f}"
            yield Remark(name="no skill", text=f"{both}: {gain.shown_change}")
            if gain.low <= 0:
                yield Remark(name="", text="the test does not show that the skill helps on tasks like these")
        if self.best.loaded is not None:
            count = f"{self.best.loaded.attempts} of {self.best.loaded.of}"
            yield Remark(name="loaded", text=f"the program opened the best skill in {count} test attempts")
        if self.test_openings > 1:
            yield Remark(name="test split", text=seen_before(self.test_openings))
        if self.earlier_step and not self.withheld:
            text = f"best is the skill of step {self.earlier_step}: validation scores it higher than the last one"
            yield Remark(name="note", text=text)
        if self.withheld:
            yield Remark(name="withheld", text=self.withheld_why)
            yield Remark(name="the other", text=str(Path(self.folder) / self.withheld))
            step = int(Path(self.withheld).stem)
            text = f"etude compare {self.name}:initial {self.name}:{step}   (attempts both on the test tasks)"
            if not self.of_descriptions:
                yield Remark(name="to settle", text=text)
        elif self.same and self.best.val is not None:
            yield Remark(name="", text="no candidate scored higher: the best skill is the initial one")
        if self.judge:
            yield Remark(name="judge", text=self.judge)
        for doubt in self.doubts:
            yield Remark(name="doubtful", text=doubt.text)
        if self.noise is not None and self.noise.note:
            yield Remark(name="noise", text=self.noise.note)

    def _facts(self) -> Iterator[Remark]:
        """What it took."""
        cost = self.cost
        decided = f"{self.accepted} accepted, {self.rejected} rejected, {self.skipped} skipped"
        yield Remark(name="steps", text=f"{self.steps}; candidates: {decided}")
        if self.missed_edits:
            yield Remark(name="edits", text=f"{self.missed_edits} could not be located in the skill")
        if self.repaired_cites or self.uncited:
            without = f"{counted(self.uncited, 'proposal')} without one, counted for all failures that were shown"
            yield Remark(name="citations", text=f"{self.repaired_cites} repaired; {without}")
        if self.voids:
            text = f"{counted(self.voids, 'attempt')} errored; they count neither as solved nor as failed"
            yield Remark(name="errors", text=text)
        judged = f", {cost.judge_calls:,} judge" if cost.judge_calls else ""
        yield Remark(name="calls", text=f"{cost.target_calls:,} target, {cost.optimizer_calls:,} optimizer{judged}")
        tokens = (_tokens(role, usage) for role, usage in cost.tokens.items())
        yield Remark(name="tokens", text=", ".join(tokens) or "none")
        if cost.usd != 0:  # of simulated models, and where nothing was asked
            yield Remark(name="cost", text=money(cost.usd))
        yield Remark(name="time", text=duration(cost.wall_seconds))
        if self.stopped is not None:
            yield Remark(name="stopped", text=self.stopped)
        if self.best.val is not None or not self.same:
            yield Remark(name="best skill", text=str(Path(self.folder) / self.best.skill))


def _tokens(role: Role, usage: Usage) -> str:
    cached = f" ({short(usage.cached_tokens)} cached)" if usage.cached_tokens else ""
    return f"{role} {short(usage.input_tokens)} in{cached} + {short(usage.output_tokens)} out"
