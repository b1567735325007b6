"""Evaluation: score a skill on a whole split."""

from collections.abc import Sequence
from contextlib import aclosing

from skillgrad.records import Attempt, Evaluation, Score, Skill, Split, Task, digest
from skillgrad.stages.rollout import Rollout, too_many_voids

__all__ = ["evaluate", "evaluation_of"]


async def evaluate(
    rollout: Rollout, skill: Skill, tasks: Sequence[Task], split: Split, *, trials: int = 1
) -> Evaluation:
    """Attempt every task `trials` times. The evaluation is a decision: its voids stay void when resumed.

    Raises:
        VoidStop: more attempts are void than `limits.max_void_eval` allows.
    """

    async def work() -> Evaluation:
        attempts: list[Attempt] = []
        voids = 0
        allowed = rollout.limits.max_void_eval * len(tasks) * trials
        for trial in range(trials):
            found: dict[int, Attempt] = {}
            async with aclosing(rollout.stream(tasks, skill, split, trial)) as stream:
                async for index, attempt in stream:
                    found[index] = attempt
                    voids += attempt.outcome == "void"
                    if voids > allowed:
                        raise too_many_voids(split, attempt, voids, len(tasks) * trials, "limits.max_void_eval")
            attempts += [found[index] for index in sorted(found)]
        return evaluation_of(skill, split, attempts)

    key = {
        "stage": "evaluate",
        "agent": rollout.agent.fingerprint(),
        "env": rollout.env.fingerprint(),
        "skill": skill.hash,
        "split": split,
        "trials": trials,
        "tasks": digest([task.model_dump(mode="json") for task in tasks]),
    }
    return await rollout.journal.once("decision", key, Evaluation, work)


def evaluation_of(skill: Skill, split: Split, attempts: Sequence[Attempt]) -> Evaluation:
    """Gather scored attempts by task, in the order of `attempts`."""
    scores: dict[str, tuple[Score, ...]] = {}
    for attempt in attempts:
        if attempt.score is not None:
            scores[attempt.task.id] = (*scores.get(attempt.task.id, ()), attempt.score)
    voids = tuple(attempt.id for attempt in attempts if attempt.outcome == "void")
    return Evaluation(skill_hash=skill.hash, split=split, scores=scores, voids=voids)
