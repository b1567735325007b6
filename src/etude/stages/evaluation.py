"""Evaluation: score a skill on a whole split."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from statistics import fmean

from etude.concurrency import together
from etude.config import GateSection
from etude.intervals import mean_interval
from etude.records import Evaluation, Skill, Split, Task, digest
from etude.records.summary import Interval
from etude.stages.shared.contest import WAVE, Claim, RaceEnd, in_the_race, race
from etude.stages.shared.rollout import PlannedAttempt, Rollout, Whole

FRESH = 100_000
"""First trial on training and validation tasks by which nothing was chosen: those below were seen by the search."""


async def evaluate(
    rollout: Rollout,
    skill: Skill,
    tasks: Sequence[Task],
    split: Split,
    *,
    trials: int | range = 1,
    of: Whole | None = None,
) -> Evaluation:
    """Attempt every task in `trials` (how many, or their numbers). It is a decision: its void attempts stay void.

    Raises:
        VoidStop: more attempts are void than `limits.max_void_eval` allows.
    """
    numbers = range(trials) if isinstance(trials, int) else trials
    planned = [PlannedAttempt(task, skill, trial) for trial in numbers for task in tasks]

    async def work() -> Evaluation:
        return Evaluation.of(skill.hash, split, await rollout.collect(planned, split, "max_void_eval", of=of))

    key = evaluation_key(rollout, skill, tasks, split, numbers)
    return await rollout.journal.once("decision", key, Evaluation, work)


async def evaluate_race(
    rollout: Rollout,
    skills: tuple[Skill, Skill],
    tasks: Sequence[Task],
    split: Split,
    gate: GateSection,
    claim: Claim = Claim(),
) -> tuple[RaceEnd, list[Evaluation]]:
    """Attempt tasks, in their order, with both skills until it is clear whether the second one is better.

    Raises:
        VoidStop: as `evaluate`.
    """
    found: list[Evaluation] = []

    async def attempt(wave: Sequence[Task]) -> list[tuple[float, float] | None]:
        voids = [len(one.voids) for one in found] or [0, 0]
        both = zip(skills, voids, strict=True)
        more = await together(evaluate(rollout, one, wave, split, of=Whole(len(tasks), count)) for one, count in both)
        found[:] = [one.plus(other) for one, other in zip(found, more, strict=True)] if found else more
        old, new = (each.values(gate.metric, gate.mixed_weight) for each in more)
        return [(old[task.id], new[task.id]) if task.id in old and task.id in new else None for task in wave]

    return await race(tasks, attempt, claim), found


async def best_of(
    rollout: Rollout, skills: Sequence[Skill], tasks: Sequence[Task], split: Split, gate: GateSection
) -> tuple[Skill, int]:
    """Which of several skills scores most on tasks, attempted in their order, the first one of equals; and how many
    attempts were void. Those that fall behind (`contest.in_the_race`) are not attempted further, but for the first
    one, to which the others are compared; nor is that one where none of them is left.

    Raises:
        VoidStop: as `evaluate`.
    """
    first, *others = skills
    scored = {skill.hash: dict[str, float]() for skill in skills}
    voids = Counter[str]()
    for start in range(0, len(tasks), WAVE):
        wave, left = tasks[start : start + WAVE], [first, *others]
        parts = [(skill, Whole(len(tasks), voids[skill.hash])) for skill in left]
        made = await together(evaluate(rollout, skill, wave, split, of=part) for skill, part in parts)
        for skill, each in zip(left, made, strict=True):
            scored[skill.hash] |= each.values(gate.metric, gate.mixed_weight)
            voids[skill.hash] += len(each.voids)
        still = in_the_race([scored[skill.hash] for skill in left])
        others = [skill for number, skill in enumerate(left) if number in still and number > 0]
        if not others:
            break
    left = [first, *others]
    common = set[str].intersection(*(set(scored[skill.hash]) for skill in left))
    return max(left, key=lambda skill: fsum(scored[skill.hash][task] for task in common)), voids.total()


def shuffled(tasks: Sequence[Task], seed: int | str) -> list[Task]:
    """Tasks in the random order that a race needs: a file may have the easy ones first."""
    order = list(tasks)
    random.Random(seed).shuffle(order)
    return order


def evaluation_key(
    rollout: Rollout, skill: Skill, tasks: Sequence[Task], split: Split, trials: range
) -> dict[str, object]:
    """Of the decision in the journal that `evaluate` makes."""
    return {
        "stage": "evaluate",
        "agent": rollout.agent.fingerprint(),
        "env": rollout.env.fingerprint(),
        "skill": skill.hash,
        "split": split,
        "trials": [trials.start, len(trials)] if trials.start else len(trials),
        "tasks": digest([task.model_dump(mode="json") for task in tasks]),
    }


def score_of(evaluation: Evaluation, tasks: Sequence[Task], gate: GateSection) -> Interval:
    """Mean score over tasks with its 95% interval. Raises ValueError: no task has a score."""
    return mean_interval(by_task(evaluation.values(gate.metric, gate.mixed_weight), tasks))


def by_task(values: Mapping[str, float], tasks: Sequence[Task]) -> list[float]:
    """The values of tasks that have one, each the mean over the targets that attempted it: targets are no further
    tasks."""
    units: dict[str, list[float]] = {}
    for task in tasks:
        if task.id in values:
            units.setdefault(task.own_id, []).append(values[task.id])
    return [fmean(unit) for unit in units.values()]
