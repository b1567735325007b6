"""Which failures can speak for an edit that copies training tasks, and whether it names one."""

from etude.records import Attempt, Edit, Score, Task, Trajectory
from etude.stages.shared.copies import Copies, names_one
from etude.stages.shared.golds import Golds

TASKS = [
    Task(
        id=f"t{n}",
        input=f"The guest of room {n} wants to stay {n} more nights than booked: may he?",
        gold=f"yes-{n}{n}{n}",
    )
    for n in range(5)
]
FAILURES = [
    Attempt(
        id=f"a{n}",
        task=task,
        skill_hash="s",
        trial=0,
        outcome="completed",
        score=Score(hard=0, soft=0),
        trajectory=Trajectory(),
    )
    for n, task in enumerate(TASKS)
]
COPIES = Copies(Golds(TASKS), TASKS)
QUOTED = "- A guest who wants to stay, e.g. 'room 1 wants to stay 1 more nights than booked', may."


def spoken_for(content: str, *cites: str) -> tuple[tuple[str, ...], str]:
    edit, why = COPIES.spoken_for(
        Edit(op="append", content=content, cites=cites), FAILURES, [("a0", "a1", "a2"), ("a3", "a4")], ""
    )
    return edit.cites, why


def test_all_that_an_edit_cites_speaks_for_it_where_it_copies_nothing() -> None:
    assert spoken_for("- Any guest may stay.", "a0", "a1") == (("a0", "a1"), "")


def test_a_task_whose_words_an_edit_copies_cannot_speak_for_it() -> None:
    assert spoken_for(QUOTED, "a0", "a1", "a3") == (("a0", "a3"), "")


def test_an_edit_that_cites_only_what_it_quotes_is_tested_on_what_was_read_beside_it() -> None:
    assert spoken_for(QUOTED, "a1") == (("a0", "a2"), "")


def test_it_is_left_out_where_nothing_else_was_read() -> None:
    edit, why = COPIES.spoken_for(Edit(op="append", content=QUOTED, cites=("a1",)), FAILURES, [("a1",)], "")
    assert edit.cites == ()
    assert why == "it copies 'room 1 wants to stay 1 more nights'"


def test_an_edit_that_holds_the_answers_of_all_tasks_it_cites_is_left_out() -> None:
    assert spoken_for("- Answer yes-111.", "a1") == (("a1",), "it copies the gold answer of 't1'")
    assert spoken_for("- Answer yes-111.", "a1", "a2") == (("a2",), "")


def test_an_edit_that_names_a_task_or_an_attempt_is_found_out() -> None:
    edit = Edit(op="append", content="In train-0017 the answer is brave.")
    assert names_one(edit, ["train-0017"]) == "it names 'train-0017'"


def test_numbers_and_words_are_no_telling_names() -> None:
    edit = Edit(op="append", content="Round to 12345 digits, as in sorting.")
    assert names_one(edit, ["12345", "sorting", "a1"]) == ""
