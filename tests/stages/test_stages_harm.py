"""Edits that break tasks are accused by the history, and taken back if they cost more than they bring."""

from collections.abc import Mapping
from dataclasses import replace
from math import log

import pytest
from harm_world import BROKEN, NOISY, START, STEADY, World, accused, breaks, known, named, never, removed, tasks_of
from stages_doubles import append

from etude.errors import VoidStop
from etude.records import Edit, LedgerEntry
from etude.skill import apply_edits
from etude.stages.harm import suspected, suspicion
from etude.stages.shared.contest import REMOVAL
from etude.stages.shared.jury import Suspect
from etude.stages.shared.noise import Outcomes, PassSpread


def suspicions(told: Mapping[str, str], *entered: int, noise: PassSpread = STEADY) -> list[float]:
    history = {name: known(each) for name, each in told.items()}
    return [suspicion(step, history, noise) for step in entered]


# --- suspicion --------------------


def test_suspicion_rises_with_each_task_that_passed_before_an_edit_and_fails_since() -> None:
    found = [suspicions(named("b", count, "1+ 3- 3-"), 2)[0] for count in range(6)]
    assert found[0] == 0
    assert found == sorted(set(found))


def test_suspicion_falls_with_each_task_that_passes_since_by_a_seventh_at_most() -> None:
    accused = named("b", 3, "1+ 3- 3-")
    found = [suspicions({**accused, **named("o", count, "1+ 3+ 3+")}, 2)[0] for count in range(6)]
    assert found == sorted(set(found), reverse=True)
    assert found[0] - found[5] < -5 * log(0.85)


def test_where_attempts_are_noisy_failures_say_less() -> None:
    told = named("b", 3, "1+ 3- 3-")
    assert 0 < suspicions(told, 2, noise=NOISY)[0] < suspicions(told, 2)[0] / 5


def test_a_failure_says_more_of_a_task_that_passed_several_times_before_but_not_ever_more() -> None:
    rows = ["1+", "1- 1+", "1+ 1+", "1+ 1+ 1+", "1+ 1+ 1+ 1+", "1+ 1+ 1+ 1+ 1+"]
    once, late, *more, four, five = [suspicions(named("b", 3, f"{row} 3- 3-"), 2, noise=NOISY)[0] for row in rows]
    assert once == late < more[0] < more[1] < four == five


def test_few_of_many_tasks_that_were_steady_make_an_edit_suspected_and_fewer_do_not() -> None:
    """One attempt in eight turns out otherwise by luck, and many tasks are not learnt yet."""
    noise = PassSpread.measured([Outcomes(2, 0)] * 70 + [Outcomes(1, 1)] * 20 + [Outcomes(0, 2)] * 70)
    for lost, kept, clear in ((4, 36, True), (7, 103, True), (1, 39, False), (2, 108, False)):
        told = {**named("b", lost, "1+ 1+ 3- 3-"), **named("o", kept, "1+ 1+ 3+")}
        assert (suspicions(told, 2, noise=noise)[0] > log(9)) is clear
    noise = PassSpread.measured([Outcomes(2, 0)] * 60 + [Outcomes(1, 1)] * 50 + [Outcomes(0, 2)] * 50)
    told = {**named("b", 8, "1+ 3- 3-"), **named("o", 10, "1+ 3+")}
    assert suspicions(told, 2, noise=noise)[0] > log(9)


# --- suspected --------------------


def test_the_most_suspected_edit_is_named_with_the_tasks_that_accuse_it() -> None:
    world = World("One.", "Two.", "Bad.", "Four.", passes=never)
    told = {**named("b", 4, "1+ 5+ 7- 9-"), "n1": "1- 7- 9-", "n2": "7- 9-", "o1": "1+ 5- 9+", "o2": "5+ 7- 9+"}
    found = suspected(world.jury(told))
    assert removed(found) == "Bad."
    assert tasks_of(found) == ["b1", "b2", "b3", "b4"]
    assert world.attempts == []


def test_two_tasks_accuse_nothing_however_often_they_fail() -> None:
    world, told = World("Bad.", passes=never), named("b", 2, f"1+{' 20-' * 9}")
    assert suspicion(2, world.jury(told).state.history, STEADY) > log(20)
    assert suspected(world.jury(told)) is None


def test_tasks_that_one_target_loses_accuse_an_edit_however_many_another_one_solves() -> None:
    world = World("Bad.", passes=never)
    lost, solved = (
        {f"{name}{n}@{target}": told for n in range(count)}
        for name, count, target, told in (("b", 5, "one", "1+ 20- 21-"), ("o", 60, "two", "1+ 20+"))
    )
    assert removed(suspected(world.jury({**lost, **solved}))) == "Bad."


@pytest.mark.parametrize(("repeats", "line"), [(True, ""), (False, "Bad.")])
def test_a_single_failure_accuses_only_where_another_trial_tells_nothing_new(repeats: bool, line: str) -> None:
    world = World("Bad.", passes=never)
    assert removed(suspected(world.jury(named("b", 3, "1+ 20-"), repeats=repeats))) == line


def test_a_task_that_is_no_training_task_any_more_cannot_accuse() -> None:
    jury = World("Bad.", passes=never).jury(named("b", 4, BROKEN))
    assert tasks_of(suspected(jury)) == ["b1", "b2", "b3", "b4"]
    left = {name: task for name, task in jury.tasks.items() if name != "b2"}
    assert tasks_of(suspected(replace(jury, tasks=left))) == ["b1", "b3", "b4"]
    assert suspected(replace(jury, tasks={name: left[name] for name in ("b1", "b4")})) is None


def test_lines_that_are_gone_already_or_were_there_from_the_start_are_not_accused() -> None:
    world = World("Bad.", passes=never)
    gone = LedgerEntry(step=3, edit=append("Gone."), fate="applied", accepted=True)
    refused = LedgerEntry(step=3, edit=append(START), fate="applied", accepted=False)
    held = LedgerEntry(step=3, edit=append(START), fate="dropped", accepted=None)
    whole = LedgerEntry(step=3, edit=Edit(op="rewrite", content=START), fate="applied", accepted=True)
    world.state = world.state.model_copy(update={"ledger": (gone, refused, held, whole)})
    assert suspected(world.jury(named("b", 9, BROKEN))) is None


# --- judged --------------------


async def test_an_edit_that_breaks_the_tasks_which_accuse_it_is_taken_back() -> None:
    world = World("Bad.", passes=breaks("Bad."))
    jury = world.jury(named("b", 3, BROKEN), others=12)
    suspect = suspected(jury)
    assert suspect is not None
    assert (suspect.edit.op, suspect.edit.target) == ("delete", "Bad.")
    found = await accused(jury, suspect)
    assert found.proved
    assert found.reason.startswith("an edit breaks tasks: 8 pairs of attempts score +8 without; ")
    assert jury.without([suspect.edit]).text == f"{START}\n"


async def test_a_replaced_line_comes_back() -> None:
    replaced = Edit(op="replace", target="Good.", content="Bad.")
    world = World(replaced, "Two.", passes=lambda task, text, trial: "Good." in text)
    jury = world.jury(named("b", 3, "1+ 3- 20-"))
    suspect = suspected(jury)
    assert suspect is not None
    assert (suspect.edit.op, suspect.edit.target, suspect.edit.content) == ("replace", "Bad.", "Good.")
    assert (await accused(jury, suspect)).proved
    assert jury.without([suspect.edit]).text == f"{START}\n\nGood.\n\nTwo.\n"


@pytest.mark.parametrize("op", ["delete", "replace"])
def test_a_deletion_is_not_taken_back_as_its_line_may_be_proposed_anew(op: str) -> None:
    world = World(Edit(op=op, target="Good."), "Two.", passes=breaks())
    assert [(one.edit.op, one.edit.target) for one in world.jury({}).removals] == [("delete", "Two.")]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
async def test_an_example_of_several_lines_is_taken_back_as_one(line_end: str) -> None:
    example = "Example:\n- Input: 3 and 4\n- Output: 7"
    world = World("One.", example, "Three.", passes=breaks("Output: 7"), line_end=line_end)
    jury = world.jury(named("b", 3, "3+ 5- 20-"))
    suspect = suspected(jury)
    assert suspect is not None
    assert (suspect.edit.op, suspect.edit.target) == ("delete", example)
    assert (await accused(jury, suspect)).proved
    text = line_end.join([START, "", "One.", "", "Three.", ""])
    assert apply_edits(world.skill.text, [suspect.edit])[0] == text
    assert {text for _, text, _ in world.attempts} == {world.skill.text, text}


async def test_an_edit_that_breaks_more_tasks_than_it_fixes_goes() -> None:
    def passes(task: str, text: str, trial: int) -> bool:
        return ("Mixed." in text) is (task == "o1") if task[0] == "b" or task == "o1" else True

    found = await World("Mixed.", passes=passes).judged(named("b", 3, BROKEN), others=12)
    assert found.proved
    assert found.reason.startswith("an edit breaks tasks: 8 pairs of attempts score +8 without; ")


async def test_only_tasks_that_do_not_accuse_an_edit_can_keep_it() -> None:
    world = World("Bad.", passes=breaks("Bad."))
    assert (await world.judged(named("b", 3, BROKEN), others=5)).proved
    first = [task for task, *_ in world.attempts].index("o1")
    accused = {task for task, *_ in world.attempts[:16]}
    assert first >= 16
    assert accused == {"b1", "b2", "b3"}
    assert {task for task, *_ in world.attempts[16:]} == {"o1", "o2", "o3", "o4", "o5"}


async def test_an_edit_that_does_nothing_stays_and_no_other_task_is_asked() -> None:
    world = World("Nothing.", passes=never)
    found = await world.judged(named("b", 3, BROKEN), others=12)
    assert (found.proved, found.reason) == (False, "4 pairs of attempts score +0 without")
    assert {task for task, *_ in world.attempts} == {"b1", "b2", "b3"}
    assert len(found.attempts) == len(world.attempts) <= 2 * REMOVAL.most


async def test_a_line_that_stands_beside_one_that_is_taken_back_is_there_on_both_sides() -> None:
    world = World("Bad.", passes=never)
    world.refuse("Missed.", ["b1"])
    jury = world.jury({"b1": "20- 20-"})
    entry = jury.state.ledger[-1]
    beside = entry.edit.model_copy(update={"op": "insert_after", "target": "Bad."})
    state = jury.state.model_copy(
        update={"ledger": (*jury.state.ledger[:-1], entry.model_copy(update={"edit": beside}))}
    )
    jury = replace(jury, state=state)
    texts = [jury.without(edits, jury.tasks["b1"]).text for edits in ([], [jury.removals[0].edit])]
    assert ["Missed." in text for text in texts] == [True, True]
    assert ["Bad." in text for text in texts] == [True, False]


@pytest.mark.parametrize("needs", [True, False])
async def test_an_edit_that_another_target_needs_for_the_same_tasks_stays(needs: bool) -> None:
    """Tasks that do without it are many, and would hide it."""

    def passes(task: str, text: str, trial: int) -> bool:
        return True if task[0] != "b" else ("Mixed." in text) is (needs and task.endswith("two"))

    told = {f"b{number}@one": BROKEN for number in range(1, 4)}
    jury = World("Mixed.", passes=passes).jury(
        {**told, **{f"b{number}@two": "20+" for number in range(1, 4)}}, others=40
    )
    suspect = Suspect(jury.removals[0].edit, tuple(jury.tasks[name] for name in told))
    found = await accused(jury, suspect)
    assert found.proved is not needs


async def test_an_edit_that_another_target_needs_for_few_of_the_tasks_goes() -> None:
    def passes(task: str, text: str, trial: int) -> bool:
        if task in ("b1@two", "b2@two"):
            return "Mixed." in text
        return not (task.endswith("@one") and "Mixed." in text)

    told = {f"b{number}@one": BROKEN for number in range(1, 7)}
    twins = {f"b{number}@two": "20+" for number in range(1, 7)}
    jury = World("Mixed.", passes=passes).jury({**told, **twins}, others=40)
    found = await accused(jury, Suspect(jury.removals[0].edit, tuple(jury.tasks[name] for name in told)))
    assert found.proved


@pytest.mark.parametrize(("tasks", "proved"), [(3, False), (8, True)])
async def test_at_temperature_0_each_task_is_attempted_once_with_an_edit_and_once_without(
    tasks: int, proved: bool
) -> None:
    world = World("Bad.", passes=breaks("Bad."))
    found = await world.judged(named("b", tasks, "1+ 20-"), repeats=False)
    names = [(f"b{number}", 0) for number in range(1, tasks + 1)]
    assert world.with_line("Bad.") == names
    assert world.without_line("Bad.") == names
    assert found.proved is proved


async def test_an_attempt_without_a_score_says_nothing() -> None:
    def passes(task: str, text: str, trial: int) -> bool | None:
        return None if task == "b1" or ("Bad." in text and task == "b2") else breaks("Bad.")(task, text, trial)

    found = await World("Bad.", passes=passes).judged(named("b", 6, BROKEN), others=9)
    assert found.proved
    assert sum(one.score is None for one in found.attempts) > 2
    assert "; " in found.reason
    voids = World("Bad.", passes=lambda task, text, trial: None if "Bad." in text else True)
    with pytest.raises(VoidStop):  # an outage, and no verdict on the edit
        await voids.judged(named("b", 3, BROKEN))


async def test_one_task_that_never_has_a_score_stops_no_race() -> None:
    def passes(task: str, text: str, trial: int) -> bool | None:
        return None if task == "b1" else breaks("Bad.")(task, text, trial)

    world = World("Bad.", passes=passes, max_void=0.1)
    assert (await world.judged(named("b", 6, BROKEN), others=9)).proved
