"""The `learned` block: the only part of a document that has one which anything may edit."""

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.published.update_modes.rewriting import FullRewrite, RewriteFromSuggestions, rewritten
from etude.records import AppliedEdit, Edit, Skill
from etude.records.edits import EditOp
from etude.skill import Document, apply_edit, apply_edits
from etude.skill.diff import unified_diff
from etude.skill.fences import closed, left_open
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from rows import rows

BEGIN, END = "<!-- etude:begin learned -->", "<!-- etude:end learned -->"
FRONT = "---\nname: sums\ndescription: Adds numbers.\n---\n"
ABOVE = f"{FRONT}# Sums\n\n\n\n- Check the units.\n\n```sh\nmake\n\n\n\nmake test\n```\n\n"
REGION = "<!-- etude:begin g -->\n- Guard this.\n<!-- etude:end g -->\n"
BELOW = f"\n{REGION}\n\n\nLast words."


def document(inside: str, above: str = ABOVE, below: str = BELOW) -> str:
    return f"{above}{BEGIN}\n{inside}{END}\n{below}"


TEXT = document("- Show the steps.\n- Round to cents.\n")


def edit(op: EditOp, target: str = "", content: str = "") -> Edit:
    return Edit(op=op, target=target, content=content)


def done(text: str, change: Edit) -> str:
    result, applied = apply_edit(text, change)
    assert applied.fate == "applied", applied.detail
    return result


def refused(text: str, change: Edit) -> AppliedEdit:
    result, applied = apply_edit(text, change)
    assert applied.fate != "applied"
    assert result == text
    return applied


def around(text: str) -> tuple[str, str]:
    span = Document.parse(text).learned_span
    assert span is not None
    return text[: span[0]], text[span[1] :]


# the document


def test_only_the_inside_of_the_block_is_editable() -> None:
    parsed = Document.parse(TEXT)
    assert [TEXT[start:stop] for start, stop in parsed.editable_spans] == ["- Show the steps.\n- Round to cents.\n"]
    assert parsed.learned == "- Show the steps.\n- Round to cents."


def test_nothing_is_editable_in_an_empty_block() -> None:
    parsed = Document.parse(document(""))
    assert parsed.editable_spans == ()
    assert parsed.learned == ""


def test_a_document_without_the_block_says_so_and_is_editable_as_before() -> None:
    parsed = Document.parse(f"# A\n\n{REGION}tail\n")
    assert (parsed.learned, parsed.learned_span) == (None, None)
    assert [parsed.text[start:stop] for start, stop in parsed.editable_spans] == ["# A\n\n", "tail\n"]


@rows(
    ("text", "expected"),
    [
        ("", f"{BEGIN}\n- a\n{END}\n"),
        ("x", f"x\n\n{BEGIN}\n- a\n{END}\n"),
        ("x\n\n", f"x\n\n{BEGIN}\n- a\n{END}\n"),
        ("x\r\n", f"x\r\n\r\n{BEGIN}\r\n- a\r\n{END}\r\n"),
        (ABOVE, f"{ABOVE}{BEGIN}\n- a\n{END}\n"),
        (document("- b\n"), document("- a\n")),
    ],
)
def test_a_block_is_added_at_the_end_or_filled_where_it_is(text: str, expected: str) -> None:
    assert Document.parse(text).with_learned("\n- a\n\n").render() == expected


def test_an_empty_block_can_be_added_and_a_block_emptied() -> None:
    assert Document.parse("x\n").with_learned(" \n").render() == f"x\n\n{BEGIN}\n{END}\n"
    assert Document.parse(TEXT).with_learned("").render() == document("")


def test_a_block_that_reads_like_this_already_is_left_as_it_is() -> None:
    parsed = Document.parse(TEXT)
    assert parsed.with_learned("- Show the steps.\n- Round to cents.") is parsed


def test_nothing_put_in_the_block_can_close_it_or_leave_code_open() -> None:
    text = Document.parse("x\n").with_learned(f"- a\n{END}\n- b\n```sh\nmake").render()
    assert text == f"x\n\n{BEGIN}\n- a\n<!-- etude end learned -->\n- b\n```sh\nmake\n```\n{END}\n"


@given(st.text("ab -`#\n\r", max_size=40), st.text("ab -`\n", max_size=20))
def test_adding_a_block_keeps_every_byte_before_it(text: str, content: str) -> None:
    if text.startswith("---"):
        return
    added = Document.parse(text).with_learned(content)
    assert added.render().startswith(text)
    assert added.without_region("learned").render().rstrip() == text.rstrip()


# edits


def test_append_adds_at_the_end_of_the_block_and_not_of_the_document() -> None:
    assert done(TEXT, edit("append", content="- Name the sum.")) == document(
        "- Show the steps.\n- Round to cents.\n- Name the sum.\n"
    )


@pytest.mark.parametrize("inside", ["", "\n", "  \n\n"])
def test_append_fills_an_empty_block(inside: str) -> None:
    assert done(document(inside), edit("append", content="\n- a\n")) == document("- a\n")


@rows(
    ("inside", "content", "expected"),
    [
        ("- a\n\n\n", "- b", "- a\n- b\n\n\n"),
        ("Prose.\n", "- b", "Prose.\n\n- b\n"),
        ("- a\n", "Prose.", "- a\n\nProse.\n"),
        ("- a\n  more\n", "- b\n  c", "- a\n  more\n- b\n  c\n"),
    ],
)
def test_append_keeps_lists_together_and_other_blocks_apart(inside: str, content: str, expected: str) -> None:
    assert done(document(inside), edit("append", content=content)) == document(expected)


def test_added_lines_end_like_those_of_the_block() -> None:
    text = f"# A\n\n{BEGIN}\r\n- a\r\n{END}\r\n"
    assert done(text, edit("append", content="- b\n  c")) == f"# A\n\n{BEGIN}\r\n- a\r\n- b\r\n  c\r\n{END}\r\n"


def test_what_stands_outside_of_the_block_already_is_not_added_to_it() -> None:
    assert refused(TEXT, edit("append", content="Check the units.")).fate == "no_change"


def test_a_line_is_added_below_the_last_one_of_the_block() -> None:
    assert done(TEXT, edit("insert_after", "- Round to cents.", "- Name the sum.")) == document(
        "- Show the steps.\n- Round to cents.\n- Name the sum.\n"
    )


@pytest.mark.parametrize(
    ("op", "target"),
    [
        *(("delete", target) for target in ("- Check the units.", "Guard  this.", "name: sums", "Last words.")),
        *(("replace", target) for target in ("- Check the units.", BEGIN, END, f"cents.\n{END}")),
        ("insert_after", "- Check the units."),
    ],
)
def test_an_anchor_outside_of_the_block_is_protected(op: EditOp, target: str) -> None:
    applied = refused(TEXT, edit(op, target, "" if op == "delete" else "- New."))
    assert applied.fate == "protected"
    assert "learned block" in applied.detail


def test_an_anchor_that_is_nowhere_is_missed() -> None:
    assert refused(TEXT, edit("delete", "- Multiply all columns.")).fate == "missed"


def test_an_anchor_that_stands_inside_and_outside_means_the_one_inside() -> None:
    text = document("- Check  the units.\n", below="- Check the units.\n")
    assert done(text, edit("replace", "- Check the units.", "- Skip.")) == document(
        "- Skip.\n", below="- Check the units.\n"
    )


def test_a_near_match_outside_does_not_make_one_inside_ambiguous() -> None:
    text = document("- Always show every step of the sum.\n", below="- Always show every step of the sums.\n")
    changed = done(text, edit("replace", "- Always show every steps of the sum.", "- Show it."))
    assert changed == document("- Show it.\n", below="- Always show every step of the sums.\n")


@rows(
    ("inside", "target", "expected"),
    [
        ("- a rule\n", "- a rule", ""),
        ("- a rule\n- b\n", "- a rule", "- b\n"),
        ("- a rule\n\n- b\n", "- a rule", "- b\n"),
        ("- b\n\n- a rule\n", "- a rule", "- b\n"),
        ("- b\n\n- a rule\n\n- c\n", "- a rule", "- b\n\n- c\n"),
        ("- b\n- a rule\n", "a rule", "- b\n"),
    ],
)
def test_a_deleted_rule_leaves_no_blank_lines_at_the_edges_of_the_block(
    inside: str, target: str, expected: str
) -> None:
    assert done(document(inside), edit("delete", target)) == document(expected)


@pytest.mark.parametrize(
    ("op", "content"),
    [("append", BEGIN), ("insert_after", f"- a\n{END}\n- b"), ("replace", "<!-- Etude: end learned -->")],
)
def test_content_with_a_marker_is_refused(op: EditOp, content: str) -> None:
    assert refused(TEXT, edit(op, "- Round to cents.", content)).fate == "protected"


@pytest.mark.parametrize("content", ["```sh\nmake all", "- a\n  ~~~\n  b", "1. > ````\n```"])
def test_code_that_would_swallow_the_text_below_the_block_is_refused(content: str) -> None:
    applied = refused(TEXT, edit("append", content=content))
    assert (applied.fate, "fenced code" in applied.detail) == ("protected", True)


def test_code_that_ends_is_a_rule_like_any_other() -> None:
    assert done(TEXT, edit("append", content="```sh\nmake\n```")).endswith(f"\n\n```sh\nmake\n```\n{END}\n{BELOW}")


LINES = st.lists(st.sampled_from(["- a", "- b rule", "  more", "", "Prose.", "```", BEGIN, "x  y"]), max_size=6)
EDITS = st.builds(
    Edit,
    op=st.sampled_from(["append", "insert_after", "replace", "delete"]),
    target=st.sampled_from(
        ["- a", "- b rule", "more", "Prose.", "x y", "# Sums", END, "- Check the units.", "a\n- b"]
    ),
    content=LINES.map("\n".join),
)


@settings(max_examples=100)
@given(LINES, st.lists(EDITS, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]))
def test_no_edit_changes_a_byte_outside_of_the_block(inside: list[str], edits: list[Edit], line_end: str) -> None:
    lines = "".join(line + "\n" for line in inside if line != BEGIN)
    text = document(lines).replace("\n", line_end)
    changed, applied = apply_edits(text, edits)
    assert around(changed) == around(text)
    assert (changed == text) or any(one.fate == "applied" for one in applied)


# whole new texts


def rewrite(text: str, new: str) -> str:
    return Document.parse(text).with_editable(new).render()


@rows(
    "new",
    [
        "- New.",
        f"# Other words\n\n{BEGIN}\n- New.\n{END}\n\nAnd more.",
        document("- New.\n"),
        ABOVE + "- New.\n",
        f"{ABOVE}{BEGIN}\n{END}\n\n- New.",
        f"# Sums\n- Check the units.\n```sh\nmake\nmake test\n```\n- New.\n{REGION}Last words.",
        f"\ufeff{FRONT}- New.",
    ],
)
def test_a_whole_new_text_replaces_the_inside_and_nothing_else(new: str) -> None:
    assert rewrite(TEXT, new) == document("- New.\n")


def test_a_second_pair_of_markers_counts_as_text_without_its_insides() -> None:
    new = f"- New.\n{BEGIN}\n- a\n{END}\n{BEGIN}\n- b\n{END}\n"
    assert rewrite(TEXT, new) == document("- New.\n")


def test_marker_like_text_in_a_rewrite_is_made_harmless_and_open_code_closed() -> None:
    new = f"{BEGIN}\n- see etude:end learned\n~~~\nmake\n{END}"
    assert rewrite(TEXT, new) == document("- see etude end learned\n~~~\nmake\n~~~\n")


def test_a_rewrite_that_says_the_same_changes_nothing() -> None:
    parsed = Document.parse(TEXT)
    assert parsed.with_editable("- Show the steps.  \n\n- Round to cents.") is parsed
    assert parsed.with_editable(TEXT) is parsed


def test_a_rewrite_of_nothing_but_copies_empties_the_block() -> None:
    assert rewrite(TEXT, document("")) == document("")
    assert rewritten(Skill(text=TEXT), "") is None


@settings(max_examples=100)
@given(LINES, LINES.map("\n".join), st.sampled_from(["\n", "\r\n"]))
def test_no_rewrite_changes_a_byte_outside_of_the_block(inside: list[str], new: str, line_end: str) -> None:
    text = document("".join(line + "\n" for line in inside if line != BEGIN)).replace("\n", line_end)
    changed = rewrite(text, new)
    assert around(changed) == around(text)
    assert rewrite(changed, changed) == changed


# the parts of a run that work on documents


async def test_a_full_rewrite_makes_a_candidate_with_another_block() -> None:
    made = Edit(op="rewrite", content=document("- New.\n"), cites=("a",))
    candidate = await FullRewrite().apply(cast(Optimizer, None), Skill(text=TEXT), [made])
    assert candidate.skill.text == document("- New.\n")
    assert [one.fate for one in candidate.edits] == ["applied"]


class Writer:
    """An optimizer that writes the document anew."""

    def __init__(self, document: str) -> None:
        self.document = document

    async def ask(self, prompt: str, sections: list[str], form: type[ReplyForm]) -> ReplyForm:
        assert (prompt, len(sections)) == ("rewrite", 2)
        return form.model_validate({"reasoning": "", "document": self.document, "left_out": [1]})


async def test_suggestions_are_carried_out_in_the_block_and_nowhere_else() -> None:
    writer = cast(Optimizer, Writer(f"# Reworded\n\n{BEGIN}\n- New.\n{END}\n"))
    suggested = [Edit(op="clarify", content="Say it anew."), Edit(op="compress", content="Shorten the top.")]
    candidate = await RewriteFromSuggestions().apply(writer, Skill(text=TEXT), suggested)
    assert candidate.skill.text == document("- New.\n")
    assert [one.fate for one in candidate.edits] == ["applied", "no_change"]


def test_a_diff_of_two_nights_shows_the_block_only() -> None:
    diff = unified_diff(TEXT, done(TEXT, edit("append", content="- Name the sum.")), "before", "after")
    assert [line for line in diff.splitlines() if line.startswith(("+", "-"))][2:] == ["+- Name the sum."]


def test_other_regions_beside_the_block_can_still_be_kept_by_the_program() -> None:
    changed = Document.parse(TEXT).with_region("g", "- Guard that.").render()
    assert changed == TEXT.replace("Guard this", "Guard that")


# fences


@rows(
    ("text", "line"),
    [
        ("a", ""),
        ("```\na\n```", ""),
        ("```\na\n````", ""),
        ("````\na\n```", "````"),
        ("~~~ sh\n```\n", "~~~"),
        ("- ```py\n  a", "  ```"),
        ("- ```py\n  a\n  ```", ""),
        ("`` ` ``\n```a`b", ""),
        ("> ```\n> a\n> ```", ""),
    ],
)
def test_code_that_is_left_open_is_known_by_the_line_that_closes_it(text: str, line: str) -> None:
    assert left_open(text) == line
    assert left_open(closed(text)) == ""
