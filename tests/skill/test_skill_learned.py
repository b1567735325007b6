"""The `learned` block: the only part of a document that has one which anything may edit."""

from hypothesis import given, settings
from hypothesis import strategies as st

from etude.published.update_modes.rewriting import rewritten
from etude.records import Edit, Skill
from etude.records.edits import EditOp
from etude.skill import Document, apply_edit, apply_edits
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


def around(text: str) -> tuple[str, str]:
    span = Document.parse(text).learned_span
    assert span is not None
    return text[: span[0]], text[span[1] :]


# the document


def test_an_empty_block_can_be_added_and_a_block_emptied() -> None:
    assert Document.parse("x\n").with_learned(" \n").text == f"x\n\n{BEGIN}\n{END}\n"
    assert Document.parse(TEXT).with_learned("").text == document("")


@given(st.text("ab -`#\n\r", max_size=40), st.text("ab -`\n", max_size=20))
def test_adding_a_block_keeps_every_byte_before_it(text: str, content: str) -> None:
    if text.startswith("---"):
        return
    added = Document.parse(text).with_learned(content)
    assert added.text.startswith(text)
    assert added.without_region("learned").text.rstrip() == text.rstrip()


# edits


OUTSIDE = ("- Check the units.", "Guard  this.", "name: sums", "Last words.")
SWALLOWING = ("```sh\nmake all", "- a\n  ~~~\n  b", "1. > ````\n```")


@rows(
    ("change", "why"),
    [
        *((edit("delete", one), "learned block") for one in OUTSIDE),
        *((edit("replace", one), "learned block") for one in ("- Check the units.", BEGIN, END, f"cents.\n{END}")),
        (edit("insert_after", "- Check the units.", "- New."), "learned block"),
        (edit("append", "", BEGIN), "marker"),
        (edit("insert_after", "- Round to cents.", f"- a\n{END}\n- b"), "marker"),
        (edit("replace", "- Round to cents.", "<!-- Etude: end learned -->"), "marker"),
        *((edit("append", "", one), "fenced code") for one in SWALLOWING),
    ],
)
def test_what_is_outside_of_the_block_is_protected_and_nothing_reaches_out_of_it(change: Edit, why: str) -> None:
    result, applied = apply_edit(TEXT, change)
    assert (result, applied.fate, why in applied.detail) == (TEXT, "protected", True)


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
    return Document.parse(text).with_editable(new).text


@rows(
    ("new", "inside"),
    [
        (document("- New.\n"), "- New.\n"),
        (f"# Reworded\n\n{BEGIN}\n- New.\n{END}\n", "- New.\n"),
        ("- New.\n", "- New.\n"),
        (f"{ABOVE}- New.\n{BELOW}", "- New.\n"),  # copies of what stands around the block are left out
        (document(""), ""),
    ],
)
def test_a_rewrite_changes_the_inside_of_the_block(new: str, inside: str) -> None:
    assert rewrite(TEXT, new) == document(inside)
    found = rewritten(Skill(text=TEXT), new)
    assert found == (Skill(text=document(inside)) if inside else None)
    assert rewritten(Skill(text=TEXT), "") is None


@settings(max_examples=100)
@given(LINES, LINES.map("\n".join), st.sampled_from(["\n", "\r\n"]))
def test_no_rewrite_changes_a_byte_outside_of_the_block(inside: list[str], new: str, line_end: str) -> None:
    text = document("".join(line + "\n" for line in inside if line != BEGIN)).replace("\n", line_end)
    changed = rewrite(text, new)
    assert around(changed) == around(text)
    assert rewrite(changed, changed) == changed


def test_other_regions_beside_the_block_can_still_be_kept_by_the_program() -> None:
    changed = Document.parse(TEXT).with_region("g", "- Guard that.").text
    assert changed == TEXT.replace("Guard this", "Guard that")
