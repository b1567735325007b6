"""Rules as records: read from a block, written back byte for byte, known again the next night."""

from hypothesis import given, settings
from hypothesis import strategies as st

from etude.skill import Document
from etude.sleep.adoption.rules import Evidence, Rule, active, render, revised, said, without
from rows import rows

BLOCK = """\
- --no-verify is banned
- Run the tests:
  first the fast ones,

  - then the slow ones
  ```sh
  make test

  - not a rule
  ```
1. Count.

Prose over
two lines.

## A heading
* Below it.
"""
TEXTS = [
    "- --no-verify is banned",
    """- Run the tests:
  first the fast ones,

  - then the slow ones
  ```sh
  make test

  - not a rule
  ```""",
    "1. Count.",
    "Prose over\ntwo lines.",
    "## A heading",
    "* Below it.",
]


def read(block: str) -> tuple[Rule, ...]:
    """Rules as if written by hand."""
    return revised((), block, "")


def texts(block: str) -> list[str]:
    return [rule.text for rule in read(block)]


def test_a_rule_is_an_item_with_all_that_belongs_to_it_or_a_paragraph() -> None:
    assert texts(BLOCK) == TEXTS
    assert render(read(BLOCK)) == BLOCK


@rows(
    ("block", "expected"),
    [
        ("", []),
        ("\n  \n", []),
        ("\n\n- a\n\n\n- b\n\n", ["- a", "- b"]),
        ("- a\nlazy\n- b\n", ["- a\nlazy", "- b"]),
        ("- a\n\npara\n- b\n", ["- a", "para", "- b"]),
        ("  - a\n    - nested\n  - b\n", ["  - a\n    - nested", "  - b"]),
        ("1. a\n   - n\n2. b\n", ["1. a\n   - n", "2. b"]),
        ("1. a\n\n  more\n", ["1. a\n\n  more"]),
        ("Run:\n```\n- x\n\n- y\n```\n- b\n", ["Run:\n```\n- x\n\n- y\n```", "- b"]),
        ("```\na\n\nb\n```\n\n- c\n", ["```\na\n\nb\n```", "- c"]),
        ("- a\r\n  more\r\n- b\r\n", ["- a\r\n  more", "- b"]),
        ("para\n     - far in\n", ["para\n     - far in"]),
        ("- a\n# H\ntext\n", ["- a", "# H", "text"]),
        ("- a", ["- a"]),
    ],
)
def test_where_rules_begin_and_end(block: str, expected: list[str]) -> None:
    assert texts(block) == expected
    assert render(read(block)) == (block.lstrip("\n") if expected else "")


PARTS = ["- a", "- --b", "  c", "\t- d", "", " ", "1. e", "para", "# H", "  ```", "```sh", "    f", "* g", "~~~"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=10), st.sampled_from(["\n", "\r\n", "\r"]))
def test_writing_what_was_read_changes_nothing_but_to_close_open_code(lines: list[str], line_end: str) -> None:
    block = "".join(line + line_end for line in lines)
    rules = read(block)
    written = render(rules)
    if rules:
        assert written.startswith(block[block.index(rules[0].text) :].rstrip("\r\n"))
    assert Document.parse("x\n").with_learned(block).learned is not None
    assert read(written) == read(render(read(written)))
    assert len({rule.id for rule in rules}) == len(rules)


def test_an_unchanged_rule_keeps_its_id_its_night_and_its_evidence() -> None:
    behind = Evidence(against="Do not a.")
    a, b = revised((), "- a\n- b\n", "n1")
    first = (a.model_copy(update={"evidence": behind}), b)
    second = revised(first, "- b  \n\n- c\n- a\n", "n2")
    assert [(rule.text, rule.night) for rule in second] == [("- b", "n1"), ("- c", "n2"), ("- a", "n1")]
    assert second[2].evidence == behind
    assert second[1].evidence == Evidence()
    assert [second[0].id, second[2].id] == [first[1].id, first[0].id]
    assert render(second) == "- b\n\n- c\n- a\n"
    by_hand = revised(second, "- b  \n\n- c\n- a\n", "")
    assert render(by_hand) == "- b  \n\n- c\n- a\n"


def test_a_changed_rule_is_a_new_one_and_the_old_one_is_retired() -> None:
    first = revised((), "- a\n", "n1")
    second = revised(first, "- a, always\n", "n2")
    assert [(rule.text, rule.status, rule.retired) for rule in second] == [
        ("- a, always", "active", ""),
        ("- a", "retired", "n2"),
    ]
    assert second[0].id != first[0].id
    third = revised(second, "- a\n", "n3")
    assert [(rule.text, rule.night, rule.status, rule.retired) for rule in third] == [
        ("- a", "n3", "active", ""),
        ("- a, always", "n2", "retired", "n3"),
        ("- a", "n1", "retired", "n2"),
    ]
    assert active(third) == third[:1]


def test_equal_texts_are_two_rules() -> None:
    first, second = read("- a\n- a\n")
    assert first.id != second.id
    assert [rule.id for rule in revised((first, second), "- a\n", "n")] == [first.id, second.id]


@rows(
    ("block", "gone", "expected"),
    [
        ("- a\n\nPara.\n", "Para.", "- a\n"),
        ("- a\n- b\n\n- c\n", "- b", "- a\n\n- c\n"),
        ("- a\n- b\n", "- a", "- b\n"),
        ("- a\n", "- a", ""),
        ("- a\n- b", "- b", "- a"),
    ],
)
def test_a_rule_taken_out_leaves_the_block_as_if_it_had_never_been_there(
    block: str, gone: str, expected: str
) -> None:
    rules = read(block)
    ids = [rule.id for rule in rules if rule.text == gone]
    after = without(rules, ids, "n2")
    assert render(after) == expected
    assert [rule.retired for rule in after if rule.status == "retired"] == ["n2"]
    assert without(after, ids) == after


def test_the_first_two_rules_can_go_together() -> None:
    rules = read("- a\n- b\n- c\n")
    assert render(without(rules, [rules[0].id, rules[1].id])) == "- c\n"


def test_no_rule_can_pass_for_a_marker_or_leave_code_open() -> None:
    rules = [
        Rule(id="1", text="- a\n<!-- etude:end learned -->\n- b"),
        Rule(id="2", text="see etude:begin within a line"),
        Rule(id="3", text="- c\n  ```sh\n  make"),
    ]
    block = render(rules)
    assert block == (
        "- a\n<!-- etude end learned -->\n- b\nsee etude:begin within a line\n- c\n  ```sh\n  make\n  ```\n"
    )


def test_line_ends_and_blanks_at_the_end_of_lines_say_nothing() -> None:
    assert said("- a \r\n  b\r\n\r\n") == "- a\n  b"


def test_rules_on_both_sides_of_one_that_is_taken_out_stay_two() -> None:
    rules = revised((), "One.\n# Between\nOther.\n", "n1")
    left = without(rules, [rules[1].id])
    assert [rule.text for rule in active(revised((), render(left), ""))] == ["One.", "Other."]
