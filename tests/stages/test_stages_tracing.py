"""Tasks lead to the edit that breaks them: edits are left out, and brought back until the task fails again."""

from collections import Counter
from dataclasses import replace

import pytest
from harm_world import STEADY, TRACE, World, accused, breaks, named, never, removed

from etude.records import Task
from etude.stages.harm import suspected
from etude.stages.shared.jury import Jury
from etude.stages.shared.noise import Outcomes, PassSpread
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


def test_tasks_keep_failing_that_failed_when_last_attempted_and_the_time_before() -> None:
    told = {
        "b1": "1+ 5- 7-",
        "b2": "5- 9-",
        "b3": "20- 20-",
        "once": "20-",
        "mended": "5- 7+",
        "by luck": "5- 7+ 9-",
        "passed": "20+ 20+",
    }
    jury = World(*LINES, passes=never).jury(told)
    assert [task.id for task in keep_failing(jury)] == ["b3", "b2", "b1"]
    left = {name: task for name, task in jury.tasks.items() if name != "b2"}
    assert [task.id for task in keep_failing(replace(jury, tasks=left))] == []


def test_of_tasks_that_keep_failing_24_are_looked_at_those_that_failed_last() -> None:
    jury = World(*LINES, passes=never).jury({**named("a", 9, "5- 7-"), **named("b", 20, FAILED)})
    found = [task.id for task in keep_failing(jury)]
    assert len(found) == 24
    assert {name[0] for name in found[:20]} == {"b"}


@pytest.mark.parametrize(("lines", "tasks"), [(2, 10), (6, 2), (0, 10), (6, 0)])
def test_with_fewer_than_three_edits_or_tasks_none_is_looked_at(lines: int, tasks: int) -> None:
    assert keep_failing(World(*LINES[:lines], passes=never).jury(named("b", tasks, FAILED))) == []


def test_tasks_that_led_to_an_edit_are_not_looked_at_again_while_it_stands() -> None:
    world, told = World(*LINES, passes=never), named("b", 5, FAILED)
    one = world.jury(told).removals[0].edit.id
    jury = world.jury(told, traced={"b1": one, "b2": "e-gone"})
    assert [task.id for task in keep_failing(jury)] == ["b2", "b3", "b4", "b5"]


def test_a_task_that_passes_for_another_target_is_not_looked_at() -> None:
    """What it is broken by, the other one needs."""
    world = World(*LINES, passes=never)
    jury = world.jury({**named("b", 4, FAILED), "b5@one": FAILED, "b5@two": "1- 20+"})
    assert [task.id for task in keep_failing(jury)] == ["b1", "b2", "b3", "b4"]


def test_tasks_that_were_not_attempted_with_the_current_skill_or_passed_with_it_do_not_count_as_failing() -> None:
    jury = World(*LINES, passes=never).jury({"b1": FAILED, "b2": "5- 7-", "b3": "20- 20+", "b4": "1+ 20-"})
    assert [task.id for task in failing_now(jury.state, list(jury.tasks.values()))] == ["b1", "b4"]


# --- traced_hidden --------------------


async def test_tasks_that_never_passed_lead_to_the_edit_that_breaks_them() -> None:
    world = World(*LINES, passes=breaks("Bad."))
    jury = world.jury(named("b", 10, FAILED), others=3)
    assert suspected(jury) is None
    found = await traced_hidden(jury, keep_failing(jury))
    assert len(found.votes) >= 2
    assert set(led_to(jury, found).values()) == {"Bad."}


async def test_a_third_of_the_edits_is_left_out_where_no_edit_cites_a_task() -> None:
    world = World(*LINES, passes=never)
    await hidden(world, named("b", 10, FAILED))
    assert len(world.attempts) == 8
    assert {sum(line in text for line in LINES) for _, text, _ in world.attempts} == {4}
    assert {trial for *_, trial in world.attempts} == {TRACE}


async def test_first_all_edits_are_left_out_but_those_that_cite_a_task() -> None:
    world = World(*LINES, passes=lambda task, text, trial: text.startswith("Start.\n\nFour.") or "Bad." not in text)
    world.cite({"Four.": ["b1", "b2", "b3"]})
    lines, _ = await hidden(world, named("b", 3, FAILED))
    assert lines == dict.fromkeys(("b1", "b2", "b3"), "Bad.")
    assert world.attempts[0][1] == "Start.\n\nFour.\n"


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
    assert {task.id for task in found.freed} == {"b1", "b2", "b3"}


async def test_where_nothing_is_about_a_task_none_is_told_to_pass_with_what_is_about_it() -> None:
    world = World(*LINES, passes=breaks("Bad."))
    jury = world.jury(named("b", 10, FAILED))
    found = await traced_hidden(jury, keep_failing(jury))
    assert found.votes
    assert found.freed == ()


async def test_with_several_edits_that_break_a_task_the_first_one_is_found() -> None:
    """None of them alone, left out, would let it pass."""
    world = World(
        *LINES, passes=lambda task, text, trial: "Four." in text and "Bad." not in text and "Six." not in text
    )
    world.cite({"Four.": ["b1", "b2", "b3"]})
    lines, _ = await hidden(world, named("b", 3, FAILED))
    assert lines == dict.fromkeys(("b1", "b2", "b3"), "Bad.")


async def test_a_line_that_was_refused_counts_as_there_for_the_tasks_for_which_it_was_last_proposed() -> None:
    """Nothing passed with what breaks them, so it could not enter."""
    world = World(*LINES, passes=lambda task, text, trial: "Missed." in text and "Bad." not in text)
    world.refuse("Missed.", ["b1", "b2", "b3"])
    lines, _ = await hidden(world, named("b", 4, FAILED))
    assert lines == dict.fromkeys(("b1", "b2", "b3"), "Bad.")
    jury = world.jury(named("b", 4, FAILED))
    (suspect,) = named_edits(replace(jury, state=jury.state.model_copy(update={"traced": _by_id(jury, lines)})))
    assert (await accused(jury, suspect)).proved


def _by_id(jury: Jury, lines: dict[str, str]) -> dict[str, str]:
    ids = {one.edit.target: one.edit.id for one in jury.removals}
    return {task: ids[line] for task, line in lines.items()}


async def test_a_line_refused_earlier_or_for_a_task_that_passed_is_not_brought_in() -> None:
    world = World(*LINES, passes=never)
    world.refuse("Earlier.", ["b1"], step=15)
    world.refuse("Last.", ["b1", "b2"], step=16)
    told = {"b1": FAILED, "b2": "1+ 20- 20-", "b3": FAILED}
    await hidden(world, told)
    assert not any("Earlier." in text for _, text, _ in world.attempts)
    assert {task for task, text, _ in world.attempts if "Last." in text} == {"b1"}


async def test_tasks_that_need_another_edit_lead_to_the_one_that_breaks_them() -> None:
    def passes(task: str, text: str, trial: int) -> bool:
        return "Two." in text and "Bad." not in text

    lines, _ = await hidden(World(*LINES, passes=passes), named("b", 24, FAILED))
    assert len(lines) >= 3
    assert set(lines.values()) == {"Bad."}


async def test_each_of_two_edits_is_found_by_the_tasks_that_it_breaks() -> None:
    def passes(task: str, text: str, trial: int) -> bool:
        return ("Bad." if int(task[1:]) % 2 else "Six.") not in text

    lines, _ = await hidden(World(*LINES, passes=passes), named("b", 24, FAILED))
    assert len(lines) >= 5
    assert all(line == ("Bad." if int(task[1:]) % 2 else "Six.") for task, line in lines.items())


async def test_where_nothing_passes_with_edits_left_out_each_task_is_attempted_twice() -> None:
    world = World(*LINES, passes=never)
    world.cite({"Four.": [f"b{number}" for number in range(1, 8)]})
    lines, found = await hidden(world, named("b", 7, FAILED), others=5)
    assert lines == {}
    tried = Counter(one.task.id for one in found.attempts)
    assert tried == {f"b{number}": 2 for number in range(1, 8)}


async def test_eight_tasks_come_first_and_the_others_only_where_one_of_them_passes() -> None:
    world = World(*LINES, passes=never)
    _, found = await hidden(world, named("b", 20, FAILED))
    assert len({one.task.id for one in found.attempts}) == 8
    _, found = await hidden(World(*LINES, passes=breaks("Bad.")), named("b", 20, FAILED))
    assert len({one.task.id for one in found.attempts}) == 20


async def test_an_attempt_without_a_score_leads_nowhere() -> None:
    def passes(task: str, text: str, trial: int) -> bool | None:
        return None if task in ("b1", "b2") else breaks("Bad.")(task, text, trial)

    lines, found = await hidden(World(*LINES, passes=passes), named("b", 12, FAILED))
    assert set(lines.values()) == {"Bad."}
    assert "b1" not in lines
    assert sum(one.score is None for one in found.attempts) == 2


@pytest.mark.parametrize(("noisy", "asked"), [(False, 20), (True, 8)])
async def test_where_luck_explains_as_many_passes_the_others_are_not_asked(noisy: bool, asked: int) -> None:
    noise = PassSpread.measured([Outcomes(1, 1)] * 60 + [Outcomes(0, 2)] * 20) if noisy else STEADY
    world = World(*LINES, passes=lambda task, text, trial: task in ("b1", "b10"))
    world.cite({"Four.": [f"b{number}" for number in range(1, 21)]})
    jury = world.jury(named("b", 20, FAILED), noise=noise)
    found = await traced_hidden(jury, keep_failing(jury))
    assert len({one.task.id for one in found.attempts}) == asked


# --- traced_back --------------------


async def test_tasks_lead_to_what_entered_between_the_last_time_they_passed_and_the_last_time_they_failed() -> None:
    world = World(*LINES, passes=breaks("Bad."))
    lines, _ = await back(world, {"b1": "1+ 20- 20-", "b2": "5+ 8- 20-"})
    assert lines == {"b1": "Bad.", "b2": "Bad."}
    assert all("One." not in text for task, text, _ in world.attempts[:1] if task == "b1")
    assert all("One." in text and "Two." in text for task, text, _ in world.attempts if task == "b2")


async def test_what_is_left_out_is_brought_back_by_halves_and_both_sides_are_attempted_again() -> None:
    world = World(*LINES, passes=breaks("Six."))
    lines, found = await back(world, {"b1": "1+ 20- 20-"})
    assert lines == {"b1": "Six."}
    gone = [tuple(line for line in LINES if line not in text) for _, text, _ in world.attempts]
    assert gone == [LINES, ("Four.", "Five.", "Six."), ("Five.", "Six."), ("Six.",), ("Six.",), ()]
    assert [trial for *_, trial in world.attempts] == [TRACE] * 4 + [TRACE + 1] * 2
    assert [one.solved for one in found.attempts] == [True, True, True, True, True, False]


@pytest.mark.parametrize("side", ["without", "with"])
async def test_a_task_that_turns_out_otherwise_when_it_is_attempted_again_leads_nowhere(side: str) -> None:
    def by_luck(task: str, skill: str, trial: int) -> bool:
        again = trial > TRACE and ("Six." in skill) is (side == "with")
        return ("Six." in skill) if again else "Six." not in skill

    lines, _ = await back(World(*LINES, passes=by_luck), {"b1": "1+ 20- 20-"})
    assert lines == {}


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


async def test_a_task_that_passes_only_without_two_edits_leads_to_the_first() -> None:
    lines, _ = await back(World(*LINES, passes=breaks("Two.", "Six.")), {"b1": "1+ 20- 20-"})
    assert lines == {"b1": "Two."}


async def test_a_task_that_fails_without_all_of_them_as_well_leads_nowhere_after_one_attempt() -> None:
    lines, found = await back(World(*LINES, passes=never), {"b1": "1+ 20- 20-"})
    assert lines == {}
    assert len(found.attempts) == 1


async def test_where_only_one_edit_can_be_it_nothing_is_attempted() -> None:
    world = World(*LINES, passes=never)
    lines, found = await back(world, {"b1": "11+ 20- 20-", "b2": "4+ 6- 7-"})
    assert lines == {"b1": "Six.", "b2": "Bad."}
    assert found.attempts == ()
    assert world.attempts == []


# --- named --------------------


def test_an_edit_is_named_that_two_tasks_led_to_the_one_of_most_tasks_first() -> None:
    world = World(*LINES, passes=never)
    told = named("b", 8, FAILED)
    ids = {one.edit.target: one.edit.id for one in world.jury(told).removals}
    votes = {"b1": "Two.", "b2": "Two.", "b3": "Bad.", "b4": "Bad.", "b5": "Bad.", "b6": "Six."}
    traced = {task: ids[line] for task, line in votes.items()} | {"b7": "e-gone", "b8": "e-gone"}
    found = named_edits(world.jury(told, traced=traced))
    assert [removed(suspect) for suspect in found] == ["Bad.", "Two."]
    assert [[task.id for task in suspect.tasks] for suspect in found] == [["b3", "b4", "b5"], ["b1", "b2"]]


def test_the_tasks_of_an_edit_that_was_judged_and_stays_accuse_no_other() -> None:
    world = World(*LINES, passes=never)
    told = named("b", 6, "1+ 20- 20-")
    ids = {one.edit.target: one.edit.id for one in world.jury(told).removals}
    votes = {"b1": "Two.", "b2": "Two.", "b3": "Bad.", "b4": "Bad."}
    jury = world.jury(told, traced={task: ids[line] for task, line in votes.items()})
    state = jury.state.model_copy(update={"settled": frozenset({ids["Two."]})})
    settled = replace(jury, state=state)
    suspect = suspected(settled)
    assert suspect is not None
    assert [task.id for task in suspect.tasks] == ["b3", "b4", "b5", "b6"]


async def test_what_is_named_is_shown_by_a_race() -> None:
    world = World(*LINES, passes=breaks("Bad."))
    told = named("b", 2, "1+ 20- 20-")
    jury = world.jury(told, others=12)
    tasks: list[Task] = [jury.tasks[name] for name in told]
    traced = dict((await traced_back(jury, tasks)).votes)
    (suspect,) = named_edits(world.jury(told, traced=traced, others=12))
    assert (await accused(jury, suspect)).proved
