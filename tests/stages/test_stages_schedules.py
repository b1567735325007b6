"""Edit budgets over a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgrad.config import SelectSection, make_config
from skillgrad.stages.schedules import edit_budget

SCHEDULES = ("constant", "linear", "cosine")


@pytest.mark.parametrize(
    ("schedule", "budgets"),
    [("constant", [4, 4, 4, 4]), ("linear", [4, 3, 3, 2]), ("cosine", [4, 3, 2, 2])],
)
def test_the_budget_follows_the_published_schedule(schedule, budgets: list[int]) -> None:
    settings = SelectSection(schedule=schedule)
    assert [edit_budget(settings, step, 4) for step in (1, 2, 3, 4)] == budgets


@pytest.mark.parametrize(
    ("schedule", "budgets"),
    [
        ("linear", [15, 14, 14, 13, 12, 11, 10, 10, 9, 8]),
        ("cosine", [16, 15, 14, 13, 12, 11, 10, 9, 8, 8]),
    ],
)
def test_a_longer_run_goes_down_more_slowly(schedule, budgets: list[int]) -> None:
    settings = SelectSection(schedule=schedule, edit_budget=16, min_edit_budget=8)
    assert [edit_budget(settings, step, 10) for step in range(1, 11)] == budgets


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_run_of_one_step_has_the_whole_budget(schedule) -> None:
    assert edit_budget(SelectSection(schedule=schedule, edit_budget=7), 1, 1) == 7


def configured(**select: object) -> SelectSection:
    models = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    return make_config({**models, "select": select}).select


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_floor_above_the_budget_does_not_raise_it(schedule) -> None:
    settings = configured(schedule=schedule, edit_budget=2, min_edit_budget=3)
    assert [edit_budget(settings, step, 4) for step in (1, 2, 3, 4)] == [2, 2, 2, 2]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_budget_lowered_below_the_default_floor_is_its_own_floor(schedule) -> None:
    settings = configured(schedule=schedule, edit_budget=1)
    assert settings.min_edit_budget == 2
    assert [edit_budget(settings, step, 4) for step in (1, 2, 3, 4)] == [1, 1, 1, 1]


@pytest.mark.parametrize("way", ["preset", "written"])
def test_a_lowered_budget_is_harmless_over_a_preset_and_when_the_settings_are_read_back(way: str) -> None:
    models = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    lowered = {**models, "select": {"edit_budget": 1}}
    data = {**lowered, "preset": "paper"} if way == "preset" else make_config(lowered).model_dump(mode="json")
    assert make_config(data).select.edit_budget == 1


@given(st.sampled_from(SCHEDULES), st.integers(1, 40), st.integers(0, 40), st.integers(1, 80))
def test_budgets_never_rise_and_end_at_the_floor(schedule, low: int, extra: int, steps: int) -> None:
    settings = SelectSection(schedule=schedule, edit_budget=low + extra, min_edit_budget=low)
    budgets = [edit_budget(settings, step, steps) for step in range(1, steps + 1)]
    assert budgets == sorted(budgets, reverse=True)
    assert all(low <= budget <= low + extra for budget in budgets)
    if steps > 1 and schedule != "constant":
        assert budgets[-1] == low
