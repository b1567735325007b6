"""Many skills side by side, each against none on the tasks that it brings: which are worth having.

Of twenty useless skills one passes a test at 5%. So verdicts are held over the table (`etude.intervals.discoveries`):
of the rows that have one, `WRONG` are wrong at most, on average.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple, TypeVar, Unpack

from pydantic import Field

from etude.comparison import compare_on, open_test, telling
from etude.config import RunSection, TrainConfig
from etude.errors import DataError, InputError, StopRun, VoidStop
from etude.events import StageFinished, StageStarted
from etude.intervals import Arms, discoveries, permutation
from etude.measure.evaluate import measuring
from etude.measure.recheck import against_none
from etude.records import Metric, Record, Skill
from etude.records.summary import ComparedTask, Interval
from etude.records.tasks import Ended, ends_together
from etude.stages.shared.contest import Claim, bounds, wealth
from etude.workbench import Given, MakeEnvironment, Workbench, takes_given

WRONG = 0.10
"""Share of the verdicts of a table that may be wrong."""
_NONE = Skill(text="")
_UNFINISHED = "it was not finished"
F = TypeVar("F")
T = TypeVar("T", bound=Record)

Worth = Literal["helps", "does not help", "not shown", "not measured"]


class Suite(NamedTuple):
    """A skill, and the tasks that it brings."""

    name: str
    skill: Skill = _NONE
    env: MakeEnvironment | None = None
    metric: Metric = "hard"
    """What counts, where the settings do not say."""
    problem: str = ""
    """Why it cannot be measured; empty where it can."""
    tasks: int = 0
    """Known once it was checked."""


class SkillRow(Record):
    """One skill on its own tasks."""

    skill: str
    """The name of its folder."""
    verdict: Worth
    """Held over the whole table; `not measured` has its `problem`."""
    problem: str = ""
    without: float | None = None
    """Mean score without any skill, in [0, 1]; None where nothing was measured."""
    with_skill: float | None = None
    difference: Interval | None = None
    """With its 95% interval over tasks; of a recheck, its bounds. They are about this row alone."""
    p: float | None = None
    """Two-sided: how often luck alone shows as much. None where nothing was measured."""
    voids: int = 0
    """Attempts that errored."""
    ended: dict[Ended, int] = Field(default_factory=dict[Ended, int])
    """Attempts whose last reply did not end by itself."""
    tried: tuple[ComparedTask, ...] = ()
    """What the tasks scored without the skill (A) and with it (B); empty for a recheck."""
    simulated: bool = False


class SkillTable(Record):
    """Skills side by side."""

    rows: tuple[SkillRow, ...]
    measurable: int
    """Skills with tasks that can be used: the verdicts are held over so many, measured or not yet."""
    calls_sent: int
    """This time: 0 when the journal knew all answers."""

    @property
    def ended(self) -> dict[Ended, int]:
        """Over all rows."""
        return ends_together(row.ended for row in self.rows)

    @property
    def simulated(self) -> bool:
        """Whether any row is."""
        return any(row.simulated for row in self.rows)


@takes_given
async def acheck_suites(config: TrainConfig, suites: Sequence[Suite], **given: Unpack[Given]) -> list[Suite]:
    """Build whatever each suite needs, in a folder that is gone afterwards; nothing is sent. A suite that cannot be
    used gets its problem. Raises InputError: none of them can."""
    checked = list[Suite]()
    hint = "`etude init --skill DIR` tries one skill; where it has no evals, add --make-tasks 20"
    with TemporaryDirectory(prefix="etude-suites-") as folder:
        config = config.model_copy(update={"run": RunSection(folder=folder, name="check")})
        for suite in suites:
            try:
                if not suite.problem:
                    async with opened(config, suite, 1, {**given, "sinks": ()}) as bench:
                        suite = suite._replace(tasks=len(bench.split("test")))
            except InputError as error:
                suite, hint = suite._replace(problem=error.message), error.hint  # often the settings are wrong
            checked.append(suite)
    if not any(suite.tasks for suite in checked):
        said = "; ".join(dict.fromkeys(suite.problem for suite in checked))
        raise DataError(f"no skill can be measured: {said}", hint=hint)
    return checked


def opened(config: TrainConfig, suite: Suite, trials: int, given: Given) -> AbstractAsyncContextManager[Workbench]:
    """A workbench for a suite that has no problem."""
    metric = config.gate.metric if "metric" in config.gate.model_fields_set else suite.metric
    gate = config.gate.model_copy(update={"metric": metric})
    assert suite.env is not None
    given = {**given, "env": suite.env, "skill": suite.skill}
    return measuring(config.model_copy(update={"gate": gate}), given, trials)


async def side_by_side(
    config: TrainConfig,
    suites: Sequence[Suite],
    trials: int,
    given: Given,
    measure: Callable[[Workbench, Suite], Awaitable[F]],
    table: Callable[[Mapping[str, F], Mapping[str, str], int], T],
) -> T:
    """Measure suites one after the other. The journal of one run has all facts, and its limits hold for all suites
    together.

    Args:
        table: makes a table of what was found, of why others were not measured, and of how many calls were sent.

    Raises:
        StopRun: a budget is used up or an endpoint is dead; its `summary` is the table so far.
        VoidStop, DataError: so many attempts errored that no suite could be measured.
    """
    found, problems, sent = dict[str, F](), {suite.name: suite.problem or _UNFINISHED for suite in suites}, 0
    able = [suite for suite in suites if not suite.problem]
    skills, failed = [suite.skill for suite in able], None
    try:
        for suite in able:
            try:
                async with opened(config, suite, trials, given) as bench:
                    await open_test(bench, skills)  # all at once: a table opens the tests of all
                    skills = []
                    try:
                        found[suite.name] = await measure(bench, suite)
                    finally:
                        sent += bench.spend.sent
            except (VoidStop, DataError) as error:  # of this suite alone
                failed, problems[suite.name] = error, error.message
    except StopRun as stop:
        stop.summary = table(found, problems, sent)
        raise
    if failed and not found:
        raise failed
    return table(found, problems, sent)


@takes_given
async def ameasure_skills(
    config: TrainConfig, suites: Sequence[Suite], trials: int, margin: float | None = None, **given: Unpack[Given]
) -> SkillTable:
    """Compare each skill with none on its tasks; errors as `side_by_side`.

    Args:
        suites: those of `acheck_suites`.
        trials: attempts at each task under both. p is that of the exact permutation test, on just these tasks.
        margin: makes it a recheck, with one trial, and is the smallest gain worth having, from 0 to below 1: each row
            is a race that ends once its verdict holds, whatever the others come to; p is 2 / the most that bets won.
    """
    able = sum(not suite.problem for suite in suites)

    async def row(bench: Workbench, suite: Suite) -> SkillRow:
        bench.emit(StageStarted(stage="test", step=0, epoch=0, total=2 * suite.tasks * trials))
        if margin is None:
            found = await _compared(bench, suite.name, trials)
        else:
            found = await _raced(bench, suite.name, Claim(margin, WRONG / 2 / able))
        bench.emit(StageFinished(stage="test", step=0, note=suite.name))
        return found

    def table(found: Mapping[str, SkillRow], problems: Mapping[str, str], sent: int) -> SkillTable:
        rows = [
            found.get(one.name) or SkillRow(skill=one.name, verdict="not measured", problem=problems[one.name])
            for one in suites
        ]
        return SkillTable(rows=held(rows, able), measurable=able, calls_sent=sent)

    return await side_by_side(config, suites, trials, given, row, table)


async def _compared(bench: Workbench, name: str, trials: int) -> SkillRow:
    found = await compare_on(bench, (_NONE, bench.skill), "test", trials)
    arms = [Arms(one.a, one.b) for one in telling(found, bench)]
    chances = permutation(arms), permutation([Arms(one.after, one.before) for one in arms])
    means = {"without": found.a.score.mean, "with_skill": found.b.score.mean, "difference": found.difference}
    more = {"voids": found.voids, "ended": found.ended, "tried": found.tried, "simulated": found.simulated}
    return leaning(name, *chances, **means, **more)


async def _raced(bench: Workbench, name: str, claim: Claim) -> SkillRow:
    ended, told = await against_none(bench, "test", claim)
    gains = [after - before for before, after in ended.values]
    won, (low, high) = (wealth(gains), wealth([-gain for gain in gains], -claim.margin)), bounds(gains)
    difference = Interval(mean=told["with_skill"] - told["without"], low=low, high=high, n=len(gains))
    chances = (1 / max([1.0, *course]) for course in won)
    return leaning(name, *chances, difference=difference, **told)


def leaning(name: str, helps: float, no_help: float, **more: Any) -> SkillRow:
    """A row with the verdict that it leans to, by two one-sided p."""
    verdict: Worth = "helps" if helps <= no_help else "does not help"
    return SkillRow(skill=name, verdict=verdict, p=min(1.0, 2 * min(helps, no_help)), **more)


def held(rows: Sequence[SkillRow], measurable: int) -> tuple[SkillRow, ...]:
    """The rows with verdicts that hold over a table of so many; what leans and does not hold is `not shown`."""
    ps = [row.p for row in rows if row.p is not None]
    real = iter(discoveries([*ps, *[1.0] * (measurable - len(ps))], WRONG))
    return tuple(
        row if row.p is None or next(real) else row.model_copy(update={"verdict": "not shown"}) for row in rows
    )
