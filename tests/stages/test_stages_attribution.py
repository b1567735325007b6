"""Which of several edits a task needs that passes with all of them."""

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from etude.stages.shared.attribution import MOST, needed_sets


class Tasks:
    """Each passes with a set of edits, and counts its attempts."""

    def __init__(self, needs: Mapping[str, set[int]], void: str = "") -> None:
        self.needs, self.void = needs, void
        self.asked: list[tuple[str, frozenset[int]]] = []
        self.rounds = 0

    async def ask(self, groups: Sequence[Sequence[int]], tasks: Sequence[str]) -> list[bool | None]:
        self.rounds += 1
        both = list(zip(tasks, map(frozenset, groups), strict=True))
        self.asked += both
        return [None if task == self.void else self.needs[task] <= group for task, group in both]


async def found(needs: Mapping[str, set[int]], edits: int = 6, void: str = "") -> dict[tuple[int, ...], list[str]]:
    return await needed_sets(list(needs), range(edits), Tasks(needs, void).ask)


@pytest.mark.parametrize("needed", [{0}, {5}, {2}, {0, 5}, {1, 2, 3}, {0, 2, 4, 5}])
async def test_a_task_leads_to_the_edits_it_needs(needed: set[int]) -> None:
    assert await found({"a": needed}) == {tuple(sorted(needed)): ["a"]}


async def test_tasks_with_the_same_needs_stand_together() -> None:
    assert await found({"a": {1}, "b": {1, 4}, "c": {1}}) == {(1,): ["a", "c"], (1, 4): ["b"]}


async def test_a_task_that_passes_without_any_edit_or_not_with_all_leads_nowhere() -> None:
    assert await found({"luck": set(), "never": {17}, "void": {1}}, void="void") == {}


async def test_a_task_that_needs_more_than_four_edits_leads_nowhere() -> None:
    assert MOST == 4
    assert await found({"a": {0, 1, 2, 3, 4}}) == {}


async def test_nothing_is_asked_without_tasks_or_edits() -> None:
    tasks = Tasks({"a": {1}})
    assert await needed_sets([], range(6), tasks.ask) == {}
    assert await needed_sets(["a"], [], tasks.ask) == {}
    assert tasks.asked == []


async def test_a_task_that_needs_one_of_twelve_edits_takes_seven_attempts_and_tasks_go_side_by_side() -> None:
    tasks = Tasks({f"t{number}": {number} for number in range(12)})
    await needed_sets(list(tasks.needs), range(12), tasks.ask)
    assert max(sum(task == name for task, _ in tasks.asked) for name in tasks.needs) <= 2 + 4 + 1
    assert tasks.rounds <= 6


async def test_whatever_noise_answers_sets_are_of_edits_that_were_given_and_the_questions_end() -> None:
    rng = Random(1)

    async def ask(groups: Sequence[Sequence[int]], tasks: Sequence[str]) -> list[bool | None]:
        return [rng.choice((True, False, None)) for _ in tasks]

    for _ in range(300):
        edits = rng.sample(range(20), rng.randint(1, 12))
        for group, tasks in (await needed_sets(["a", "b", "c"], edits, ask)).items():
            assert 0 < len(group) <= MOST
            assert set(group) <= set(edits)
            assert set(tasks) <= {"a", "b", "c"}
