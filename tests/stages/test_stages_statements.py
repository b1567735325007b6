"""One statement is one edit, and none names a task."""

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from etude.records import Edit
from etude.skill import apply_edits
from etude.stages.shared.statements import names_one, single_statements


def contents(edit: Edit) -> list[str]:
    return [one.content for one in single_statements(edit)]


def test_a_list_becomes_one_edit_for_each_item_with_the_same_evidence() -> None:
    edit = Edit(op="append", content="- One.\n- Two,\n  and more of it.\n3. Three.", cites=("a-1",), reason="why")
    assert contents(edit) == ["- One.", "- Two,\n  and more of it.", "3. Three."]
    assert {one.cites for one in single_statements(edit)} == {("a-1",)}


@given(
    op=st.sampled_from(["append", "insert_after"]),
    items=st.lists(st.text("abc ,", min_size=1).map(str.strip).filter(bool), min_size=1, unique=True),
    mark=st.sampled_from(["- ", "* ", "1. "]),
    below=st.sampled_from(["", "- Last.\n", "\nAfterwards.\n", "## More\n"]),
)
def test_the_items_one_after_the_other_make_the_same_text_as_the_whole_list(
    op: Literal["append", "insert_after"], items: list[str], mark: str, below: str
) -> None:
    text = f"# Rules\n\n- First.\n{below}"
    edit = Edit(
        op=op, target="- First.", content="\n".join(f"{mark}{number} {item}" for number, item in enumerate(items))
    )
    assert apply_edits(text, single_statements(edit))[0] == apply_edits(text, [edit])[0]


def test_a_text_that_does_not_begin_with_an_item_stays_whole() -> None:
    text = "## Dates\n\n- One.\n- Two."
    assert contents(Edit(op="append", content=text)) == [text]


def test_a_replacement_stays_whole() -> None:
    assert contents(Edit(op="replace", target="x", content="- One.\n- Two.")) == ["- One.\n- Two."]


def test_an_edit_that_names_a_task_or_an_attempt_is_found_out() -> None:
    edit = Edit(op="append", content="In train-0017 the answer is brave.")
    assert names_one(edit, ["train-0017"]) == "it names 'train-0017'"


def test_numbers_and_words_are_no_telling_names() -> None:
    edit = Edit(op="append", content="Round to 12345 digits, as in sorting.")
    assert names_one(edit, ["12345", "sorting", "a1"]) == ""
