"""What says the same is one edit, one statement is one edit, and none names a task."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stages_doubles import append

from etude.records import Edit
from etude.skill import apply_edits
from etude.stages.shared.statements import names_one, single_statements, unite

STATEMENTS = ("Sort by date.", "Round to cents.", "Name the unit.")


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


@pytest.mark.parametrize(
    "other",
    [
        append("Keep the first 30 rows of the table that the task names."),
        append("Keep the first row."),
        append("Of the table that the task names keep the first 20 rows."),
        Edit(
            op="insert_after", target="Be exact.", content="Keep the first 20 rows of the table that the task names."
        ),
    ],
)
def test_other_numbers_words_orders_or_places_are_other_statements(other: Edit) -> None:
    assert len(unite([append("Keep the first 20 rows of the table that the task names."), other])) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "When a table has several date columns, use the first one as the key of the result.",
            "When a table has several date columns, do not use the first one as the key of the result.",
        ),
        (
            "Sort the rows of the table in ascending order by the date column.",
            "Sort the rows of the table in descending order by the date column.",
        ),
        ("List the names of all columns before the total.", "List the names of all columns below the total."),
    ],
)
def test_statements_that_contradict_each_other_in_one_word_stay_apart(one: str, other: str) -> None:
    assert len(unite([append(one, "a"), append(other, "b")])) == 2


@given(st.lists(st.tuples(st.sampled_from(STATEMENTS), st.sets(st.sampled_from("abc"))), max_size=8))
def test_uniting_loses_no_citation_and_uniting_again_changes_nothing(rows: list[tuple[str, set[str]]]) -> None:
    united = unite([append(content, *sorted(cites)) for content, cites in rows])
    assert {edit.content for edit in united} == {content for content, _ in rows}
    for edit in united:
        assert set(edit.cites) == set().union(*(cites for content, cites in rows if content == edit.content))
    assert unite(united) == united
