import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.errors import SkillError
from etude.records import Edit, EditFate
from etude.records.edits import EditOp
from etude.skill.document import Document
from etude.skill.edits import apply_edit, apply_edits
from rows import rows

BEGIN, END = "<!-- etude:begin g -->", "<!-- etude:end g -->"
TAIL = f"{BEGIN}\n- Guard this.\n{END}\n"
OTHER = TAIL.replace(" g ", " h ")
FRONT = "---\nname: sums\ndescription: Adds numbers.\n---\n"
BODY = "# Sums\n\nRead the question.\n\n- Check the units.\n- Show the steps.\n"
WHOLE = FRONT + BODY + TAIL
UNITS = "- Always check the units of the answer.\n"
OPS: tuple[EditOp, ...] = ("insert_after", "replace", "delete")


def edit(op: EditOp, target: str = "", content: str = "") -> Edit:
    return Edit(op=op, target=target, content=content)


def append(content: str) -> Edit:
    return edit("append", "", content)


def after(target: str, content: str) -> Edit:
    return edit("insert_after", target, content)


def replace(target: str, content: str) -> Edit:
    return edit("replace", target, content)


def delete(target: str) -> Edit:
    return edit("delete", target)


@rows(
    ("text", "change", "expected"),
    [
        # It is added at the end.
        ("", append("Rule."), "Rule.\n"),
        ("\ufeff", append("Rule."), "\ufeffRule.\n"),
        ("\n\n", append("Rule."), "\n\nRule.\n"),
        ("   ", append("Rule."), "   \nRule.\n"),
        ("a", append("b"), "a\n\nb\n"),
        ("a\n", append("b\n"), "a\n\nb\n"),
        ("a\n\n\n", append("\n\nb\n\n"), "a\n\nb\n\n\n"),
        ("- a\n", append("- b"), "- a\n- b\n"),
        ("1. a\n", append("2) b"), "1. a\n2) b\n"),
        ("- a\n  more\n", append("- b"), "- a\n  more\n- b\n"),
        ("- a\n\n  more\n", append("- b"), "- a\n\n  more\n\n- b\n"),
        ("  indented\n", append("- b"), "  indented\n\n- b\n"),
        ("text\n", append("- b"), "text\n\n- b\n"),
        ("- a\n", append("text"), "- a\n\ntext\n"),
        ("a\r\n", append("b\nc"), "a\r\n\r\nb\r\nc\r\n"),
        (FRONT, append("Rule."), FRONT + "Rule.\n"),
        (FRONT.rstrip(), append("Rule."), FRONT + "Rule.\n"),
        (FRONT + "\n", append("Rule."), FRONT + "\nRule.\n"),
        # Before the regions at the tail.
        ("a\n\n" + TAIL, append("b"), f"a\n\nb\n\n{TAIL}"),
        ("a\n" + TAIL, append("b"), f"a\n\nb\n\n{TAIL}"),
        (TAIL, append("b"), f"b\n\n{TAIL}"),
        (FRONT + TAIL, append("b"), f"{FRONT}b\n\n{TAIL}"),
        (f"a\n\n{TAIL}\n{OTHER}\n", append("b"), f"a\n\nb\n\n{TAIL}\n{OTHER}\n"),
        (f"{TAIL}a\n\n{OTHER}", append("b"), f"{TAIL}a\n\nb\n\n{OTHER}"),
        ("\ufeff" + TAIL, append("b"), f"\ufeffb\n\n{TAIL}"),
        (TAIL + "a\n", append("b"), TAIL + "a\n\nb\n"),
        # A fence inside the body is no front matter.
        (FRONT + BODY, append("---\nname: other\n---"), f"{FRONT}{BODY}\n---\nname: other\n---\n"),
        # Below the line in which the anchor ends.
        *((BODY, after(one, "new\n"), f"# Sums\nnew\n{BODY[7:]}") for one in ("# Sums", "Sum", "# Sums\n")),
        (BODY, after("# Sums\n\nRead", "new"), BODY.replace("question.\n", "question.\nnew\n")),
        ("a\nb", after("b", "c"), "a\nb\nc"),
        ("a\r\nb\r\n", after("a", "x\ny"), "a\r\nx\r\ny\r\nb\r\n"),
        ("a\n" + TAIL, after("a", "b"), "a\nb\n" + TAIL),
        ("a\nbc\n", after("a", "b"), "a\nb\nbc\n"),
        # In the place of the anchor.
        (BODY, replace("the units", "all units"), BODY.replace("the units", "all units")),
        (BODY, replace("- Check the units.\n", "- Check.\n- Two.\n"), BODY.replace(" the units.", ".\n- Two.")),
        ("- Be brief\n", replace("Be brief", "- Be clear"), "- Be clear\n"),
        ("  - Be brief\n", replace("- Be brief", "  - Be clear"), "  - Be clear\n"),
        ("  - Be brief\n", replace("- Be brief", "- Be clear"), "  - Be clear\n"),
        ("- Be brief\n", replace("Be brief", "Be clear"), "- Be clear\n"),
        ("a b c\n", replace("b", "x "), "a x  c\n"),
        ("a\r\nb\r\n", replace("a", "x\ny"), "x\r\ny\r\nb\r\n"),
        ("a\n\nb\n\nc\n", replace("b", "\n"), "a\n\nc\n"),
        # The anchor goes, and the empty line that it leaves.
        ("- a\n- b\n- c\n", delete("- b"), "- a\n- c\n"),
        ("- a\n- b\n- c\n", edit("delete", "b", "ignored"), "- a\n- c\n"),
        ("1. a\n2. bb\n", delete("bb\n"), "1. a\n"),
        ("## Head\n\ntext\n", delete("Head"), "text\n"),
        ("a\n\nb\n\nc\n", delete("b"), "a\n\nc\n"),
        ("a\n\nb\n", delete("b"), "a\n"),
        ("a\n\nb\n", delete("a"), "b\n"),
        ("\ufeffa\n\nb\n", delete("a"), "\ufeffb\n"),
        ("a\nb\n\nc\n", delete("b"), "a\n\nc\n"),
        ("a b c\n", delete("b"), "a c\n"),
        ("a b\nc d\n", delete("b\nc"), "a d\n"),
        ("ab\n", delete("b"), "a\n"),
        ("a\n", delete("a"), ""),
        (FRONT + "\na\n\nb\n", delete("a"), FRONT + "\nb\n"),
        ("a\n\nb\n\n" + TAIL, delete("b"), "a\n\n" + TAIL),
        (TAIL + "\na\n\nb\n", delete("a"), TAIL + "\nb\n"),
        # An anchor that fills just one line means that line; what also stands in a region means the other place.
        ("- Be brief and kind\n- Be brief\n", delete("- Be brief"), "- Be brief and kind\n"),
        ("- Guard this.\n\n" + TAIL, replace("Guard this", "Mind this"), "- Mind this.\n\n" + TAIL),
        ("a\r\nb\r\nc\r\n", delete("a\nb"), "c\r\n"),
        (UNITS, replace("Allways check the units of the answer.", "Check units."), "- Check units.\n"),
    ],
)
def test_an_edit_is_done_where_its_anchor_is(text: str, change: Edit, expected: str) -> None:
    result, applied = apply_edit(text, change)
    assert (result, applied.fate) == (expected, "applied"), applied.detail


@rows("content", ["Check the", "units.", "Sums", "Adds numbers.", "- ", "-"])
def test_a_part_of_a_statement_does_not_count_as_standing_there(content: str) -> None:
    assert content.strip() in apply_edit(FRONT + BODY, append(content))[0].splitlines()[-1]


@rows(
    ("anchor", "line"),
    [
        ("- Allways check the units of the answer", UNITS),
        ("Allways check the units of the answer", UNITS),
        ("ALWAYS check the units of the answer", UNITS),
        ("- Always chek the units of the answer.\n- Then look again.", f"{UNITS}\n- Then look again.\n"),
    ],
)
def test_a_unique_near_match_on_lines_is_found(anchor: str, line: str) -> None:
    text = f"# Sums\n\n{line}- Show your steps before the result.\n"
    result, applied = apply_edit(text, after(anchor, "- new"))
    assert result == text.replace(line, f"{line}- new\n")
    assert "near match" in applied.detail


def test_white_space_in_the_anchor_may_differ() -> None:
    text, applied = apply_edit("a\nCheck  the\nunits.\n", replace("Check the units.", "Check."))
    assert (text, applied.fate, applied.detail) == ("a\nCheck.\n", "applied", "anchor found by other white space")


STANDING = (
    "- Check the units.",
    "Check the  units.",
    "Read the question.",
    "- Check the units.\n- Show the steps.\n",
)
PROTECTED = (
    *("- Guard  this.", "- Gard this. ", BEGIN, END, "steps.\n" + BEGIN, f"Guard this.\n{END}", f"steps. {BEGIN}"),
    *("name: sums", "description: Adds", "name:  sums", "---\n# Sums", "name: sums\ndescription: Ads numbers."),
)
MARKERS = (BEGIN, f"a\n{END}\nb", "<!-- ETUDE:END g -->", "<!--etude:begin x-->", "<!-- etude : end g", "etude:begin")
UNLIKE = "figure or a negation"


@rows(
    ("text", "change", "fate", "why"),
    [
        # Nothing would change.
        *((BODY, edit(op, "# Sums", "\n \n"), "no_change", "adds nothing") for op in ("append", "insert_after")),
        *((BODY + "\n" + TAIL, append(one), "no_change", "already stands") for one in (*STANDING, "- Guard this.")),
        ("Start. Carry on. Stop.\n", append("Carry on."), "no_change", "already stands"),
        ("a\nb\n", after("a", "b"), "no_change", "below the anchor"),
        (BODY, replace("# Sums", "# Sums"), "no_change", "already reads"),
        # There is no such place, or more than one.
        (BODY, after("", "new"), "missed", "names no anchor"),
        (BODY, replace(" \n", "new"), "missed", "names no anchor"),
        *((BODY, edit(op, "Nothing like this stands in the text.", "new"), "missed", "not in") for op in OPS),
        *(("one rule\ntwo rules\n", edit(op, "rule", "new"), "missed", "it occurs 2 times") for op in OPS),
        ("- a\n- b\n- a\n", delete("- a"), "missed", "ambiguous"),
        ("xaaay\n", delete("aa"), "missed", "2 times"),
        ("x a  b\ny a  b\n", delete("a b"), "missed", "ambiguous"),
        ("- Check the units of rule A\n- Check the units of rule B\n", delete("units of rule C"), "missed", ""),
        (
            "- Check the units of A here\n- Check the units of B here\n",
            delete("- Check the units of C here"),
            "missed",
            "near",
        ),
        (
            "Round the final result to 3 decimals.\n",
            delete("Round the final result to 2 decimals."),
            "missed",
            UNLIKE,
        ),
        (
            "Always round it and do show the result.\n",
            delete("Always round it and don't show the result."),
            "missed",
            UNLIKE,
        ),
        # What is protected stays.
        *((WHOLE, edit(op, "Guard this.", "new"), "protected", "") for op in OPS),
        *((WHOLE, replace(one, "new"), "protected", "") for one in PROTECTED),
        *((BODY + TAIL, append(one), "protected", "holds a region marker") for one in MARKERS),
        *(
            (BODY + TAIL, edit(op, "# Sums", BEGIN), "protected", "region marker")
            for op in ("insert_after", "replace")
        ),
        # Nothing becomes front matter or a region.
        ("", append("---\nname: x\n---\n"), "protected", ""),
        ("", append("---"), "protected", ""),
        ("\ufeff", append("---\nname: x\n---\n"), "protected", ""),
        ("", append("\ufeff---\nname: x\n---\n"), "protected", ""),
        ("a\nb\n---\n", replace("a\nb", "---\nname: x"), "protected", ""),
        ("a\n---\nname: x\n---\n", delete("a"), "protected", ""),
        ("see <!-- etude:begin x -->\n", delete("see"), "protected", ""),
        ("<!-- etude-begin x -->\n", replace("etude-", "etude:"), "protected", ""),
    ],
)
def test_an_edit_that_is_not_done_says_why_and_changes_nothing(
    text: str, change: Edit, fate: EditFate, why: str
) -> None:
    result, applied = apply_edit(text, change)
    assert (result, applied.fate) == (text, fate), applied.detail
    assert why in applied.detail != ""


def test_edits_apply_one_after_the_other() -> None:
    text, applied = apply_edits("- a\n", [append("- b"), replace("- b", "- c"), delete("- b"), delete("- a")])
    assert (text, [one.fate for one in applied]) == ("- c\n", ["applied", "applied", "missed", "applied"])
    # Not even several make a marker together.
    parts = [append("<!-- etude"), replace("<!-- etude", "<!-- etude:b"), replace(":b", ":begin g -->")]
    text, applied = apply_edits("text\n", parts)
    assert (text, [one.fate for one in applied]) == ("text\n\n<!-- etude:b\n", ["applied", "applied", "protected"])
    with pytest.raises(SkillError, match="is not closed"):
        apply_edits(BEGIN, [])


WORDS = [
    *("Check the units.", "Show the steps.", "Be brief", "rule 2"),
    *("- ", "  ", "# Sums", "1. ", "\n", "\n\n", "\r\n", "---"),
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
@settings(max_examples=60, deadline=None)
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
    assert [(one.name, one.content) for one in after.regions] == [(one.name, one.content) for one in before.regions]
    assert [one.edit for one in applied] == edits
    for change, told in zip(edits, applied, strict=True):
        changed, again = apply_edit(text, change)
        assert again == told
        assert (changed != text) == (told.fate == "applied")
        assert told.fate == "applied" or told.detail
        text = changed
    assert text == result
