from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs.scorers.checks import Checks
from etude.envs.scorers.checks_text import citations, parts, refuses, title
from etude.records import Task
from rows import rows


def passes(op: str, arg: Any, answer: str, **flags: bool) -> bool:
    gold = [{"op": op, "arg": arg, **flags}]
    return Checks().compare(Task(id="t", input="i", gold=gold), answer).hard == 1


@rows(
    "answer",
    [
        "# Risks\nMany.",
        "## 2. Risks:\nMany.",
        "## \u26a0\ufe0f **Risks**\nMany.",
        "**Risks**\nMany.",
        "Risks:\n- one",
        "## Risks\n### Technical\nMany.",
    ],
)
def test_a_section_is_present(answer: str) -> None:
    assert passes("section_present", "Risks", answer)


@rows(
    "answer",
    [
        "## No Risks\nMany.",
        "## Risks",
        "## Risks\n\n## Costs\nMany.",
        "## Risks\n### Technical\n## Costs\nMany.",
        "```\n## Risks\nMany.\n```",
        "##Risks\nMany.",
        "## Risks" + " " * 300 + "\nMany.",
    ],
)
def test_a_section_is_not_present(answer: str) -> None:
    assert not passes("section_present", "Risks", answer)


@rows(("answer", "right"), [("## Key Risks today", True), ("**Risks**", False), ("```\n# Risks\n```", False)])
def test_a_heading_contains_a_text(answer: str, right: bool) -> None:
    assert passes("section_contains", "risks", answer) == right


def test_case_counts_in_headings_and_texts_when_that_is_asked_for() -> None:
    assert not passes("section_contains", "risks", "# Risks", ignore_case=False)
    assert not passes("contains", "risks", "Risks", ignore_case=False)
    assert passes("not_contains", "risks", "Risks", ignore_case=False)
    assert passes("contains", "caf\u00e9", "the cafe\u0301")
    assert passes("not_contains", "\u200b", "plain text")
    assert not passes("not_contains", "\u200b", "a\u200bb")
    assert not passes("regex", "^[^\u200b]*$", "a\u200bb")
    assert passes("contains", "STRASSE", "stra\u00dfe")
    assert not passes("not_contains", "risks", "Risks")


def test_length_is_counted_without_white_space_at_the_ends() -> None:
    assert passes("max_chars", 3, "  abc\n")
    assert not passes("max_chars", 3, "abcd")
    assert passes("min_chars", 3, "abc")
    assert not passes("min_chars", 4, "  abc\n")


@rows(
    "answer",
    [
        "I can't help with that.",
        "I\u2019m sorry, but I cannot do this.",
        "As an AI language model, I cannot do that.",
        "> I must decline.",
    ],
)
def test_a_refusal_is_recognised(answer: str) -> None:
    assert not passes("no_refusal", None, answer)


@rows("answer", ["I'm sorry to hear that your parcel is late.", "I can't wait to see it.", "I cannot " + "x" * 600])
def test_what_only_sounds_like_a_refusal_is_none(answer: str) -> None:
    assert passes("no_refusal", None, answer)


@rows(
    ("answer", "found"),
    [
        ("[a](http://x/1) and [b](http://x/2 'title')", {"http://x/1", "http://x/2"}),
        ("as shown [1], and again [1][2]", {"[1]", "[2]"}),
        ("see wiki/some-page.md and people/jane", {"wiki/some-page.md", "people/jane"}),
        ("![a picture](http://x/1.png)", set()),
        ("`items[1]`\n```\nitems[2]\n```", set()),
        ("- [ ] to do, [x] done", set()),
    ],
)
def test_sources_are_counted_once(answer: str, found: set[str]) -> None:
    assert citations(answer) == found
    assert passes("min_citations", 1, answer) == bool(found)
    assert not passes("min_citations", len(found) + 1, answer)


@settings(max_examples=30)
@given(st.text(max_size=300), st.sampled_from(["#", "*", "`", "[1](", "\n", "wiki/", ":"]))
def test_no_text_is_too_odd_to_be_read(text: str, sign: str) -> None:
    odd = sign * 50 + text + sign * 50
    assert title(title(odd)) is not None
    assert len(parts(odd)) <= odd.count("\n") + len(odd.splitlines())
    assert len(citations(odd)) <= len(odd)
    assert refuses(odd) in (True, False)


@rows("sign", ["#", "[", "wiki/", "sorry "])
def test_long_runs_of_signs_are_read_at_once(sign: str) -> None:
    text = "# " + sign * 30_000 + "x"
    assert parts(text) is not None
    assert citations(text) is not None
    assert not refuses(text)
