"""Evaluation: score a skill on a whole split."""

from collections.abc import Sequence
from contextlib import aclosing

from etude.records import Attempt, Evaluation, Score, Skill, Split, Task, Trajectory, digest
from etude.stages.rollout import Rollout, Try, too_many_voids

__all__ = ["evaluate", "evaluation_of", "known_evaluation"]


async def evaluate(
    rollout: Rollout, skill: Skill, tasks: Sequence[Task], split: Split, *, trials: int = 1, first: int = 0
) -> Evaluation:
    """Attempt every task `trials` times, from trial number `first` on. It is a decision: its voids stay void.

    Raises:
        VoidStop: more attempts are void than `limits.max_void_eval` allows.
    """

    tries = [Try(task, skill, trial) for trial in range(first, first + trials) for task in tasks]

    async def work() -> Evaluation:
        found: dict[int, Attempt] = {}
        voids = 0
        allowed = rollout.limits.max_void_eval * len(tries)
        async with aclosing(rollout.stream_each(tries, split)) as stream:
            async for index, attempt in stream:
                # Only scores count here: a hundred thousand trajectories would fill the memory.
                left = Trajectory(simulated=attempt.trajectory.simulated)
                found[index] = attempt.model_copy(update={"trajectory": left})
                voids += attempt.outcome == "void"
                if voids > allowed:
                    raise too_many_voids(split, attempt, voids, len(tries), "limits.max_void_eval")
        return evaluation_of(skill, split, [found[index] for index in sorted(found)])

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


def evaluation_of(skill: Skill, split: Split, attempts: Sequence[Attempt]) -> Evaluation:
    """Gather scored attempts by task, in the order of `attempts`."""
    scores: dict[str, tuple[Score, ...]] = {}
    for attempt in attempts:
        if attempt.score is not None:
            scores[attempt.task.id] = (*scores.get(attempt.task.id, ()), attempt.score)
    voids = tuple(attempt.id for attempt in attempts if attempt.outcome == "void")
    simulated = any(attempt.trajectory.simulated for attempt in attempts)
    return Evaluation(skill_hash=skill.hash, split=split, scores=scores, voids=voids, simulated=simulated)
