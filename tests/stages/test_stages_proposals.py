"""Forms of proposals: whatever the optimizer fills in ends as edits, and evidence is checked by code."""

import pytest
from stages_doubles import append
from stages_doubles import edit_row as row

from etude.records import Edit
from etude.stages.shared.proposals import EditReply, folded, valid_edits
from rows import rows


@rows(
    ("op", "target", "content"),
    [("append", "", "new"), ("insert_after", "old", "new"), ("replace", "old", "new"), ("delete", "old", "")],
)
def test_an_edit_is_the_row_without_what_its_operation_does_not_use(op: str, target: str, content: str) -> None:
    reply = EditReply.model_validate(row("new", "a", op=op, target="old", reason="why"))
    wanted = {"op": op, "target": target, "content": content, "reason": "why", "cites": ("a",)}
    assert reply.edit() == Edit.model_validate(wanted)


def test_citations_of_unknown_attempts_are_dropped_and_repeated_ones_count_once() -> None:
    ((edit,), dropped) = valid_edits([append("Sort.", "b", "zzz", "a", "b")], ("a", "b"))
    assert (edit.cites, edit.support, dropped) == (("b", "a"), 2, ())


def test_an_edit_that_cites_nothing_known_is_set_apart() -> None:
    kept, (dropped, other) = valid_edits([append("Sort.", "zzz"), append("Add.")], ("a", "b"))
    assert kept == ()
    assert (dropped.content, dropped.cites, other.content) == ("Sort.", (), "Add.")


@pytest.mark.parametrize("text", ["Keep  it short", "- keep it\nSHORT.", "**Keep** it short!"])
def test_case_blanks_marks_and_a_final_stop_make_no_difference(text: str) -> None:
    assert folded(text) == "keep it short"
