"""Edits as the optimizer writes them, and those that say the same."""

import pytest
from stages_doubles import append

from etude.stages.shared.proposals import EditReply, unite


@pytest.mark.parametrize(
    ("op", "kept"), [("append", ("", "new")), ("delete", ("old", "")), ("replace", ("old", "new"))], ids=lambda op: op
)
def test_what_an_operation_does_not_use_does_not_count(op: str, kept: tuple[str, str]) -> None:
    edit = EditReply.model_validate({"op": op, "target": "old", "content": "new", "cites": "a, b"}).edit()
    assert (edit.target, edit.content, edit.cites) == (*kept, ("a", "b"))


@pytest.mark.parametrize(
    "other",
    ["Sort the  rows by date", "sort the rows\nby DATE!", "- **Sort** the rows by date."],
    ids=["blanks", "case and line ends", "marks"],
)
def test_the_same_words_in_the_same_order_are_one_statement(other: str) -> None:
    united = unite([append("Sort the rows by date.", "a"), append(other, "b")])
    assert [(edit.content, edit.support) for edit in united] == [("Sort the rows by date.", 2)]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Separate values with ';'.", "Separate values with ','."), ("Round when x > 5.", "Round when x < -5.")],
)
def test_statements_that_differ_in_a_sign_stay_apart(one: str, other: str) -> None:
    assert len(unite([append(one, "a"), append(other, "b")])) == 2
