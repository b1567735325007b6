"""Select: the optimizer ranks, code keeps to the budget."""

import pytest
from stages_doubles import Desk, append

from etude.errors import OutageStop, TransientError
from etude.published.select import select
from etude.records import Patch, Skill

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


@pytest.mark.parametrize("order", [[2], [2, 2], [9, 2, -1]])
async def test_a_ranking_may_name_fewer_edits_than_the_budget_allows(order: list[int]) -> None:
    assert await chosen(Desk(select={"order": order}), 3) == ["two"]


@pytest.mark.parametrize("order", [[], [9, -1]])
async def test_support_decides_where_the_ranking_names_no_edit_and_the_first_on_ties(order: list[int]) -> None:
    patch = Patch(edits=(*PATCH.edits, append("four", "d")))
    desk = Desk(select={"order": order})
    edits = await select(desk.optimizer, SKILL, patch, 4)
    assert [edit.content for edit in edits] == ["three", "one", "zero", "four"]


async def test_without_a_usable_ranking_support_decides_and_it_is_reported() -> None:
    desk = Desk(select="I like them all.")
    assert await chosen(desk, 2) == ["three", "one"]
    (warning,) = desk.warnings
    assert warning.startswith("a ranking of 4 edits gave no usable answer, support decides: ")


async def test_a_failed_call_stops_the_run() -> None:
    with pytest.raises(OutageStop, match=r"^optimizer: 503"):
        await chosen(Desk(select=TransientError("503")), 1)


async def test_without_a_budget_all_edits_pass_and_with_none_allowed_no_edit_does() -> None:
    assert await select(Desk().optimizer, SKILL, PATCH, None) == PATCH.edits
    assert await select(Desk().optimizer, SKILL, PATCH, 0) == ()
