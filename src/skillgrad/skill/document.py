"""A skill document: front matter, body and named protected regions, all kept byte for byte.

A region stands between two marker lines:

    <!-- skillgrad:begin guidance -->
    anything but marker lines
    <!-- skillgrad:end guidance -->

A marker line is a marker wherever it stands, inside a fenced code block too: a reader that had to understand Markdown
to find the regions could be led astray by an edit that opens a fence. Blanks around a marker on its line are allowed.
A line that starts like a marker but is not exactly one is an error and not text, since whoever wrote it meant to
protect something. Within a line of text a marker means nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

import yaml

from skillgrad.errors import SkillError
from skillgrad.skill.lines import Line, line_end_of, lines_of, with_line_ends, without_blank_edges

BOM = "\ufeff"
CHARACTERS_PER_TOKEN = 4
"""A common rule of thumb for English text; tokenizers differ by model."""

_FENCE = re.compile(r"---[ \t]*")
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_MARKER = re.compile(rf"[ \t]*<!-- skillgrad:(begin|end) ({_NAME.pattern}) -->[ \t]*")
_LIKE_MARKER = re.compile(r"skillgrad\s*:\s*(begin|end)\b", re.IGNORECASE)
_LIKE_MARKER_LINE = re.compile(r"\s*<!--\s*" + _LIKE_MARKER.pattern, re.IGNORECASE)
_FORM = "write '<!-- skillgrad:begin NAME -->' and '<!-- skillgrad:end NAME -->', each alone on a line"


@dataclass(frozen=True)
class Region:
    """A protected part of a document."""

    name: str
    content: str
    """The text between the marker lines, without the line end before the end marker."""
    span: tuple[int, int]
    """Start and stop in the document's text: both marker lines with their line ends."""
    inner: tuple[int, int]
    """Start and stop of what is between the marker lines."""


@dataclass(frozen=True)
class Document:
    """A parsed SKILL.md or plain Markdown text. Made by `parse`; every change returns a new document."""

    text: str
    front_matter: str
    """Everything up to and with the closing fence and its line end, a byte order mark too; '' when there is none."""
    meta: dict[str, Any] = field(compare=False)
    """The front matter as YAML reads it; empty when there is none."""
    regions: tuple[Region, ...]
    """In the order they stand in."""

    @staticmethod
    def parse(text: str) -> "Document":
        """Read a document. `Document.parse(text).render() == text` for every text that can be read.

        Raises:
            SkillError: the front matter is unclosed, no YAML or no mapping; or a region is unclosed, nested, closed
                before it begins or has a name that another region has. Names the line, counted from 1.
        """
        lines = lines_of(text)
        if text.startswith(BOM):
            lines[0] = Line(lines[0].text[len(BOM) :], len(BOM), lines[0].stop)
        closing = _closing_fence(lines)
        if closing is None:
            return Document(text, "", {}, tuple(_regions(text, lines, first=1)))
        front_matter = text[: lines[closing].stop]
        meta = _mapping(text[lines[0].stop : lines[closing].start])
        return Document(text, front_matter, meta, tuple(_regions(text, lines[closing + 1 :], first=closing + 2)))

    def render(self) -> str:
        """The text, byte for byte what was parsed."""
        return self.text

    @property
    def body(self) -> str:
        """Everything after the front matter, regions included."""
        return self.text[len(self.front_matter) :]

    @property
    def editable_spans(self) -> tuple[tuple[int, int], ...]:
        """Starts and stops in `render()` that edits may touch: the body without its regions. None is empty."""
        start = self._body_start
        spans: list[tuple[int, int]] = []
        for region in self.regions:
            spans.append((start, region.span[0]))
            start = region.span[1]
        spans.append((start, len(self.text)))
        return tuple(span for span in spans if span[0] < span[1])

    def region(self, name: str) -> str | None:
        """The content of a region; None when there is no region of that name."""
        found = self._find(name)
        return found.content if found else None

    def with_region(self, name: str, content: str) -> "Document":
        """The document with this content in the region, which is added at the tail when it does not exist.

        The region's content becomes `content`, with the line ends of the document, and with every text in it that
        looks like a marker made harmless: `skillgrad:begin` turns into `skillgrad begin`, so no content can close its
        region or open another.

        Raises:
            SkillError: the name is not a lowercase letter followed by lowercase letters, digits, `-` and `_`.
        """
        if not _NAME.fullmatch(name):
            raise SkillError(f"region name {name!r} must match {_NAME.pattern}", hint="for example 'slow-update'")
        if content == self.region(name):
            return self
        found = self._find(name)
        line_end = line_end_of(self.text[found.span[0] :] if found else self.text)
        content = with_line_ends(_LIKE_MARKER.sub(r"skillgrad \1", content), line_end)
        inner = content + line_end if content else ""
        if found:
            start, stop = found.inner
            return Document.parse(self.text[:start] + inner + self.text[stop:])
        begin, end = f"<!-- skillgrad:begin {name} -->{line_end}", f"<!-- skillgrad:end {name} -->{line_end}"
        return Document.parse(self.text + self._blank_line_at_end(line_end) + begin + inner + end)

    def without_region(self, name: str) -> "Document":
        """The document without the region and its markers; the same document when there is no such region.

        Where the region stood between blank lines, or after one at the end, one blank line goes with it.
        """
        found = self._find(name)
        if not found:
            return self
        start, stop = found.span
        before = lines_of(self.text[len(self.front_matter) : start])
        after = lines_of(self.text[stop:])
        if before and not before[-1].text.strip() and (not after or not after[0].text.strip()):
            start = len(self.front_matter) + before[-1].start
        head, tail = self.text[:start], self.text[stop:]
        if head in ("", BOM) and after and _FENCE.fullmatch(after[0].text):
            head += line_end_of(self.text)  # a thematic break that came first would be read as front matter
        return Document.parse(head + tail)

    def with_editable(self, text: str) -> "Document":
        """The document with `text` in place of everything that edits may touch.

        Front matter and regions stay byte for byte and in their order. The text goes where the first editable words
        stood, between the blank lines they stood between. A front matter and regions in `text` itself are copies of
        what is kept, and are left out; what still looks like a marker is made harmless as in `with_region`.
        """
        line_end = line_end_of(self.text)
        text = with_line_ends(_own_text(text), line_end)
        spans = self.editable_spans or ((self._body_start, self._body_start),)
        home = next((span for span in spans if self.text[slice(*span)].strip()), spans[0])
        written, place = "", 0
        for start, stop in spans:
            here = self.text[start:stop]
            blank_above = here[: len(here) - len(here.lstrip("\r\n"))]
            blank_below = here[len(here.rstrip()) :] if here.strip() else ""
            if (start, stop) != home:
                new = blank_above or line_end
            elif text:
                new = blank_above + text + (blank_below or line_end * (2 if stop < len(self.text) else 1))
            else:
                new = blank_above
            written += self.text[place:start] + new
            place = stop
        head, body = written[: self._body_start], written[self._body_start :]
        if not self.front_matter and any(_FENCE.fullmatch(line.text) for line in lines_of(body)[:1]):
            written = head + line_end + body  # a thematic break that came first would be read as front matter
        return Document.parse(written + self.text[place:])

    @property
    def _body_start(self) -> int:
        """Where the text begins that is no front matter and no byte order mark."""
        return len(self.front_matter) or (len(BOM) if self.text.startswith(BOM) else 0)

    def _find(self, name: str) -> Region | None:
        return next((region for region in self.regions if region.name == name), None)

    def _blank_line_at_end(self, line_end: str) -> str:
        """What the text lacks to end with a blank line."""
        lines = lines_of(self.text.removeprefix(BOM))
        if not lines:
            return ""
        unended = lines[-1].stop == lines[-1].start + len(lines[-1].text)
        return line_end * (unended + bool(lines[-1].text.strip()))


def token_count(text: str) -> int:
    """An estimate of how many tokens a model reads in `text`: characters / 4, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def looks_like_marker(text: str) -> bool:
    """Whether `text` holds something that is a region marker or could pass for one."""
    return _LIKE_MARKER.search(text) is not None


def _own_text(text: str) -> str:
    """What a whole document says beside its front matter and regions, without blank edges and harmless."""
    try:
        document = Document.parse(text)
        text = "".join(document.text[start:stop] for start, stop in document.editable_spans)
    except SkillError:
        pass  # no document of its own: all of it is text
    return without_blank_edges(_LIKE_MARKER.sub(r"skillgrad \1", text.replace(BOM, "")))


def _closing_fence(lines: list[Line]) -> int | None:
    """Index of the line that closes the front matter, None when the text starts without one."""
    if not lines or not _FENCE.fullmatch(lines[0].text):
        return None
    for index, line in enumerate(lines[1:], start=1):
        if _FENCE.fullmatch(line.text):
            return index
    raise SkillError(
        "line 1: the front matter that starts with '---' is not closed",
        hint="end it with a line '---', or begin the document with another line",
    )


def _mapping(source: str) -> dict[str, Any]:
    try:
        loaded: object = yaml.safe_load(source)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        _refuse(line, f"the front matter is not YAML: {error.problem}", "quote values that contain ': ' or ' #'")
    # PyYAML lets these out for values that look like a date, a number or a tag but are none, and for deep nesting.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        _refuse(2, f"the front matter is not YAML: {error}", "quote the value that is meant as text")
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        _refuse(2, f"the front matter is a {type(loaded).__name__}, not a mapping", "write 'key: value' lines")
    return {str(key): value for key, value in cast("dict[object, Any]", loaded).items()}


def _regions(text: str, lines: list[Line], first: int) -> Iterator[Region]:
    names: set[str] = set()
    begin: tuple[int, str, Line] | None = None
    for number, line in enumerate(lines, start=first):
        marker = _MARKER.fullmatch(line.text)
        if marker is None:
            if _LIKE_MARKER_LINE.match(line.text):
                _refuse(number, f"{line.text.strip()!r} is not a region marker", _FORM)
            continue
        kind, name = marker[1], marker[2]
        if kind == "begin":
            if begin:
                _refuse(number, f"region {name!r} begins inside region {begin[1]!r}", "regions cannot be nested")
            if name in names:
                _refuse(number, f"a second region is named {name!r}", "give each region a name of its own")
            names.add(name)
            begin = (number, name, line)
            continue
        if begin is None or begin[1] != name:
            inside = f"inside region {begin[1]!r}" if begin else "but does not begin"
            _refuse(number, f"region {name!r} ends here {inside}", _FORM)
        inner = (begin[2].stop, line.start)
        yield Region(name, _without_last_line_end(text[slice(*inner)]), (begin[2].start, line.stop), inner)
        begin = None
    if begin:
        _refuse(begin[0], f"region {begin[1]!r} is not closed", _FORM)


def _without_last_line_end(text: str) -> str:
    return text[: -len("\r\n")] if text.endswith("\r\n") else text[:-1]


def _refuse(line: int, problem: str, hint: str) -> NoReturn:
    raise SkillError(f"line {line}: {problem}", hint=hint)
