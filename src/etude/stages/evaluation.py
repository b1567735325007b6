"""Evaluation: score a skill on a whole split."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from etude.config import GateSection
from etude.intervals import mean_interval
from etude.records import Evaluation, Skill, Split, Task, digest
from etude.records.summary import Interval
from etude.stages.shared.rollout import PlannedAttempt, Rollout


async def evaluate(
    rollout: Rollout, skill: Skill, tasks: Sequence[Task], split: Split, *, trials: int = 1, first: int = 0
) -> Evaluation:
    """Attempt every task `trials` times, from trial number `first` on. It is a decision: its void attempts stay void.

    Raises:
        VoidStop: more attempts are void than `limits.max_void_eval` allows.
    """
    planned = [PlannedAttempt(task, skill, trial) for trial in range(first, first + trials) for task in tasks]

    async def work() -> Evaluation:
        return Evaluation.of(skill.hash, split, await rollout.collect(planned, split, "max_void_eval"))

    return await rollout.journal.once(
        "decision", _key(rollout, skill, tasks, split, (first, trials)), Evaluation, work
    )


def known_evaluation(
    rollout: Rollout, skill: Skill, tasks: Sequence[Task], split: Split, trials: int = 1
) -> Evaluation | None:
    """What `evaluate` has found before; None if it has not. Attempts nothing."""
    return rollout.journal.get("decision", _key(rollout, skill, tasks, split, (0, trials)), Evaluation)


def _key(
    rollout: Rollout, skill: Skill, tasks: Sequence[Task], split: Split, trials: tuple[int, int]
) -> dict[str, object]:
    first, count = trials
    return {
        "stage": "evaluate",
        "agent": rollout.agent.fingerprint(),
        "env": rollout.env.fingerprint(),
        "skill": skill.hash,
        "split": split,
        "trials": count if first == 0 else [first, count],
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
