"""Evaluation: score a skill on a whole split."""

from collections.abc import Sequence

from etude.records import Evaluation, Skill, Split, Task, digest
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
