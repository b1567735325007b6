"""Select: the optimizer ranks, code keeps to the budget."""

import pytest
from stages_doubles import Desk, append

from etude.published.aggregate import select
from etude.records import Patch, Skill

SKILL = Skill(text="Be exact.\n")
PATCH = Patch(edits=(append("zero", "a"), append("one", "a", "b"), append("two"), append("three", "a", "b", "c")))


async def chosen(desk: Desk, budget: int) -> list[str]:
    return [edit.content for edit in await select(desk.optimizer, SKILL, PATCH, budget)]


@pytest.mark.parametrize("order", [[2], [2, 2], [9, 2, -1]])
async def test_a_ranking_may_name_fewer_edits_than_the_budget_allows(order: list[int]) -> None:
    assert await chosen(Desk(select={"order": order}), 3) == ["two"]


async def test_without_a_usable_ranking_support_decides_and_it_is_reported() -> None:
    desk = Desk(select="I like them all.")
    assert await chosen(desk, 2) == ["three", "one"]
    (warning,) = desk.warnings
    assert warning.startswith("a ranking of 4 edits gave no usable answer, support decides: ")


async def test_without_a_budget_all_edits_pass_and_with_none_allowed_no_edit_does() -> None:
    assert await select(Desk().optimizer, SKILL, PATCH, None) == PATCH.edits
    assert await select(Desk().optimizer, SKILL, PATCH, 0) == ()
