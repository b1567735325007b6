"""The worlds on which decisions are judged: the truth is what the target does, and each habit does what it says."""

import statistics
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import noisy_world as noisy
import pytest
from noisy_target import Clerk

from etude.records import ChatRequest, Task, system, user


def lines(names: Sequence[str], wording: int = 0) -> str:
    right = noisy.ways(0)
    return "".join(f"- {noisy.WORDINGS[wording].format(field=name, way=right[name])}\n" for name in names)


async def answer(world: noisy.World, skill: str, task: Task, seed: int) -> str:
    request = ChatRequest(messages=(system(skill), user(task.input)), seed=seed)
    return (await Clerk(world).complete(request)).text


async def solved(world: noisy.World, skill: str, tasks: Sequence[Task], trials: int) -> float:
    made = [(task, task.seed(trial)) for task in tasks for trial in range(trials)]
    return statistics.fmean([await answer(world, skill, task, seed) == task.gold for task, seed in made])


HABITS: dict[str, dict[str, Any]] = {
    "none": {},
    "one label for all": {"collapses": 0.1},
    "copies": {"copies": 0.4},
    "order": {"order": 0.28},
    "lucky": {"lucky": 0.7},
    "flaky": {"flaky": 0.5, "collapses": 0.1, "copies": 0.4},
}


@pytest.mark.parametrize("habit", HABITS)
async def test_the_target_solves_as_much_as_the_truth_says(habit: str) -> None:
    world = noisy.World(0.9, **HABITS[habit])
    tasks = noisy.make_forms(world, "truth", 40)
    skill = lines(noisy.FIELDS[:20]) + f"- {noisy.EXAMPLE.format(answer='SAMPLE')}\n"
    expected = noisy.Truth(world).score(skill, tasks)
    assert 0.1 < expected < 0.9
    assert await solved(world, skill, tasks, 25) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    "habit", [{}, {"judge_errs": 0.2}, {"unmet": 0.5}, {"flaky": 0.5}, {"common": 4}, {"null": 0.4}]
)
async def test_with_partial_credit_tasks_score_on_average_what_the_truth_says(habit: dict[str, Any]) -> None:
    world = noisy.World(0.9, partial=True, **habit)
    tasks, skill = noisy.make_forms(world, "truth", 40), lines(noisy.FIELDS[:20])
    made = [(task, await answer(world, skill, task, task.seed(n))) for task in tasks for n in range(20)]
    scores = [await noisy.Forms(world).score(task, SimpleNamespace(answer=text)) for task, text in made]
    expected = noisy.Truth(world).score(skill, tasks)
    assert statistics.fmean(one.soft for one in scores) == pytest.approx(expected, abs=0.04)
    assert all(one.hard == float(one.soft == 1) for one in scores)


async def test_a_seed_of_the_trial_makes_all_tasks_lucky_together_and_one_of_task_and_trial_does_not() -> None:
    world = noisy.World(0.7, lucky=0.6)
    tasks, skill = noisy.make_forms(world, "truth", 50), noisy.perfect(world)

    async def spread(seed_of: Any) -> float:
        means: list[float] = []
        for trial in range(12):
            right = [await answer(world, skill, task, seed_of(task, trial)) == task.gold for task in tasks]
            means.append(statistics.fmean(right))
        return statistics.stdev(means)

    assert await spread(lambda task, trial: trial) > 2 * await spread(lambda task, trial: task.seed(trial))
