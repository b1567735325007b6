"""Does a skill still help, on a model that has changed? As few attempts as decide it, with the skill and without."""

import random
from typing import Literal, Unpack

from etude.build import open_workbench
from etude.comparison import delivers
from etude.config import TrainConfig
from etude.display import seen
from etude.errors import SkillError
from etude.events import ATTEMPTING, StageFinished, StageStarted
from etude.intervals import sequential_bounds
from etude.records import Record, Skill, Split, digest
from etude.records.summary import Interval
from etude.stages.shared.rollout import PlannedAttempt
from etude.workbench import Given, takes_given

_FIRST, _WAVE = 7, 4
"""Tasks that are attempted at once: no fewer than seven can decide, and then a few at a time."""

Help = Literal["still helps", "does not help", "inconclusive"]


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
    calls_sent: int
    """This time; 0 when the journal knew all answers."""
    simulated: bool
    file: str = ""


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
    task that decides (`etude.intervals.sequential_bounds`). Their order is random, and the same each time.

    Args:
        before: the gain over no skill that was measured earlier.
        margin: the smallest gain worth having, from 0 to below 1.

    Raises:
        InputError: the skill is empty, the split is, or something cannot be used as it is.
        StopRun: a budget is used up, an endpoint is dead, or attempts errored.
    """
    config = config.model_copy(update={"test": config.test.model_copy(update={"trials": 1, "enabled": False})})
    async with open_workbench(config, given, claim=False) as bench:
        tasks, sent, skill = list(bench.split(split)), bench.spend.totals().total_calls, bench.skill
        if not delivers(skill):
            raise SkillError("the skill is empty", hint="give the skill that is to be checked")
        random.Random(config.train.seed).shuffle(tasks)
        bench.emit(StageStarted(stage=ATTEMPTING[split], step=0, epoch=0, total=2 * len(tasks)))
        values: list[tuple[float, float]] = []
        low, high, done, simulated = -1.0, 1.0, 0, bench.simulated
        while done < len(tasks) and not _decided(low, high, margin):
            wave = tasks[done : done + (_WAVE if done else _FIRST)]
            planned = [PlannedAttempt(task, one, 0) for task in wave for one in (Skill(text=""), skill)]
            found = await bench.rollout.collect(planned, split, "max_void_eval", of=2 * len(tasks))
            for without, with_it in zip(found[::2], found[1::2], strict=True):
                simulated = simulated or without.simulated or with_it.simulated
                done += 1
                if without.score is not None and with_it.score is not None:
                    gate = (config.gate.metric, config.gate.mixed_weight)
                    values.append((without.score.value(*gate), with_it.score.value(*gate)))
                    low, high = sequential_bounds([b - a for a, b in values])
                if _decided(low, high, margin):
                    break
        verdict: Help = "still helps" if low > 0 else "does not help" if high <= margin else "inconclusive"
        bench.emit(StageFinished(stage=ATTEMPTING[split], step=0, note=verdict))
        clear = None if before is None else "less" if high < before.low else "more" if low > before.high else ""
        result = Recheck(
            skill=skill.name,
            hash=skill.hash,
            target=next(iter(bench.models.values())).name,
            split=split,
            verdict=verdict,
            with_skill=_mean([b for _, b in values]),
            without=_mean([a for a, _ in values]),
            at_least=low,
            at_most=high,
            margin=margin,
            tasks=done,
            of=len(tasks),
            before=before,
            change=None if clear is None else clear or "no clear change",
            calls_sent=bench.spend.totals().total_calls - sent,
            simulated=simulated,
        )
        agent = digest(bench.rollout.agent.fingerprint())[:8]
        written = result.model_dump(mode="json", exclude={"calls_sent"})
        path = bench.folder.write_json(f"rechecks/{skill.hash}-{split}-{agent}.json", written)
        return result.model_copy(update={"file": str(path)})


def _decided(low: float, high: float, margin: float) -> bool:
    return low > 0 or high <= margin


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


recheck_skill = seen(arecheck_skill)
