import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.errors import SkillError
from etude.records import AppliedEdit, Edit
from etude.records.edits import EditOp
from etude.skill.document import Document
from etude.skill.edits import apply_edit, apply_edits
from rows import rows

BEGIN, END = "<!-- etude:begin g -->", "<!-- etude:end g -->"
TAIL = f"{BEGIN}\n- Guard this.\n{END}\n"
FRONT = "---\nname: sums\ndescription: Adds numbers.\n---\n"
BODY = "# Sums\n\nRead the question.\n\n- Check the units.\n- Show the steps.\n"


def edit(op: EditOp, target: str = "", content: str = "") -> Edit:
    return Edit(op=op, target=target, content=content)


def done(text: str, change: Edit) -> str:
    result, applied = apply_edit(text, change)
    assert applied.fate == "applied", applied.detail
    return result


def refused(text: str, change: Edit) -> AppliedEdit:
    result, applied = apply_edit(text, change)
    assert applied.fate != "applied"
    assert applied.detail
    assert result == text
    return applied


# append


@rows(
    ("text", "content", "expected"),
    [
        ("", "Rule.", "Rule.\n"),
        ("\ufeff", "Rule.", "\ufeffRule.\n"),
        ("\n\n", "Rule.", "\n\nRule."),
        ("   ", "Rule.", "   \nRule."),
        ("a", "b", "a\n\nb\n"),
        ("a\n", "b\n", "a\n\nb\n"),
        ("a\n\n\n", "\n\nb\n\n", "a\n\nb\n\n\n"),
        ("- a\n", "- b", "- a\n- b\n"),
        ("1. a\n", "2) b", "1. a\n2) b\n"),
        ("- a\n  more\n", "- b", "- a\n  more\n- b\n"),
        ("- a\n\n  more\n", "- b", "- a\n\n  more\n\n- b\n"),
        ("  indented\n", "- b", "  indented\n\n- b\n"),
        ("text\n", "- b", "text\n\n- b\n"),
        ("- a\n", "text", "- a\n\ntext\n"),
        ("a\r\n", "b\nc", "a\r\n\r\nb\r\nc\r\n"),
        (FRONT, "Rule.", FRONT + "Rule.\n"),
        (FRONT.rstrip(), "Rule.", FRONT + "Rule.\n"),
        (FRONT + "\n", "Rule.", FRONT + "\nRule."),
    ],
)
def test_append_adds_at_the_end(text: str, content: str, expected: str) -> None:
    assert done(text, edit("append", content=content)).rstrip("\n") == expected.rstrip("\n")
    assert done(text, edit("append", content=content)).endswith("\n")


@rows(
    ("head", "tail", "expected"),
    [
        ("a\n\n", TAIL, f"a\n\nb\n\n{TAIL}"),
        ("a\n", TAIL, f"a\n\nb\n\n{TAIL}"),
        ("", TAIL, f"b\n\n{TAIL}"),
        (FRONT, TAIL, f"{FRONT}b\n\n{TAIL}"),
        (
            "a\n\n",
            TAIL + "\n" + TAIL.replace(" g ", " h ") + "\n",
            f"a\n\nb\n\n{TAIL}\n{TAIL.replace(' g ', ' h ')}\n",
        ),
        (TAIL + "a\n\n", TAIL.replace(" g ", " h "), f"{TAIL}a\n\nb\n\n{TAIL.replace(' g ', ' h ')}"),
        ("\ufeff", TAIL, f"\ufeffb\n\n{TAIL}"),
    ],
)
def test_append_goes_before_the_regions_at_the_tail(head: str, tail: str, expected: str) -> None:
    assert done(head + tail, edit("append", content="b")) == expected


def test_append_goes_to_the_end_when_text_follows_the_last_region() -> None:
    assert done(TAIL + "a\n", edit("append", content="b")) == TAIL + "a\n\nb\n"


@pytest.mark.parametrize(("op", "content"), [("append", ""), ("append", " \n"), ("insert_after", "\n\n")])
def test_an_edit_without_content_changes_nothing(op: EditOp, content: str) -> None:
    assert refused(BODY, edit(op, "# Sums", content)).fate == "no_change"


@rows(
    "content",
    [
        "- Check the units.",
        "Check the  units.",
        "Read the question.",
        "- Guard this.",
        "- Check the units.\n- Show the steps.\n",
        "Carry on.",
    ],
)
def test_appending_what_already_stands_there_changes_nothing(content: str) -> None:
    text = BODY + "\nStart. Carry on. Stop.\n\n" + TAIL
    assert refused(text, edit("append", content=content)).fate == "no_change"


@rows("content", ["Check the", "units.", "Sums", "Adds numbers.", "- ", "-"])
def test_a_part_of_a_statement_does_not_count_as_standing_there(content: str) -> None:
    assert content.strip() in done(FRONT + BODY, edit("append", content=content)).splitlines()[-1]


# insert_after


@rows(
    ("anchor", "expected"),
    [
        ("# Sums", "# Sums\nnew\n\nRead the question.\n"),
        ("Sum", "# Sums\nnew\n\nRead the question.\n"),
        ("# Sums\n\nRead", "# Sums\n\nRead the question.\nnew\n"),
        ("# Sums\n", "# Sums\nnew\n\nRead the question.\n"),
    ],
)
def test_insert_after_adds_below_the_line_in_which_the_anchor_ends(anchor: str, expected: str) -> None:
    assert done(BODY, edit("insert_after", anchor, "new\n")).startswith(expected)


def test_insert_after_the_last_line_adds_the_missing_line_end() -> None:
    assert done("a\nb", edit("insert_after", "b", "c")) == "a\nb\nc"


def test_insert_after_keeps_the_line_ends_of_the_document() -> None:
    assert done("a\r\nb\r\n", edit("insert_after", "a", "x\ny")) == "a\r\nx\r\ny\r\nb\r\n"


def test_insert_after_the_last_line_before_a_region_stays_out_of_it() -> None:
    assert done("a\n" + TAIL, edit("insert_after", "a", "b")) == "a\nb\n" + TAIL


def test_inserting_what_already_stands_below_changes_nothing() -> None:
    assert refused("a\nb\n", edit("insert_after", "a", "b")).fate == "no_change"
    assert done("a\nbc\n", edit("insert_after", "a", "b")) == "a\nb\nbc\n"


# replace


@rows(
    ("text", "anchor", "content", "expected"),
    [
        (BODY, "the units", "all units", BODY.replace("the units", "all units")),
        (BODY, "- Check the units.\n", "- Check.\n- Twice.\n", BODY.replace("Check the units.", "Check.\n- Twice.")),
        ("- Be brief\n", "Be brief", "- Be clear", "- Be clear\n"),
        ("  - Be brief\n", "- Be brief", "  - Be clear", "  - Be clear\n"),
        ("  - Be brief\n", "- Be brief", "- Be clear", "  - Be clear\n"),
        ("- Be brief\n", "Be brief", "Be clear", "- Be clear\n"),
        ("a b c\n", "b", "x ", "a x  c\n"),
        ("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"),
    ],
)
def test_replace_puts_the_content_in_place_of_the_anchor(text: str, anchor: str, content: str, expected: str) -> None:
    assert done(text, edit("replace", anchor, content)) == expected


def test_replacing_a_text_by_itself_changes_nothing() -> None:
    assert refused(BODY, edit("replace", "# Sums", "# Sums")).fate == "no_change"


def test_replacing_by_nothing_deletes() -> None:
    assert done("a\n\nb\n\nc\n", edit("replace", "b", "\n")) == "a\n\nc\n"


# delete


@rows(
    ("text", "anchor", "expected"),
    [
        ("- a\n- b\n- c\n", "- b", "- a\n- c\n"),
        ("- a\n- b\n- c\n", "b", "- a\n- c\n"),
        ("1. a\n2. bb\n", "bb\n", "1. a\n"),
        ("## Head\n\ntext\n", "Head", "text\n"),
        ("a\n\nb\n\nc\n", "b", "a\n\nc\n"),
        ("a\n\nb\n", "b", "a\n"),
        ("a\n\nb\n", "a", "b\n"),
        ("\ufeffa\n\nb\n", "a", "\ufeffb\n"),
        ("a\nb\n\nc\n", "b", "a\n\nc\n"),
        ("a b c\n", "b", "a c\n"),
        ("a b\nc d\n", "b\nc", "a d\n"),
        ("ab\n", "b", "a\n"),
        ("a\n", "a", ""),
        (FRONT + "\na\n\nb\n", "a", FRONT + "\nb\n"),
        ("a\n\nb\n\n" + TAIL, "b", "a\n\n" + TAIL),
        (TAIL + "\na\n\nb\n", "a", TAIL + "\nb\n"),
    ],
)
def test_delete_removes_the_anchor_and_the_empty_line_it_leaves(text: str, anchor: str, expected: str) -> None:
    assert done(text, edit("delete", anchor, "ignored")) == expected


# anchors


@pytest.mark.parametrize(
    ("op", "anchor"),
    [
        ("insert_after", ""),
        ("replace", " \n"),
        *((op, "Nothing like this stands anywhere in the text.") for op in ("insert_after", "replace", "delete")),
    ],
)
def test_an_edit_without_a_known_anchor_is_missed(op: EditOp, anchor: str) -> None:
    assert refused(BODY, edit(op, anchor, "new")).fate == "missed"


@pytest.mark.parametrize("op", ["insert_after", "replace", "delete"])
def test_an_anchor_that_occurs_twice_is_missed_as_ambiguous(op: EditOp) -> None:
    applied = refused("one rule\ntwo rules\n", edit(op, "rule", "new"))
    assert applied.fate == "missed"
    assert "ambiguous: it occurs 2 times" in applied.detail


def test_the_same_line_twice_is_ambiguous() -> None:
    assert "ambiguous" in refused("- a\n- b\n- a\n", edit("delete", "- a")).detail


def test_an_anchor_that_fills_just_one_line_means_that_line() -> None:
    assert done("- Be brief and kind\n- Be brief\n", edit("delete", "- Be brief")) == "- Be brief and kind\n"


def test_overlapping_occurrences_are_counted() -> None:
    assert "2 times" in refused("xaaay\n", edit("delete", "aa")).detail


def test_white_space_in_the_anchor_may_differ() -> None:
    text, applied = apply_edit("a\nCheck  the\nunits.\n", edit("replace", "Check the units.", "Check."))
    assert (text, applied.fate) == ("a\nCheck.\n", "applied")
    assert applied.detail == "anchor found by other white space"


def test_an_anchor_with_other_line_ends_is_found() -> None:
    assert done("a\r\nb\r\nc\r\n", edit("delete", "a\nb")) == "c\r\n"


def test_white_space_that_fits_twice_is_ambiguous() -> None:
    assert "ambiguous" in refused("x a  b\ny a  b\n", edit("delete", "a b")).detail


@rows(
    ("anchor", "line"),
    [
        ("- Allways check the units of the answer", "- Always check the units of the answer."),
        ("Allways check the units of the answer", "- Always check the units of the answer."),
        ("ALWAYS check the units of the answer", "- Always check the units of the answer."),
        (
            "- Always chek the units of the answer.\n- Then look again.",
            "- Always check the units of the answer.\n\n- Then look again.",
        ),
    ],
)
def test_a_unique_near_match_on_lines_is_found(anchor: str, line: str) -> None:
    text = f"# Sums\n\n{line}\n- Show your steps before the result.\n"
    result, applied = apply_edit(text, edit("insert_after", anchor, "- new"))
    assert result == text.replace(line, f"{line}\n- new")
    assert "near match" in applied.detail


def test_a_near_match_keeps_the_list_mark_that_the_anchor_lacks() -> None:
    text = "- Always check the units of the answer.\n"
    assert done(text, edit("replace", "Allways check the units of the answer.", "Check units.")) == "- Check units.\n"


def test_two_lines_that_come_near_are_ambiguous() -> None:
    text = "- Check the units of rule A here\n- Check the units of rule B here\n"
    applied = refused(text, edit("delete", "- Check the units of rule C here"))
    assert (applied.fate, "ambiguous" in applied.detail) == ("missed", True)


@pytest.mark.parametrize(
    ("line", "anchor"),
    [
        ("Round the final result to 3 decimals.", "Round the final result to 2 decimals."),
        ("Always round the final result and do show it.", "Always round the final result and don't show it."),
    ],
)
def test_a_line_that_says_something_else_is_no_near_match(line: str, anchor: str) -> None:
    applied = refused(line + "\n", edit("delete", anchor))
    assert (applied.fate, "figure or a negation" in applied.detail) == ("missed", True)


# protection


@pytest.mark.parametrize("op", ["insert_after", "replace", "delete"])
def test_an_anchor_in_a_protected_part_is_refused_by_every_operation(op: EditOp) -> None:
    assert refused(FRONT + BODY + TAIL, edit(op, "Guard this.", "new")).fate == "protected"


@pytest.mark.parametrize(
    "anchor",
    [
        "- Guard  this.",
        "- Gard this. ",
        BEGIN,
        END,
        "steps.\n" + BEGIN,
        f"Guard this.\n{END}",
        f"steps. {BEGIN}",
        "name: sums",
        "description: Adds",
        "name:  sums",
        "---\n# Sums",
        "name: sums\ndescription: Ads numbers.",
    ],
)
def test_an_anchor_in_or_across_a_protected_part_is_refused(anchor: str) -> None:
    assert refused(FRONT + BODY + TAIL, edit("replace", anchor, "new")).fate == "protected"


def test_an_anchor_that_also_stands_in_a_region_means_the_editable_text() -> None:
    assert done("- Guard this.\n\n" + TAIL, edit("replace", "Guard this", "Mind this")) == "- Mind this.\n\n" + TAIL


@pytest.mark.parametrize(
    ("op", "content"),
    [
        ("append", BEGIN),
        ("insert_after", BEGIN),
        ("replace", BEGIN),
        ("append", f"a\n{END}\nb"),
        ("append", "<!-- ETUDE:END g -->"),
        ("append", "<!--etude:begin x-->"),
        ("append", "<!-- etude : end g"),
        ("append", "etude:begin"),
    ],
)
def test_content_like_a_region_marker_is_refused(op: EditOp, content: str) -> None:
    applied = refused(BODY + TAIL, edit(op, "# Sums", content))
    assert (applied.fate, applied.detail) == ("protected", "the content holds a region marker")


@rows(
    ("text", "change"),
    [
        ("", edit("append", content="---\nname: x\n---\n")),
        ("", edit("append", content="---")),
        ("\ufeff", edit("append", content="---\nname: x\n---\n")),
        ("", edit("append", content="\ufeff---\nname: x\n---\n")),
        ("a\nb\n---\n", edit("replace", "a\nb", "---\nname: x")),
        ("a\n---\nname: x\n---\n", edit("delete", "a")),
        ("see <!-- etude:begin x -->\n", edit("delete", "see")),
        ("<!-- etude-begin x -->\n", edit("replace", "etude-", "etude:")),
    ],
)
def test_an_edit_cannot_make_front_matter_or_a_region(text: str, change: Edit) -> None:
    assert refused(text, change).fate == "protected"


def test_a_marker_cannot_be_put_together_from_several_edits() -> None:
    text, applied = apply_edits(
        "text\n",
        [
            edit("append", content="<!-- etude"),
            edit("replace", "<!-- etude", "<!-- etude:b"),
            edit("replace", ":b", ":begin g -->"),
        ],
    )
    assert [one.fate for one in applied] == ["applied", "applied", "protected"]
    assert text == "text\n\n<!-- etude:b\n"


def test_a_fence_inside_the_body_is_no_front_matter() -> None:
    text = FRONT + BODY
    result = done(text, edit("append", content="---\nname: other\n---"))
    assert Document.parse(result).front_matter == FRONT


# several edits


def test_edits_apply_one_after_the_other() -> None:
    text, applied = apply_edits(
        "- a\n",
        [edit("append", content="- b"), edit("replace", "- b", "- c"), edit("delete", "- b"), edit("delete", "- a")],
    )
    assert text == "- c\n"
    assert [one.fate for one in applied] == ["applied", "applied", "missed", "applied"]


def test_a_document_that_cannot_be_read_is_an_error_even_without_edits() -> None:
    with pytest.raises(SkillError, match="is not closed"):
        apply_edits(BEGIN, [])


WORDS = [
    "Check the units.",
    "Show the steps.",
    "Be brief",
    "- ",
    "  ",
    "# Sums",
    "1. ",
    "rule 2",
    "\n",
    "\n\n",
    "\r\n",
    "---",
]
MARKS = [BEGIN, END, "<!-- etude:begin h -->", "<!-- etude", ":begin g -->", "<!--", "-->", "etude:", "\ufeff"]
PROSE = st.lists(st.sampled_from(WORDS), max_size=8).map("".join)


@st.composite
def documents(draw: st.DrawFn) -> str:
    parts = [draw(st.sampled_from(["", "", FRONT, "\ufeff" + FRONT, FRONT.rstrip("\n") + "\r\n", "\ufeff"]))]
    for name in draw(st.lists(st.sampled_from(["g", "h", "k"]), unique=True, max_size=2)):
        line_end = draw(st.sampled_from(["\n", "\r\n"]))
        parts.append(draw(PROSE) + "\n" if draw(st.booleans()) else "")
        inner = draw(st.sampled_from(["", "- Guard this.", "Check the units.\n\nShow the steps."]))
        parts.append(f"<!-- etude:begin {name} -->{line_end}{inner}\n<!-- etude:end {name} -->\n")
    parts.append(draw(PROSE))
    return "".join(parts)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    text = draw(documents())

    def piece() -> str:
        start = draw(st.integers(0, len(text)))
        return text[start : start + draw(st.integers(0, 60))]

    def words() -> str:
        chosen = draw(st.lists(st.sampled_from([*WORDS, *MARKS]), max_size=4))
        return "".join([*chosen, piece() if draw(st.booleans()) else ""])

    ops: list[EditOp] = ["append", "insert_after", "replace", "delete"]
    edits = [
        edit(draw(st.sampled_from(ops)), piece() if draw(st.integers(0, 3)) else words(), words())
        for _ in range(draw(st.integers(1, 4)))
    ]
    return text, edits


@given(cases())
@settings(max_examples=100, deadline=None)
def test_no_edit_reaches_spans_or_forges_a_region_or_the_front_matter(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    try:
        before = Document.parse(text)
    except SkillError:
        return
    result, applied = apply_edits(text, edits)
    after = Document.parse(result)
    assert after.front_matter.rstrip("\r\n") == before.front_matter.rstrip("\r\n")
    assert after.meta == before.meta
    assert [(region.name, region.content) for region in after.regions] == [
        (region.name, region.content) for region in before.regions
    ]
    assert [one.edit for one in applied] == edits
    assert apply_edits(text, edits) == (result, applied)


@given(cases())
@settings(max_examples=100, deadline=None)
def test_only_an_applied_edit_changes_the_text(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    try:
        Document.parse(text)
    except SkillError:
        return
    for change in edits:
        result, applied = apply_edit(text, change)
        assert (result != text) == (applied.fate == "applied")
        assert applied.fate == "applied" or applied.detail
        text = result
