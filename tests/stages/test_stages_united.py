"""Edits that say the same are one edit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stages_doubles import append

from etude.records import Edit
from etude.stages.shared.united import unite

STATEMENTS = ("Sort by date.", "Round to cents.", "Name the unit.")


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
