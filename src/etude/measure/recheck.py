"""Does a skill still help, on a model that has changed? As few attempts as decide it, with the skill and without."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any, Literal, Unpack

from etude.comparison import delivers, need_scores
from etude.config import TrainConfig
from etude.errors import SkillError
from etude.events import ATTEMPTING, StageFinished, StageStarted
from etude.measure.evaluate import kept, measuring
from etude.records import Record, Skill, Split
from etude.records.summary import Interval, ShipVerdict
from etude.records.tasks import Ended, counted_ends
from etude.stages.evaluation import evaluate_race, shuffled
from etude.stages.shared.contest import Claim, RaceEnd, bounds
from etude.workbench import Given, Workbench, takes_given

Help = Literal["still helps", "does not help", "inconclusive"]
_VERDICTS: Mapping[ShipVerdict, Help] = {
    "ship": "still helps",
    "do not ship": "does not help",
    "inconclusive": "inconclusive",
}


class Recheck(Record):
    """What a skill is worth on another target than the one it was trained for."""

    skill: str
    hash: str
    target: str
    split: Split
    verdict: Help
    """`still helps` where the gain over no skill is above 0, `does not help` where it is below `margin` or 0."""
    with_skill: float
    """Mean score over the tasks that were attempted."""
    without: float
    at_least: float
    """The true gain is higher, with 95% confidence, although the tasks ended as soon as they had decided."""
    at_most: float
    """The same from above."""
    margin: float
    tasks: int
    """How many were attempted, with the skill and without."""
    of: int
    before: Interval | None
    """The gain over no skill that the run measured: on this target where it is one of the run's, else on its own, or
    the mean of several."""
    change: Literal["less", "more", "no clear change"] | None
    """Whether the gain is another one than before."""
    voids: int
    """Attempts that errored."""
    ended: dict[Ended, int]
    """Attempts whose last reply did not end by itself."""
    calls_sent: int
    """This time; 0 when the journal knew all answers."""
    simulated: bool
    file: str = ""


async def against_none(bench: Workbench, split: Split, claim: Claim) -> tuple[RaceEnd, dict[str, Any]]:
    """The race of the skill of a workbench against none, on the tasks of a split, and what a record says of it.
    Raises DataError: no task has a score under both."""
    tasks, both = shuffled(bench.split(split), bench.config.train.seed), (Skill(text=""), bench.skill)
    ended, found = await evaluate_race(bench.rollout, both, tasks, split, bench.config.gate, claim)
    need_scores(ended.values, split)
    return ended, {
        "without": fmean(a for a, _ in ended.values),
        "with_skill": fmean(b for _, b in ended.values),
        "voids": sum(len(one.voids) for one in found),
        "ended": counted_ends(score for one in found for score in one.every_score),
        "simulated": any(one.simulated for one in found),
    }


@takes_given
async def arecheck_skill(
    config: TrainConfig,
    split: Split = "test",
    *,
    before: Interval | None = None,
    margin: float = 0.0,
    **given: Unpack[Given],
) -> Recheck:
    """Attempt tasks of a split with the skill of the config, or the one given, and without any; stop at the first
    task that decides (`etude.stages.shared.contest.race`). Their order is random, and the same each time.

    Args:
        before: the gain over no skill that was measured earlier.
        margin: the smallest gain worth having, from 0 to below 1.

    Raises:
        InputError: the skill is empty, the split is, or something cannot be used as it is.
        DataError: no task has a score under both skills.
        StopRun: a budget is used up, an endpoint is dead, or attempts errored.
    """
    async with measuring(config, given) as bench:
        tasks, skill = bench.split(split), bench.skill
        if not delivers(skill):
            raise SkillError("the skill is empty", hint="give the skill that is to be checked")
        bench.emit(StageStarted(stage=ATTEMPTING[split], step=0, epoch=0, total=2 * len(tasks)))
        ended, told = await against_none(bench, split, Claim(margin))
        (low, high), verdict = bounds([b - a for a, b in ended.values]), _VERDICTS[ended.verdict]
        bench.emit(StageFinished(stage=ATTEMPTING[split], step=0, note=verdict))
        clear = None if before is None else "less" if high < before.low else "more" if low > before.high else ""
        result = Recheck(
            skill=skill.name,
            hash=skill.hash,
            target=next(iter(bench.models.values())).name,
            split=split,
            verdict=verdict,
            at_least=low,
            at_most=high,
            margin=margin,
            tasks=ended.tried,
            of=len(tasks),
            before=before,
            change=None if clear is None else clear or "no clear change",
            calls_sent=bench.spend.sent,
            **told,
        )
        return kept(bench, "rechecks", result, [skill], tasks, split, margin, before and before.model_dump())
