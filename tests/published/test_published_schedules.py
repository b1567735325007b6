"""Edit budgets over a run."""

from collections.abc import Sequence

import pytest
from stages_doubles import Desk, append, attempt

from etude.config import make_config
from etude.published.options import PaperOptions, options_of
from etude.published.schedules import EditBudget, Schedule, edit_budget
from etude.records import Attempt, LedgerEntry, Patch, Skill, TrainState
from rows import rows

SCHEDULES = ("constant", "linear", "cosine")


def configured(**options: object) -> PaperOptions:
    models = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    return options_of(make_config({**models, "search": {"policy": "paper", **options}}))


@rows("schedule", SCHEDULES)
def test_a_floor_above_the_budget_does_not_raise_it(schedule) -> None:
    settings = configured(schedule=schedule, edit_budget=2, min_edit_budget=3)
    assert [edit_budget(settings, step, 4) for step in (1, 2, 3, 4)] == [2, 2, 2, 2]


@pytest.mark.parametrize("way", ["preset", "written"])
def test_a_lowered_budget_is_harmless_over_a_preset_and_when_the_settings_are_read_back(way: str) -> None:
    models = {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}}
    lowered = {**models, "search": {"policy": "paper", "edit_budget": 1}}
    data = {**lowered, "preset": "paper"} if way == "preset" else make_config(lowered).model_dump(mode="json")
    assert options_of(make_config(data)).edit_budget == 1


EDITS = (append("zero", "a"), append("one", "a", "b"), append("two", "c"), append("three", "c"), append("four", "c"))
LEDGER = [LedgerEntry(step=step, edit=append(f"Rule {step}."), fate="applied", accepted=False) for step in (1, 2)]


AUTONOMOUS = PaperOptions(schedule="autonomous", edit_budget=4, min_edit_budget=2)


def said(number: int, reasoning: str = "why") -> dict[str, object]:
    return {"reasoning": reasoning, "edit_budget": number}


async def decided(desk: Desk, attempts: Sequence[Attempt] = (), step: int = 4) -> EditBudget:
    skill = Skill(text="Be exact.")
    state = TrainState(step=step, current=skill, best=skill, ledger=tuple(LEDGER))
    return await Schedule(AUTONOMOUS, 4, True).decide(desk.optimizer, state, attempts, Patch(edits=EDITS), 1)


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


async def test_the_decision_rests_on_skill_ledger_outcome_and_all_edits() -> None:
    desk = Desk(edit_budget=said(2))
    attempts = [attempt("x", 1.0), attempt("y", 0.5), attempt("z", 0.0), attempt("v", None)]
    await decided(desk, attempts, step=1)
    text = desk.shown()
    parts = ["Be exact.", "Rule 2.", "3 attempts, mean hard 0.500, mean soft 0.500.", '"index": 0', '"index": 4']
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "Rule 1." not in text
