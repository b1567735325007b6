"""Finding the place in a document that an edit means.

A model quotes the skill from memory, so its anchor is looked up in three ways, each only when the one before found
nothing: as it stands, with runs of white space equal, and as a near match on lines. What is not unique is not found.
In a document with a `learned` block only the inside of the block is looked through.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from etude.records import EditFate
from etude.skill.document import Document
from etude.skill.lines import Line, lines_of, next_line_end, without_blank_edges

NEAR = 90.0
"""Least likeness, of 100, of a near match: one changed character in ten, about what a slip in quoting leaves. Below
that lie statements that only share a topic."""

LEAD = 5.0
"""How far the best near match must be ahead of the next one. Half of what `NEAR` lets an anchor differ: two lines
closer to each other than that cannot be told apart by an anchor that is itself inexact."""

LIST_MARK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
"""What a list item of Markdown starts with."""

_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_NEGATION = re.compile(r"\b(?:no|not|never|none|nor|neither|without|cannot)\b|n['’]t\b")


@dataclass(frozen=True)
class AnchorSpan:
    """Where an anchor is: start and stop in the document's text, inside one editable span."""

    start: int
    stop: int
    detail: str = ""
    """How it was found; empty when it stands there as it was given."""


@dataclass(frozen=True)
class Refusal:
    """Why an edit is not done."""

    fate: EditFate
    detail: str


def find_anchor(document: Document, anchor: str) -> AnchorSpan | Refusal:
    """The one place in the editable text that `anchor` means. Line ends around the anchor do not count.

    An anchor that occurs several times means the occurrence that fills whole lines, if there is just one.
    """
    anchor = without_blank_edges(anchor)
    if not anchor.strip():
        return Refusal("missed", "the edit names no anchor")
    text = document.text
    low, high = document.learned_span or (0, len(text))
    ways = ((re.compile(re.escape(anchor)), ""), (loose_pattern(anchor), "anchor found by other white space"))
    for pattern, detail in ways:
        spans = [(low + start, low + stop) for start, stop in occurrences(pattern, text[low:high])]
        if spans:
            return _only(document, spans, detail)
    nearest = _nearest(document, anchor, low, high)
    if isinstance(nearest, Refusal) and any(pattern.search(text) for pattern, _ in ways):
        return Refusal("protected", "the anchor is not within the learned block, the only text that may be edited")
    return nearest


def loose_pattern(text: str) -> re.Pattern[str]:
    """Matches `text` with any white space where it has some. `text` must have a character that is none."""
    return re.compile(r"\s+".join(re.escape(word) for word in text.split()))


def occurrences(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Start and stop of all matches, overlapping ones too."""
    found = pattern.search(text)
    while found:
        yield found.span()
        found = pattern.search(text, found.start() + 1)


def editable_span(document: Document, start: int, stop: int) -> tuple[int, int] | None:
    """The editable span that holds start to stop, None when there is none."""
    spans = document.editable_spans
    return next((span for span in spans if span[0] <= start and stop <= span[1]), None)


def _only(document: Document, spans: list[tuple[int, int]], detail: str) -> AnchorSpan | Refusal:
    editable = [span for span in spans if editable_span(document, *span)]
    if not editable:
        return Refusal("protected", "the anchor lies in or touches a protected region or the front matter")
    if len(editable) > 1:
        times = len(editable)
        editable = [span for span in editable if _fills_lines(document.text, *span)]
        if len(editable) != 1:
            return Refusal("missed", f"the anchor is ambiguous: it occurs {times} times")
    return AnchorSpan(*editable[0], detail)


def _fills_lines(text: str, start: int, stop: int) -> bool:
    last_stop, _ = next_line_end(text, stop)
    return not text[line_start(text, start) : start].strip(" \t") and not text[stop:last_stop].strip(" \t")


def line_start(text: str, offset: int) -> int:
    """Where the line that holds `offset` starts."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _nearest(document: Document, anchor: str, low: int, high: int) -> AnchorSpan | Refusal:
    found = _likeness(document.text[low:high], anchor)
    scored = sorted(((likeness, low + start, low + stop) for likeness, start, stop in found), reverse=True)
    if not scored or scored[0][0] < NEAR:
        return Refusal("missed", "the anchor is not in the text")
    likeness, start, stop = scored[0]
    rival = next((score for score, low, high in scored if high <= start or stop <= low), 0.0)
    if likeness - rival < LEAD:
        return Refusal("missed", "the anchor is ambiguous: several lines come near it")
    if _sense(anchor) != _sense(document.text[start:stop]):
        return Refusal("missed", "the nearest lines differ from the anchor in a figure or a negation")
    return _only(document, [(start, stop)], f"anchor found by near match ({likeness:.0f} of 100)")


def _likeness(text: str, anchor: str) -> Iterator[tuple[float, int, int]]:
    """(likeness, start, stop) of the windows of lines that come near, about as many lines as the anchor has."""
    from rapidfuzz.fuzz import ratio

    wanted, marked = _folded(anchor), LIST_MARK.match(anchor) is not None
    lines = [line for line in lines_of(text) if line.text.strip()]
    size = sum(1 for line in lines_of(anchor) if line.text.strip())
    for count in range(max(1, size - 1), size + 2):
        for first, last in zip(lines, lines[count - 1 :], strict=False):
            start, stop = _statement_start(first, marked), last.start + len(last.text.rstrip())
            likeness = ratio(wanted, _folded(text[start:stop]), score_cutoff=NEAR - LEAD)
            if likeness:
                yield likeness, start, stop


def _statement_start(line: Line, marked: bool) -> int:
    """Where the line's words start; with its list mark only if the anchor has one too."""
    mark = None if marked else LIST_MARK.match(line.text)
    return line.start + (mark.end() if mark else len(line.text) - len(line.text.lstrip()))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _sense(text: str) -> tuple[list[str], int]:
    """What a slip in quoting leaves alone: figures, and how often something is negated. English only."""
    folded = text.casefold()
    return sorted(_FIGURE.findall(folded)), len(_NEGATION.findall(folded))
