"""The worlds on which decisions are judged: the truth is what the target does, and each habit does what it says."""

import importlib
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from etude.records import ChatRequest, Task, system, user

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def noisy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The modules of the world, which are no part of the package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    world, optimizer = map(importlib.import_module, ("noisy_world", "noisy_optimizer"))
    yield SimpleNamespace(**(vars(optimizer) | vars(world)))
    for name in ("noisy_world", "noisy_optimizer"):
        sys.modules.pop(name, None)


def lines(noisy: Any, names: Sequence[str], wording: int = 0) -> str:
    right = noisy.ways(0)
    return "".join(f"- {noisy.WORDINGS[wording].format(field=name, way=right[name])}\n" for name in names)


async def answer(noisy: Any, world: Any, skill: str, task: Task, seed: int) -> str:
    request = ChatRequest(messages=(system(skill), user(task.input)), seed=seed)
    return (await noisy.Clerk(world).complete(request)).text


async def solved(noisy: Any, world: Any, skill: str, tasks: Sequence[Task], trials: int) -> float:
    made = [(task, task.seed(trial)) for task in tasks for trial in range(trials)]
    return statistics.fmean([await answer(noisy, world, skill, task, seed) == task.gold for task, seed in made])


HABITS: dict[str, dict[str, Any]] = {
    "none": {},
    "one label for all": {"collapses": 0.1},
    "copies": {"copies": 0.4},
    "order": {"order": 0.28},
    "lucky": {"lucky": 0.7},
    "flaky": {"flaky": 0.5, "collapses": 0.1, "copies": 0.4},
}


@pytest.mark.parametrize("habit", HABITS)
async def test_the_target_solves_as_much_as_the_truth_says(noisy: Any, habit: str) -> None:
    world = noisy.World(0.9, **HABITS[habit])
    tasks = noisy.make_forms(world, "truth", 40)
    skill = lines(noisy, noisy.FIELDS[:20]) + f"- {noisy.EXAMPLE.format(answer='SAMPLE')}\n"
    expected = noisy.Truth(world).score(skill, tasks)
    assert 0.1 < expected < 0.9
    assert await solved(noisy, world, skill, tasks, 25) == pytest.approx(expected, abs=0.05)


async def test_a_line_has_many_forms_answered_alike_and_another_wording_of_it_does_not(noisy: Any) -> None:
    world = noisy.World(0.97, collapses=0.15)
    truth, tasks = noisy.Truth(world), noisy.make_forms(world, "truth", 200)
    collapsing = [
        line
        for name in noisy.FIELDS
        for wording in range(4)
        if noisy.said(line := lines(noisy, [name], wording), world).alike
    ]
    assert 0.08 < len(collapsing) / (4 * len(noisy.FIELDS)) < 0.22
    line, perfect = collapsing[0], noisy.perfect(world)
    (way,) = noisy.said(line, world).alike.values()
    hit = [task for task in tasks if truth.alike(noisy.form_of(task.input), noisy.said(perfect + line, world))]
    assert 0.3 < len(hit) / len(tasks) < 0.5
    for task in hit:
        as_it_says = all(noisy.ways(0)[name] == way for name in noisy.parts_of(task.input))
        assert (truth.passes(task.input, perfect + line) > 0.5) == as_it_says
    given = {await answer(noisy, world, perfect + line, task, 0) for task in hit}
    alike = {"/".join(noisy.written(v, way) for v in noisy.parts_of(task.input).values()) for task in hit}
    assert len(given & alike) > 0.9 * len(given)
    assert not noisy.said(perfect, world).alike


async def test_the_last_example_is_copied_and_a_line_without_one_changes_nothing_in_that(noisy: Any) -> None:
    world = noisy.World(0.97, copies=0.3)
    tasks, perfect = noisy.make_forms(world, "truth", 50), noisy.perfect(world)
    shown = [f"- {noisy.EXAMPLE.format(answer=word)}\n" for word in ("SAMPLE", "elpmas", "s", "ple")]
    often = [noisy.said(one, world).copied for one in shown]
    assert len(set(often)) == 4
    assert all(0 <= share < 0.6 for share in often)
    skill = perfect + "".join(shown) + lines(noisy, noisy.FIELDS[:1])
    answers = [await answer(noisy, world, skill, task, seed) for task in tasks for seed in range(8)]
    assert answers.count("ple") / len(answers) == pytest.approx(often[-1], abs=0.06)
    assert not {"SAMPLE", "elpmas"} & set(answers)
    truth = noisy.Truth(world)
    assert truth.score(skill, tasks) == pytest.approx((1 - often[-1]) * truth.score(perfect, tasks))


async def test_a_seed_of_the_trial_makes_all_tasks_lucky_together_and_one_of_task_and_trial_does_not(
    noisy: Any,
) -> None:
    world = noisy.World(0.7, lucky=0.6)
    tasks, skill = noisy.make_forms(world, "truth", 50), noisy.perfect(world)

    async def spread(seed_of: Any) -> float:
        means: list[float] = []
        for trial in range(12):
            right = [await answer(noisy, world, skill, task, seed_of(task, trial)) == task.gold for task in tasks]
            means.append(statistics.fmean(right))
        return statistics.stdev(means)

    assert await spread(lambda task, trial: trial) > 2 * await spread(lambda task, trial: task.seed(trial))
