from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from etude.errors import SkillError
from etude.skill.document import Document
from rows import rows

SKILL = """---
name: pdf
description: Reads PDF files.
---

# PDF

Be careful.

<!-- etude:begin guidance -->
Check pages.
<!-- etude:end guidance -->
"""

PIECES = st.sampled_from(
    (
        *("---\n", "---", "name: pdf\n", "a: [1\n", "- item\n", "text", "```\n", "\n", "\r\n", "\r", "\ufeff", "  "),
        *("<!-- etude:begin a -->", "<!-- etude:end a -->", "<!-- etude:begin b -->\n", "<!-- etude:end b -->\r\n"),
        "<!-- etude:begin c -->\nkept\n<!-- etude:end c -->\n",
        "\n<!-- etude:begin a -->\r\n\n<!-- etude:end a -->\n",
    )
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=12).map("".join))


@given(TEXTS)
@settings(max_examples=50, deadline=None)
@example("---\n---")
@example("---\na: 1\n---")
@example("\n---\nnot at the start\n")
@example("\ufeff" + SKILL)
@example(SKILL.replace("\n", "\r\n"))
def test_the_parts_of_every_text_that_can_be_parsed_add_up_to_it(text: str) -> None:
    try:
        document = Document.parse(text)
    except SkillError:
        return
    assert document.front_matter + document.body == text
    spans = sorted([*document.editable_spans, *(region.span for region in document.regions)])
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    covered = sum(stop - start for start, stop in spans)
    bom = 1 if text.startswith("\ufeff") and not document.front_matter else 0
    assert covered == len(document.body) - bom


@rows(
    ("text", "problem"),
    [
        ("---\nname: x\n", "line 1: the front matter that starts with '---' is not closed"),
        ("---\nname: x\nb: [1\n---\n", "line 4: the front matter is not YAML"),
        ("---\na: b: c\n---\n", "line 2: the front matter is not YAML"),
        ("---\na: 2024-13-45\n---\n", "line 2: the front matter is not YAML"),
        ("---\na: \x01\n---\n", "line 2: the front matter is not YAML"),
        ("---\na: !!int ''\n---\n", "line 2: the front matter is not YAML"),
        ("---\n- a\n---\n", "line 2: the front matter is a list, not a mapping"),
        ("---\ntext\n---\n", "line 2: the front matter is a str, not a mapping"),
        ("a\n<!-- etude:begin x -->\nb\n", "line 2: region 'x' is not closed"),
        ("<!-- etude:end x -->\n", "line 1: region 'x' ends here but does not begin"),
        ("<!-- etude:begin x -->\n<!-- etude:end y -->\n", "line 2: region 'y' ends here inside region 'x'"),
        ("<!-- etude:begin x -->\n<!-- etude:begin y -->\n", "line 2: region 'y' begins inside region 'x'"),
        ("<!-- etude:begin x -->\n<!-- etude:end x -->\n" * 2, "line 3: a second region is named 'x'"),
        ("---\na: 1\n---\n<!-- etude:begin X -->\n", "line 4: '<!-- etude:begin X -->' is not a region marker"),
        ("<!--etude:end x-->\n", "line 1: '<!--etude:end x-->' is not a region marker"),
        ("<!-- etude:begin x --> and more\n", "line 1: '<!-- etude:begin x --> and more' is not"),
    ],
)
def test_a_malformed_document_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(SkillError) as error:
        Document.parse(text)
    assert error.value.message.startswith(problem)
    assert error.value.hint


@rows("name", ["", "Upper", "1st", "a b", "a\n"])
def test_a_bad_region_name_is_refused(name: str) -> None:
    with pytest.raises(SkillError, match="region name"):
        Document.parse("").with_region(name, "content")


@given(TEXTS, st.sampled_from(["a", "b", "x"]), TEXTS)
@settings(max_examples=50, deadline=None)
def test_a_region_comes_and_goes_and_nothing_else_changes(text: str, name: str, content: str) -> None:
    try:
        before = Document.parse(text)
    except SkillError:
        return
    others = [(region.name, region.content) for region in before.regions if region.name != name]
    after, gone = before.with_region(name, content), before.without_region(name)
    for changed in (after, gone):
        assert changed.front_matter.rstrip("\r\n") == before.front_matter.rstrip("\r\n")
        assert changed.meta == before.meta
        assert [(one.name, one.content) for one in changed.regions if one.name != name] == others
    assert (gone.region(name), after.region(name) is None) == (None, False)
    if "etude" not in content.casefold() and "\r" not in text + content:
        assert after.region(name) == content
    assert after.with_region(name, after.region(name) or "") is after
    if before.region(name) is None:
        assert gone is before


EMPTY = "<!-- etude:begin x -->\n<!-- etude:end x -->\n"


@rows(
    ("text", "without"),
    [
        *((Document.parse(text).with_region("x", "more").text, text) for text in ("", "a\n", SKILL)),
        (Document.parse(SKILL.replace("\n", "\r\n")).with_region("x", "more").text, SKILL.replace("\n", "\r\n")),
        # What comes first then does not become front matter, or a byte order mark.
        (f"{EMPTY}---\nname: y\n---\n", "\n---\nname: y\n---\n"),
        (f"{EMPTY}\ufeff---\nname: y\n---\n", "\n\ufeff---\nname: y\n---\n"),
    ],
)
def test_removing_a_region_leaves_the_text_as_if_it_had_never_been(text: str, without: str) -> None:
    document = Document.parse(text).without_region("x")
    assert (document.text, document.meta) == (without, Document.parse(without).meta)


KEPT = "<!-- etude:begin kept -->\nIn a region.\n<!-- etude:end kept -->\n"
WHOLE = f"---\nname: s\ndescription: d\n---\n\n# Old\n\n- One.\n\n{KEPT}"


OTHER = KEPT.replace("kept", "other")
MARKED, MARKED_OTHER = (text.replace("In a region.\n", "") for text in (KEPT, OTHER))
SECTIONS = f"# A\n\na\n\n{KEPT}\n# B\n\nb\n\n{OTHER}\nc\n"


@rows(
    ("text", "new", "expected"),
    [
        # A line that would open a front matter does not come first.
        ("Old.\n", "---\n", "\n---\n"),
        # Text that stood around regions is written where it began.
        (f"{KEPT}\nBelow.\n", "New.", f"{KEPT}\nNew.\n"),
        (f"Above.\n\n{KEPT}\nBelow.\n", "New.", f"New.\n\n{KEPT}"),
        (f"---\nname: s\ndescription: d\n---\n{KEPT}", "New.", f"---\nname: s\ndescription: d\n---\nNew.\n\n{KEPT}"),
        (WHOLE, " \n", f"---\nname: s\ndescription: d\n---\n\n{KEPT}"),
        # What moves nothing but regions changes nothing.
        (SECTIONS, f"{MARKED}# A\n\na\n# B\n\nb\nc\n\n{MARKED_OTHER}", SECTIONS),
        # After a region or front matter without a line end, text starts on a line of its own.
        (f"a\n{KEPT}".rstrip(), f"a\n{MARKED}b", f"a\n{KEPT}\nb\n"),
        ("---\na: 1\n---", "New.", "---\na: 1\n---\nNew.\n"),
    ],
)
def test_a_new_text_is_written_around_what_is_protected(text: str, new: str, expected: str) -> None:
    assert Document.parse(text).with_editable(new).text == expected


PARTS = (
    *("---\n", "---\nname: x\ndescription: y\n---\n", "# T\n", "\n", "text", "\r\n", " ", "\ufeff", KEPT),
    *("<!-- etude:begin a -->\n1\n<!-- etude:end a -->\n", "<!-- etude:begin c -->\n", "etude:end a\n"),
)
TEXTS = st.lists(st.sampled_from(PARTS), max_size=7).map("".join)


def protected(document: Document) -> list[str]:
    parts = [document.front_matter, *(document.text[slice(*region.span)] for region in document.regions)]
    return [part.rstrip("\r\n") for part in parts]


@given(TEXTS, TEXTS)
def test_no_new_text_changes_front_matter_or_regions(text: str, new: str) -> None:
    try:
        document = Document.parse(text)
    except SkillError:
        return
    written = document.with_editable(new)
    assert protected(written) == protected(document)
    assert written.with_editable(new).text.split() == written.text.split()
