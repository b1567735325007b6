"""Edit budgets over a run."""

import pytest

from skillgrad.config import SelectSection
from skillgrad.stages.schedules import edit_budget


@pytest.mark.parametrize(
    ("schedule", "budgets"),
    [("constant", [4, 4, 4, 4]), ("linear", [4, 3, 3, 2]), ("cosine", [4, 3, 2, 2])],
)
def test_the_budget_follows_the_published_schedule(schedule, budgets: list[int]) -> None:
    settings = SelectSection(schedule=schedule)
    assert [edit_budget(settings, step, 4) for step in (1, 2, 3, 4)] == budgets


def test_a_run_of_one_step_has_the_whole_budget() -> None:
    assert edit_budget(SelectSection(edit_budget=7), 1, 1) == 7


def test_the_budget_never_falls_below_its_floor() -> None:
    settings = SelectSection(edit_budget=2, min_edit_budget=3)
    assert edit_budget(settings, 4, 4) == 3
