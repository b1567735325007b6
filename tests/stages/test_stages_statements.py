"""One statement is one edit, and none carries a task's own text."""

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from etude.records import Edit, Task
from etude.skill import apply_edits
from etude.stages.shared.statements import carries, own_runs, single_statements


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


TASKS = [
    Task(id="train-0017", input="Sort these words in the order of the alphabet please: brave echo lamp ink"),
    Task(id="train-0018", input="Sort these words in the order of the alphabet please: zebra apple tin can"),
]


def test_an_edit_that_copies_a_task_is_found_out() -> None:
    edit = Edit(op="append", content="For 'order of the alphabet please: brave echo lamp ink' answer brave.")
    assert carries(edit, own_runs(TASKS), []) == "it copies 'order of the alphabet please brave echo lamp'"


def test_wording_that_all_tasks_share_is_no_copy() -> None:
    edit = Edit(op="append", content="When asked to sort these words in the order of the alphabet please, do.")
    assert carries(edit, own_runs(TASKS), []) == ""


def test_an_edit_that_names_a_task_or_an_attempt_is_found_out() -> None:
    edit = Edit(op="append", content="In train-0017 the answer is brave.")
    assert carries(edit, own_runs(TASKS), ["train-0017"]) == "it names 'train-0017'"


def test_numbers_and_words_are_no_telling_names() -> None:
    edit = Edit(op="append", content="Round to 12345 digits, as in sorting.")
    assert carries(edit, own_runs(TASKS), ["12345", "sorting", "a1"]) == ""
