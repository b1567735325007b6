"""Edit budgets over a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stages_doubles import Desk, append, attempt

from etude.config import make_config
from etude.errors import OutageStop, TransientError
from etude.published.options import PaperOptions, options_of
from etude.published.schedules import BudgetBasis, EditBudget, Schedule, edit_budget
from etude.records import LedgerEntry, Patch, Skill

SCHEDULES = ("constant", "linear", "cosine")


@pytest.mark.parametrize(
    ("schedule", "budgets"), [("constant", [4, 4, 4, 4]), ("linear", [4, 3, 3, 2]), ("cosine", [4, 3, 2, 2])]
)
def test_the_budget_follows_the_published_schedule(schedule, budgets: list[int]) -> None:
    settings = PaperOptions(schedule=schedule)
    assert [edit_budget(settings, step, 4) for step in (1, 2, 3, 4)] == budgets


@pytest.mark.parametrize(
    ("schedule", "budgets"),
    [("linear", [15, 14, 14, 13, 12, 11, 10, 10, 9, 8]), ("cosine", [16, 15, 14, 13, 12, 11, 10, 9, 8, 8])],
)
def test_a_longer_run_goes_down_more_slowly(schedule, budgets: list[int]) -> None:
    settings = PaperOptions(schedule=schedule, edit_budget=16, min_edit_budget=8)
    assert [edit_budget(settings, step, 10) for step in range(1, 11)] == budgets


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_run_of_one_step_has_the_whole_budget(schedule) -> None:
    assert edit_budget(PaperOptions(schedule=schedule, edit_budget=7), 1, 1) == 7


def configured(**options: object) -> PaperOptions:
    models = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    return options_of(make_config({**models, "search": {"policy": "paper", **options}}))


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
    lowered = {**models, "search": {"policy": "paper", "edit_budget": 1}}
    data = {**lowered, "preset": "paper"} if way == "preset" else make_config(lowered).model_dump(mode="json")
    assert options_of(make_config(data)).edit_budget == 1


@given(st.sampled_from(SCHEDULES), st.integers(1, 40), st.integers(0, 40), st.integers(1, 80))
def test_budgets_never_rise_and_end_at_the_floor(schedule, low: int, extra: int, steps: int) -> None:
    settings = PaperOptions(schedule=schedule, edit_budget=low + extra, min_edit_budget=low)
    budgets = [edit_budget(settings, step, steps) for step in range(1, steps + 1)]
    assert budgets == sorted(budgets, reverse=True)
    assert all(low <= budget <= low + extra for budget in budgets)
    if steps > 1 and schedule != "constant":
        assert budgets[-1] == low


EDITS = (append("zero", "a"), append("one", "a", "b"), append("two", "c"), append("three", "c"), append("four", "c"))
LEDGER = [LedgerEntry(step=step, edit=append(f"Rule {step}."), fate="applied", accepted=False) for step in (1, 2)]


def evidence(*edits, attempts=()) -> BudgetBasis:
    return BudgetBasis(Skill(text="Be exact."), attempts, Patch(edits=edits), LEDGER, 1)


@pytest.mark.parametrize("name", SCHEDULES)
async def test_a_planned_budget_is_told_to_the_readers_and_asks_nobody(name) -> None:
    schedule = Schedule(PaperOptions(schedule=name), 4, True)
    for step in (1, 2, 3, 4):
        planned = edit_budget(PaperOptions(schedule=name), step, 4)
        assert schedule.shown(step) == planned
        assert await schedule.decide(Desk().optimizer, step, evidence(*EDITS)) == EditBudget(planned)


@pytest.mark.parametrize("name", [*SCHEDULES, "autonomous"])
async def test_without_a_budget_there_is_no_limit_whatever_the_schedule(name) -> None:
    schedule = Schedule(PaperOptions(schedule=name), 4, False)
    assert schedule.shown(1) is None
    assert await schedule.decide(Desk().optimizer, 1, evidence(*EDITS)) == EditBudget(None)


AUTONOMOUS = PaperOptions(schedule="autonomous", edit_budget=4, min_edit_budget=2)


def said(number: int, reasoning: str = "why") -> dict[str, object]:
    return {"reasoning": reasoning, "edit_budget": number}


async def decided(desk: Desk, *edits, step: int = 4) -> EditBudget:
    schedule = Schedule(AUTONOMOUS, 4, True)
    return await schedule.decide(desk.optimizer, step, evidence(*(edits or EDITS)))


def test_under_the_autonomous_schedule_readers_are_told_the_maximum_in_every_step() -> None:
    schedule = Schedule(AUTONOMOUS, 4, True)
    assert [schedule.shown(step) for step in (1, 2, 3, 4)] == [4, 4, 4, 4]


@pytest.mark.parametrize(("number", "edits"), [(1, 1), (3, 3), (5, 5), (9, 5)])
async def test_the_optimizer_decides_up_to_all_edits(number: int, edits: int) -> None:
    desk = Desk(edit_budget=said(number))
    assert await decided(desk) == EditBudget(edits, "why")
    assert desk.prompts == ["edit_budget"]


async def test_zero_is_taken_when_there_is_a_reason() -> None:
    assert await decided(Desk(edit_budget=said(0, "All vague."))) == EditBudget(0, "All vague.")


@pytest.mark.parametrize(
    ("answer", "problem", "step", "planned"),
    [
        ("Many.", "no usable", 1, 4),
        (said(0, " "), "0 without a reason", 2, 3),
        (said(-3), "-3 without a reason", 4, 2),
    ],
)
async def test_an_answer_that_cannot_be_used_leaves_the_budget_of_cosine(
    answer: object, problem: str, step: int, planned: int
) -> None:
    desk = Desk(edit_budget=answer)
    assert await decided(desk, step=step) == EditBudget(planned)
    (warning,) = desk.warnings
    assert warning.startswith(f"the edit budget stays at the planned {planned}, there was no usable decision: ")
    assert problem in warning


@pytest.mark.parametrize("edits", [(), EDITS[:1]])
async def test_where_there_is_no_choice_nobody_is_asked(edits) -> None:
    schedule = Schedule(AUTONOMOUS, 4, True)
    assert (await schedule.decide(Desk().optimizer, 4, evidence(*edits))).edits == 2


async def test_the_decision_rests_on_skill_ledger_outcome_and_all_edits() -> None:
    desk = Desk(edit_budget=said(2))
    attempts = [attempt("x", 1.0), attempt("y", 0.5), attempt("z", 0.0), attempt("v", None)]
    schedule = Schedule(AUTONOMOUS, 4, True)
    await schedule.decide(desk.optimizer, 1, evidence(*EDITS, attempts=attempts))
    text = desk.shown()
    parts = ["Be exact.", "Rule 2.", "3 attempts, mean hard 0.500, mean soft 0.500.", '"index": 0', '"index": 4']
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "Rule 1." not in text


async def test_an_outcome_without_scores_says_so() -> None:
    desk = Desk(edit_budget=said(2))
    await decided(desk)
    assert "No attempt has a score." in desk.shown()


async def test_a_failed_decision_stops_the_run() -> None:
    with pytest.raises(OutageStop, match=r"^optimizer: 503"):
        await decided(Desk(edit_budget=TransientError("503")))
