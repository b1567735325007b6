from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.errors import SkillError
from etude.skill.document import Document, token_count
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


def test_front_matter_is_kept_verbatim_and_read_as_yaml() -> None:
    document = Document.parse(SKILL)
    assert document.front_matter == "---\nname: pdf\ndescription: Reads PDF files.\n---\n"
    assert document.meta == {"name": "pdf", "description": "Reads PDF files."}


def test_an_empty_front_matter_has_no_keys() -> None:
    assert Document.parse("---\n---\ntext").meta == {}


def test_front_matter_keys_that_are_no_text_become_text() -> None:
    assert Document.parse("---\n1: a\n---\n").meta == {"1": "a"}


def test_a_byte_order_mark_before_the_fence_belongs_to_the_front_matter() -> None:
    document = Document.parse("\ufeff---\na: 1\n---\nbody")
    assert document.front_matter == "\ufeff---\na: 1\n---\n"
    assert document.meta == {"a": 1}


def test_a_byte_order_mark_without_front_matter_is_not_editable() -> None:
    document = Document.parse("\ufeffbody")
    assert document.body == "\ufeffbody"
    assert document.editable_spans == ((1, 5),)


def test_a_fence_that_is_not_at_the_start_is_body() -> None:
    assert Document.parse("\n---\na: 1\n---\n").front_matter == ""


def test_a_longer_rule_is_no_fence() -> None:
    assert Document.parse("----\ntext\n").front_matter == ""


def test_a_marker_in_the_front_matter_is_yaml() -> None:
    document = Document.parse("---\na: |\n  <!-- etude:begin x -->\n---\n")
    assert document.regions == ()


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


def test_regions_have_name_content_and_spans() -> None:
    document = Document.parse(SKILL)
    (region,) = document.regions
    assert (region.name, region.content) == ("guidance", "Check pages.")
    assert SKILL[slice(*region.span)].startswith("<!-- etude:begin guidance -->\n")
    assert SKILL[slice(*region.inner)] == "Check pages.\n"
    assert document.region("guidance") == "Check pages."
    assert document.region("other") is None


def test_a_marker_within_a_line_of_text_means_nothing() -> None:
    assert Document.parse("Write `<!-- etude:begin x -->` first.\n").regions == ()


def test_a_marker_in_a_fenced_code_block_is_a_marker() -> None:
    text = "```\n<!-- etude:begin x -->\na\n<!-- etude:end x -->\n```\n"
    assert Document.parse(text).region("x") == "a"


def test_blanks_around_a_marker_are_allowed() -> None:
    assert Document.parse("  <!-- etude:begin x --> \na\n\t<!-- etude:end x -->").region("x") == "a"


def test_editable_spans_leave_out_front_matter_and_regions() -> None:
    text = SKILL + "tail\n"
    pieces = [text[start:stop] for start, stop in Document.parse(text).editable_spans]
    assert pieces == ["\n# PDF\n\nBe careful.\n\n", "tail\n"]


@rows(
    ("text", "expected"),
    [
        ("", "<B>\nnew\n<E>\n"),
        ("\ufeff", "\ufeff<B>\nnew\n<E>\n"),
        ("a", "a\n\n<B>\nnew\n<E>\n"),
        ("a\n", "a\n\n<B>\nnew\n<E>\n"),
        ("a\n\n", "a\n\n<B>\nnew\n<E>\n"),
        ("a\n  ", "a\n  \n<B>\nnew\n<E>\n"),
        ("a\r\n", "a\r\n\r\n<B>\r\nnew\r\n<E>\r\n"),
        ("---\na: 1\n---", "---\na: 1\n---\n\n<B>\nnew\n<E>\n"),
        ("<B>\nold\n<E>\nb\n", "<B>\nnew\n<E>\nb\n"),
        ("a\n\n<B>\n<E>", "a\n\n<B>\nnew\n<E>"),
    ],
)
def test_a_region_is_replaced_or_added_at_the_tail(text: str, expected: str) -> None:
    def marked(short: str) -> str:
        return short.replace("<B>", "<!-- etude:begin x -->").replace("<E>", "<!-- etude:end x -->")

    document = Document.parse(marked(text)).with_region("x", "new")
    assert document.render() == marked(expected)
    assert document.region("x") == "new"


def test_the_same_content_leaves_the_document_as_it_is() -> None:
    document = Document.parse(SKILL)
    assert document.with_region("guidance", "Check pages.") is document


def test_an_emptied_region_stays() -> None:
    document = Document.parse(SKILL).with_region("guidance", "")
    assert document.region("guidance") == ""
    assert "guidance -->\n<!--" in document.render()


@rows("name", ["", "Upper", "1st", "a b", "a\n"])
def test_a_bad_region_name_is_refused(name: str) -> None:
    with pytest.raises(SkillError, match="region name"):
        Document.parse("").with_region(name, "content")


def test_content_cannot_close_its_region_or_open_another() -> None:
    forged = "a\n<!-- etude:end x -->\n<!-- Etude : begin y -->\nb"
    document = Document.parse("text\n").with_region("x", forged)
    assert [region.name for region in document.regions] == ["x"]
    assert document.region("x") == "a\n<!-- etude end -->\nb".replace("end -->", "end x -->\n<!-- etude begin y -->")


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


def test_removing_a_region_between_blank_lines_leaves_one_blank_line() -> None:
    text = "a\n\n<!-- etude:begin x -->\n<!-- etude:end x -->\n\nb\n"
    assert Document.parse(text).without_region("x").render() == "a\n\nb\n"


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


@rows(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_tokens_are_estimated_as_a_quarter_of_the_characters_rounded_up(text: str, tokens: int) -> None:
    assert token_count(text) == tokens


KEPT = "<!-- etude:begin kept -->\nIn a region.\n<!-- etude:end kept -->\n"
WHOLE = f"---\nname: s\ndescription: d\n---\n\n# Old\n\n- One.\n\n{KEPT}"


def anew(text: str, new: str) -> str:
    return Document.parse(text).with_editable(new).render()


def test_new_text_takes_the_place_of_all_that_may_be_edited() -> None:
    assert anew(WHOLE, "# New\n\n- Two.") == WHOLE.replace("# Old\n\n- One.", "# New\n\n- Two.")


@rows("text", [WHOLE, "# Old\n\n- One.\n", f"{KEPT}\nBelow.\n", f"Above.\r\n\r\n{KEPT}"])
def test_a_document_written_as_it_was_stays_as_it_is(text: str) -> None:
    document = Document.parse(text)
    (span,) = [span for span in document.editable_spans if text[slice(*span)].strip()]
    assert anew(text, text[slice(*span)]) == text
    assert anew(text, text) == text


def test_copies_of_front_matter_and_regions_in_a_new_text_are_left_out() -> None:
    copied = "---\nname: other\n---\nNew.\n" + KEPT.replace("In a region", "Forged")
    assert anew(WHOLE, copied) == WHOLE.replace("# Old\n\n- One.", "New.")
    assert anew("Old.\n", copied) == "New.\n"


def test_markers_that_mark_nothing_are_left_out_of_a_new_text_and_what_looks_like_one_is_made_harmless() -> None:
    stray = "<!-- etude:end kept -->\n<!--etude:BEGIN-->\n<!-- etude:begin x -->"
    new = f"New.\n{stray}\netude:begin x\n<!-- etude:end kept --> more"
    assert anew(WHOLE, new) == WHOLE.replace("# Old\n\n- One.", "New.\netude begin x\n<!-- etude end kept --> more")


def test_a_line_that_spoke_of_markers_before_stays_as_it_was() -> None:
    text = "Write `etude:begin x` first.\n\n- One.\n"
    assert anew(text, text.replace("One", "Two")) == text.replace("One", "Two")


def test_a_line_that_would_open_a_front_matter_does_not_come_first() -> None:
    assert anew("Old.\n", "---\n") == "\n---\n"


def test_a_line_that_only_a_byte_order_mark_keeps_from_being_a_marker_does_no_harm() -> None:
    line = "<!-- etude:begin x --> and more"
    assert anew(f"a\n\ufeff{line}\n", f"b\n\ufeff{line}") == "b\n<!-- etude begin x --> and more\n"


def test_text_that_stood_around_regions_is_written_where_it_began() -> None:
    assert anew(f"{KEPT}\nBelow.\n", "New.") == f"{KEPT}\nNew.\n"
    assert anew(f"Above.\n\n{KEPT}\nBelow.\n", "New.") == f"New.\n\n{KEPT}"
    assert anew(f"---\nname: s\ndescription: d\n---\n{KEPT}", "New.").endswith(f"---\nNew.\n\n{KEPT}")


def test_an_empty_text_leaves_what_is_protected() -> None:
    assert anew(WHOLE, " \n") == f"---\nname: s\ndescription: d\n---\n\n{KEPT}"


OTHER = KEPT.replace("kept", "other")
MARKED, MARKED_OTHER = (text.replace("In a region.\n", "") for text in (KEPT, OTHER))
SECTIONS = f"# A\n\na\n\n{KEPT}\n# B\n\nb\n\n{OTHER}\nc\n"


def test_regions_go_where_their_markers_stand_in_a_new_text() -> None:
    new = f"# New\n{MARKED}\n- One.\n{MARKED_OTHER}- Two.\n"
    assert anew(SECTIONS, new) == f"# New\n\n{KEPT}\n- One.\n\n{OTHER}\n- Two.\n"
    assert anew(SECTIONS, f"{MARKED}{MARKED_OTHER}New.") == f"{KEPT}\n{OTHER}\nNew.\n"


def test_a_region_in_a_list_stays_without_blank_lines_around_it() -> None:
    text = f"- a\n{KEPT}- b\n"
    assert anew(text, f"- a\n{MARKED}- c\n") == f"- a\n{KEPT}- c\n"


def test_a_copy_of_a_region_marks_its_place_whatever_it_says() -> None:
    forged = KEPT.replace("In a region", "Forged")
    assert anew(SECTIONS, f"New.\n\n{forged}\n{MARKED_OTHER}") == f"New.\n\n{KEPT}\n{OTHER}"


@rows(
    "marks",
    [
        "",
        MARKED,
        MARKED_OTHER + MARKED,
        MARKED + MARKED_OTHER + MARKED,
        MARKED + MARKED,
        MARKED + "<!-- etude:begin other -->\n",
        "<!-- etude:begin kept -->\n<!-- etude:begin other -->\n<!-- etude:end other -->\n",
    ],
)
def test_without_all_markers_once_and_in_order_regions_go_to_the_end(marks: str) -> None:
    assert anew(SECTIONS, f"{marks}# A\n\nnew\n\n# b\n\nnew\n") == f"# A\n\nnew\n\n# b\n\nnew\n\n{KEPT}\n{OTHER}"
    assert anew(f"{KEPT}{SECTIONS.replace('kept', 'second')}", f"{marks}New.").startswith(KEPT)


def test_markers_of_regions_that_do_not_exist_are_left_out_and_do_no_harm() -> None:
    forged = KEPT.replace("kept", "forged")
    marked = f"{MARKED}New.\n{forged}{MARKED_OTHER}Last.\n"
    assert anew(SECTIONS, marked) == f"{KEPT}\nNew.\n\n{OTHER}\nLast.\n"


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
