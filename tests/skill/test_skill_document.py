from itertools import pairwise

import pytest
from hypothesis import given, settings
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
    [
        "---\n",
        "---",
        "name: pdf\n",
        "a: [1\n",
        "- item\n",
        "text",
        "\n",
        "\r\n",
        "\r",
        "\ufeff",
        "  ",
        "<!-- etude:begin a -->",
        "<!-- etude:end a -->",
        "<!-- etude:begin b -->\n",
        "<!-- etude:end b -->\r\n",
        "<!-- etude:begin c -->\nkept\n<!-- etude:end c -->\n",
        "\n<!-- etude:begin a -->\r\n\n<!-- etude:end a -->\n",
        "```\n",
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=12).map("".join))


@rows(
    "text",
    [
        "",
        "\ufeff",
        "no line end",
        "a\r\nb\r\n",
        "old\rstyle\r",
        SKILL,
        "\ufeff" + SKILL,
        SKILL.replace("\n", "\r\n"),
        SKILL.rstrip(),
        "---\n---",
        "---\na: 1\n---",
        "\n---\nnot at the start\n",
    ],
)
def test_rendering_gives_back_what_was_parsed(text: str) -> None:
    document = Document.parse(text)
    assert document.render() == text
    assert document.front_matter + document.body == text


@given(TEXTS)
@settings(max_examples=80, deadline=None)
def test_every_text_that_can_be_parsed_renders_unchanged_and_its_spans_add_up(text: str) -> None:
    try:
        document = Document.parse(text)
    except SkillError:
        return
    assert document.render() == text
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


def test_the_same_content_leaves_the_document_as_it_is() -> None:
    document = Document.parse(SKILL)
    assert document.with_region("guidance", "Check pages.") is document


@rows("name", ["", "Upper", "1st", "a b", "a\n"])
def test_a_bad_region_name_is_refused(name: str) -> None:
    with pytest.raises(SkillError, match="region name"):
        Document.parse("").with_region(name, "content")


@given(TEXTS, st.sampled_from(["a", "x"]), TEXTS)
@settings(max_examples=80, deadline=None)
def test_no_region_content_changes_anything_else(text: str, name: str, content: str) -> None:
    try:
        before = Document.parse(text)
    except SkillError:
        return
    after = before.with_region(name, content)
    assert after.front_matter.rstrip("\r\n") == before.front_matter.rstrip("\r\n")
    assert after.meta == before.meta
    for region in before.regions:
        if region.name != name:
            assert after.region(region.name) == region.content
    assert {region.name for region in after.regions} == {*(region.name for region in before.regions), name}
    if "etude" not in content and "\r" not in text + content:
        assert after.region(name) == content
    assert after.with_region(name, after.region(name) or "") == after


@given(TEXTS, st.sampled_from(["a", "b"]))
@settings(max_examples=100, deadline=None)
def test_removing_a_region_leaves_front_matter_and_the_other_regions(text: str, name: str) -> None:
    try:
        before = Document.parse(text)
    except SkillError:
        return
    after = before.without_region(name)
    assert after.region(name) is None
    assert after.front_matter == before.front_matter
    assert [r.content for r in after.regions] == [r.content for r in before.regions if r.name != name]


def test_adding_and_removing_a_region_gives_back_the_text() -> None:
    for text in ("", "a\n", SKILL, SKILL.replace("\n", "\r\n")):
        assert Document.parse(text).with_region("x", "content").without_region("x").render() == text


def test_removing_a_region_that_does_not_exist_changes_nothing() -> None:
    document = Document.parse(SKILL)
    assert document.without_region("other") is document


def test_removing_the_first_region_does_not_turn_a_rule_into_front_matter() -> None:
    text = "<!-- etude:begin x -->\n<!-- etude:end x -->\n---\nname: y\n---\n"
    document = Document.parse(text).without_region("x")
    assert document.front_matter == ""
    assert document.render() == "\n---\nname: y\n---\n"


def test_removing_the_first_region_does_not_turn_a_character_of_the_text_into_a_byte_order_mark() -> None:
    text = "<!-- etude:begin x -->\n<!-- etude:end x -->\n\ufeff---\nname: y\n---\n"
    document = Document.parse(text).without_region("x")
    assert (document.front_matter, document.render()) == ("", "\n\ufeff---\nname: y\n---\n")


KEPT = "<!-- etude:begin kept -->\nIn a region.\n<!-- etude:end kept -->\n"
WHOLE = f"---\nname: s\ndescription: d\n---\n\n# Old\n\n- One.\n\n{KEPT}"


def anew(text: str, new: str) -> str:
    return Document.parse(text).with_editable(new).render()


def test_a_line_that_would_open_a_front_matter_does_not_come_first() -> None:
    assert anew("Old.\n", "---\n") == "\n---\n"


def test_text_that_stood_around_regions_is_written_where_it_began() -> None:
    assert anew(f"{KEPT}\nBelow.\n", "New.") == f"{KEPT}\nNew.\n"
    assert anew(f"Above.\n\n{KEPT}\nBelow.\n", "New.") == f"New.\n\n{KEPT}"
    assert anew(f"---\nname: s\ndescription: d\n---\n{KEPT}", "New.").endswith(f"---\nNew.\n\n{KEPT}")


def test_an_empty_text_leaves_what_is_protected() -> None:
    assert anew(WHOLE, " \n") == f"---\nname: s\ndescription: d\n---\n\n{KEPT}"


OTHER = KEPT.replace("kept", "other")
MARKED, MARKED_OTHER = (text.replace("In a region.\n", "") for text in (KEPT, OTHER))
SECTIONS = f"# A\n\na\n\n{KEPT}\n# B\n\nb\n\n{OTHER}\nc\n"


def test_a_text_that_moves_nothing_but_regions_changes_nothing() -> None:
    moved = f"{MARKED}# A\n\na\n# B\n\nb\nc\n\n{MARKED_OTHER}"
    assert anew(SECTIONS, moved) == SECTIONS


def test_text_after_a_region_or_front_matter_without_a_line_end_starts_on_a_line_of_its_own() -> None:
    assert anew(f"a\n{KEPT}".rstrip(), f"a\n{MARKED}b") == f"a\n{KEPT}\nb\n"
    assert anew("---\na: 1\n---", "New.") == "---\na: 1\n---\nNew.\n"


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
