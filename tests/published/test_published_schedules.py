"""Edit budgets over a run."""

import pytest

from etude.config import make_config
from etude.published.options import PaperOptions, options_of
from etude.published.schedules import edit_budget

SCHEDULES = ("constant", "linear", "cosine")


def configured(**options: object) -> PaperOptions:
    models = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    return options_of(make_config({**models, "search": {"policy": "paper", **options}}))


@pytest.mark.parametrize(
    ("schedule", "budgets"), [("constant", [8, 8, 8, 8]), ("linear", [7, 5, 4, 2]), ("cosine", [7, 5, 3, 2])]
)
def test_the_budget_goes_from_the_first_to_the_last_number(schedule: str, budgets: list[int]) -> None:
    settings = configured(schedule=schedule, edit_budget=8, min_edit_budget=2)
    assert [edit_budget(settings, step, 4) for step in (1, 2, 3, 4)] == budgets


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_floor_above_the_budget_does_not_raise_it(schedule) -> None:
    settings = configured(schedule=schedule, edit_budget=2, min_edit_budget=3)
    assert [edit_budget(settings, step, 4) for step in (1, 2, 3, 4)] == [2, 2, 2, 2]


@pytest.mark.parametrize("way", ["preset", "written"])
def test_a_lowered_budget_is_harmless_over_a_preset_and_when_the_settings_are_read_back(way: str) -> None:
    models = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    lowered = {**models, "search": {"policy": "paper", "edit_budget": 1}}
    data = {**lowered, "preset": "paper"} if way == "preset" else make_config(lowered).model_dump(mode="json")
    assert options_of(make_config(data)).edit_budget == 1
