"""What an edit is left out for: it names a task."""

from etude.records import Edit
from etude.stages.shared.left_out import names_one


def test_an_edit_that_names_a_task_or_an_attempt_is_found_out() -> None:
    edit = Edit(op="append", content="In train-0017 the answer is brave.")
    assert names_one(edit, ["train-0017"]) == "it names 'train-0017'"


def test_numbers_and_words_are_no_telling_names() -> None:
    edit = Edit(op="append", content="Round to 12345 digits, as in sorting.")
    assert names_one(edit, ["12345", "sorting", "a1"]) == ""
