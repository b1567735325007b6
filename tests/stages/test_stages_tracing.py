"""Tasks lead to the edit that breaks them: edits are left out, and brought back until the task fails again."""

from dataclasses import replace

import pytest
from harm_world import TRACE, World, accused, breaks, named, never

from etude.records import Task
from etude.stages.shared.jury import Jury
from etude.stages.tracing import TraceResult, failing_now, keep_failing, traced_back, traced_hidden
from etude.stages.tracing import named as named_edits

LINES = ("One.", "Two.", "Bad.", "Four.", "Five.", "Six.")
FAILED = "20- 20-"


def led_to(jury: Jury, found: TraceResult) -> dict[str, str]:
    """For each task that led somewhere, the line."""
    lines = {one.edit.id: one.edit.target for one in jury.removals}
    return {task: lines[edit] for task, edit in found.votes.items()}


async def back(world: World, told: dict[str, str], others: int = 0) -> tuple[dict[str, str], TraceResult]:
    jury = world.jury(told, others=others)
    found = await traced_back(jury, [jury.tasks[name] for name in told])
    return led_to(jury, found), found


async def hidden(world: World, told: dict[str, str], others: int = 0) -> tuple[dict[str, str], TraceResult]:
    jury = world.jury(told, others=others)
    found = await traced_hidden(jury, keep_failing(jury))
    return led_to(jury, found), found


# --- keep_failing --------------------


def test_tasks_that_were_not_attempted_with_the_current_skill_or_passed_with_it_do_not_count_as_failing() -> None:
    jury = World(*LINES, passes=never).jury({"b1": FAILED, "b2": "5- 7-", "b3": "20- 20+", "b4": "1+ 20-"})
    assert [task.id for task in failing_now(jury.state, list(jury.tasks.values()))] == ["b1", "b4"]


# --- traced_hidden --------------------


async def test_a_third_of_the_edits_is_left_out_where_no_edit_cites_a_task() -> None:
    world = World(*LINES, passes=never)
    await hidden(world, named("b", 10, FAILED))
    assert len(world.attempts) == 8
    assert {sum(line in text for line in LINES) for _, text, _ in world.attempts} == {4}
    assert {trial for *_, trial in world.attempts} == {TRACE}


async def test_first_all_edits_are_left_out_that_share_no_rare_word_with_a_task() -> None:
    """Whatever was proposed for it."""
    lines = ("Bad.", "Write the city in capitals.", "Worse.", "Write the owner in capitals.")
    world = World(*lines, passes=lambda task, text, trial: "city" in text and "Bad." not in text)
    world.cite({"Bad.": ["b1", "b2", "b3"]})
    jury = world.jury(named("b", 3, FAILED), others=4)
    asked = {name: f"The city of {name}." if name.startswith("b") else "The date." for name in jury.tasks}
    tasks = {name: task.model_copy(update={"input": asked[name]}) for name, task in jury.tasks.items()}
    jury = replace(jury, tasks=tasks)
    found = await traced_hidden(jury, keep_failing(jury))
    assert world.attempts[0][1] == "Start.\n\nWrite the city in capitals.\n"
    assert led_to(jury, found) == dict.fromkeys(("b1", "b2", "b3"), "Bad.")


async def test_a_line_refused_earlier_or_for_a_task_that_passed_is_not_brought_in() -> None:
    world = World(*LINES, passes=never)
    world.refuse("Earlier.", ["b1"], step=15)
    world.refuse("Last.", ["b1", "b2"], step=16)
    told = {"b1": FAILED, "b2": "1+ 20- 20-", "b3": FAILED}
    await hidden(world, told)
    assert not any("Earlier." in text for _, text, _ in world.attempts)
    assert {task for task, text, _ in world.attempts if "Last." in text} == {"b1"}


# --- traced_back --------------------


async def test_at_temperature_0_nothing_is_attempted_again() -> None:
    world = World(*LINES, passes=breaks("Six."))
    jury = world.jury({"b1": "1+ 20- 20-"}, repeats=False)
    found = await traced_back(jury, [jury.tasks["b1"]])
    assert led_to(jury, found) == {"b1": "Six."}
    assert len(set(world.attempts)) == len(world.attempts) == 4


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("cites", [LINES, ("Four.",)])
async def test_a_task_that_only_misses_a_line_leads_nowhere(cites: tuple[str, ...], repeats: bool) -> None:
    """It passes with the line that was refused for it, whatever else there is: nothing breaks it."""
    world = World(*LINES, passes=lambda task, text, trial: "Missed." in text)
    world.cite({line: ["b1", "b2", "b3"] for line in cites})
    world.refuse("Missed.", ["b1", "b2", "b3"])
    jury = world.jury(named("b", 3, FAILED), repeats=repeats)
    assert (await traced_hidden(jury, keep_failing(jury))).votes == {}


async def test_where_only_one_edit_can_be_it_nothing_is_attempted() -> None:
    world = World(*LINES, passes=never)
    lines, found = await back(world, {"b1": "11+ 20- 20-", "b2": "4+ 6- 7-"})
    assert lines == {"b1": "Six.", "b2": "Bad."}
    assert found.attempts == ()
    assert world.attempts == []


# --- named --------------------


async def test_what_is_named_is_shown_by_a_race() -> None:
    world = World(*LINES, passes=breaks("Bad."))
    told = named("b", 2, "1+ 20- 20-")
    jury = world.jury(told, others=12)
    tasks: list[Task] = [jury.tasks[name] for name in told]
    traced = dict((await traced_back(jury, tasks)).votes)
    (suspect,) = named_edits(world.jury(told, traced=traced, others=12))
    assert (await accused(jury, suspect)).proved
