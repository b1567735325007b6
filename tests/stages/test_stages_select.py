"""Select: the optimizer ranks, code keeps to the budget."""

import pytest
from stages_doubles import Desk, append

from skillgrad.errors import OutageStop, TransientError
from skillgrad.records import Patch, Skill
from skillgrad.stages.select import select

SKILL = Skill(text="Be exact.\n")
PATCH = Patch(edits=(append("zero", "a"), append("one", "a", "b"), append("two"), append("three", "a", "b", "c")))


async def chosen(desk: Desk, budget: int) -> list[str]:
    return [edit.content for edit in await select(desk.optimizer, SKILL, PATCH, budget)]


@pytest.mark.parametrize("budget", [4, 9])
async def test_what_fits_into_the_budget_passes_in_its_order_without_a_call(budget: int) -> None:
    assert await chosen(Desk(), budget) == ["zero", "one", "two", "three"]


async def test_the_optimizer_ranks_what_does_not_fit() -> None:
    desk = Desk(select={"order": [2, 0, 1]})
    assert await chosen(desk, 2) == ["two", "zero"]
    text = desk.shown()
    places = [text.index(part) for part in ("Be exact.", '"index": 0, "support": 1', '"index": 3, "support": 3')]
    assert places == sorted(places)
    assert "at most 2 edits" in text


@pytest.mark.parametrize("order", [[9, 2, 2, -1, 0], [2, 2, 2, 0], [-4, 2, 0]])
async def test_indices_that_do_not_exist_or_repeat_are_left_out(order: list[int]) -> None:
    assert await chosen(Desk(select={"order": order}), 2) == ["two", "zero"]


@pytest.mark.parametrize(("order", "kept"), [([2], ["two", "three", "one"]), ([], ["three", "one", "zero"])])
async def test_what_the_ranking_leaves_open_is_filled_by_support(order: list[int], kept: list[str]) -> None:
    assert await chosen(Desk(select={"order": order}), 3) == kept


async def test_without_a_usable_ranking_support_decides_and_it_is_told() -> None:
    desk = Desk(select="I like them all.")
    assert await chosen(desk, 2) == ["three", "one"]
    (warning,) = desk.warnings
    assert warning.startswith("a ranking of 4 edits gave no usable answer, support decides: ")


async def test_a_failed_call_stops_the_run() -> None:
    with pytest.raises(OutageStop, match=r"^optimizer: 503"):
        await chosen(Desk(select=TransientError("503")), 1)
