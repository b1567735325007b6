"""A skill document: front matter, body and named protected regions, all kept byte for byte.

A region stands between two marker lines:

    <!-- etude:begin guidance -->
    anything but marker lines
    <!-- etude:end guidance -->

A marker line is a marker wherever it stands, inside a fenced code block too: a reader that had to understand Markdown
to find the regions could be led astray by an edit that opens a fence. Blanks around a marker on its line are allowed.
A line that starts like a marker but is not exactly one is an error and not text, since its author meant to
protect something. Within a line of text a marker means nothing.

Where files of the skill are trained, the line `<!-- etude:files -->` ends the body, and below it stands each file
under a line with its path (`etude.skill.parts`). No part of a file is a region.

The region named `learned` turns this around: in a document that has it only the inside of that block may be edited,
and everything else, both of its marker lines too, is protected.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NoReturn, cast

import yaml

from etude.errors import SkillError
from etude.safe_yaml import load_yaml
from etude.skill.lines import Line, closed, line_end_of, lines_of, with_line_ends, without_blank_edges
from etude.skill.markers import (
    FILE_FORM,
    FILES,
    FORM,
    NAME,
    made_harmless,
    path_fault,
    pretends,
    read_file_mark,
    read_marker,
)
from etude.skill.placing import divided, inside, statements

BOM = "\ufeff"
LEARNED = "learned"
"""The region that is the only editable part of a document that has it."""

_FENCE = re.compile(r"---[ \t]*")


@dataclass(frozen=True)
class Region:
    """A named part of a document: protected, or the `learned` block."""

    name: str
    content: str
    """The text between the marker lines, without the line end before the end marker."""
    span: tuple[int, int]
    """Start and stop in the document's text: both marker lines with their line ends."""
    inner: tuple[int, int]
    """Start and stop of what is between the marker lines."""


@dataclass(frozen=True)
class FilePart:
    """A file of the skill, as the text that is trained has it."""

    path: str
    says: str
    """`+x` where it can be run; `kept` where it stands here with its path alone."""
    span: tuple[int, int]
    """Start and stop in the document's text, with the line above it."""
    inner: tuple[int, int]
    """Start and stop of its content."""


@dataclass(frozen=True)
class Document:
    """A parsed SKILL.md or plain Markdown text. Made by `parse`; every change returns a new document."""

    text: str
    """Byte for byte what was parsed."""
    front_matter: str
    """Everything up to and with the closing fence and its line end, a byte order mark too; '' when there is none."""
    meta: Mapping[str, Any] = field(compare=False)
    """The front matter as YAML reads it; empty when there is none."""
    regions: tuple[Region, ...]
    """In the order they stand in."""
    files_at: int | None = None
    """Where the line stands that ends the text proper; None where files are not trained."""
    files: tuple[FilePart, ...] = ()

    @staticmethod
    @lru_cache(maxsize=128)  # a search reads the same few texts again and again
    def parse(text: str) -> "Document":
        """Read a document.
        Raises SkillError: the front matter is unclosed, no YAML or no mapping; or a region is unclosed, nested,
        closed before it begins or has a name that another region has; or a file has no path that it may have. Names
        the line, counted from 1."""
        lines = lines_of(text)
        if text.startswith(BOM):
            lines[0] = Line(lines[0].text[len(BOM) :], len(BOM), lines[0].stop)
        closing = _closing_fence(lines)
        front_matter, meta, start = "", cast("Mapping[str, Any]", MappingProxyType({})), 0
        if closing is not None:
            front_matter, start = text[: lines[closing].stop], closing + 1
            meta = _mapping(text[lines[0].stop : lines[closing].start])
        end = next((at for at in range(start, len(lines)) if lines[at].text == FILES), len(lines))
        regions = tuple(_regions(text, lines[start:end], first=start + 1))
        if end == len(lines):
            return Document(text, front_matter, meta, regions)
        files = tuple(_files(text, lines[end + 1 :], first=end + 2))
        return Document(text, front_matter, meta, regions, lines[end].start, files)

    @property
    def body(self) -> str:
        """Everything after the front matter, regions included, without the files."""
        return self.text[len(self.front_matter) : self.body_stop]

    @property
    def body_stop(self) -> int:
        """Where the body ends in `text`."""
        return len(self.text) if self.files_at is None else self.files_at

    @property
    def editable_spans(self) -> tuple[tuple[int, int], ...]:
        """Starts and stops in `text` that edits may touch: the inside of the `learned` block, or the body without
        its regions, and each file, where there is no such block. None is empty."""
        learned = self._find(LEARNED)
        spans = [learned.inner] if learned else [*self._between, *(file.inner for file in self.files)]
        return tuple(span for span in spans if span[0] < span[1])

    @property
    def learned(self) -> str | None:
        """The content of the `learned` block; None when there is none."""
        return self.region(LEARNED)

    @property
    def learned_span(self) -> tuple[int, int] | None:
        """Start and stop in `text` of what is between the markers of the `learned` block; None without one. What
        is there is empty or ends with a line end."""
        found = self._find(LEARNED)
        return found.inner if found else None

    @property
    def line_end(self) -> str:
        """What added lines end with: the line end after the begin marker of the `learned` block, else the first."""
        found = self._find(LEARNED)
        return line_end_of(self.text[found.span[0] :] if found else self.text)

    def with_learned(self, text: str) -> "Document":
        """The document with `text` in its `learned` block, which is added at the end when there is none.

        Blank lines around `text` do not count. Nothing else changes, but that a new block gets the line ends before
        it that make a blank line. What looks like a marker is made harmless as in `with_region`, and fenced code that
        `text` leaves open is closed.
        """
        return self.with_region(LEARNED, closed(without_blank_edges(text)) if text.strip() else "")

    def region(self, name: str) -> str | None:
        """The content of a region; None when there is no region of that name."""
        found = self._find(name)
        return found.content if found else None

    def with_region(self, name: str, content: str) -> "Document":
        """The document with this content in the region, which is added at the tail when it does not exist.

        The region's content becomes `content`, with the line ends of the document, and with every text in it that
        looks like a marker made harmless: `etude:begin` turns into `etude begin`, so no content can close its region
        or open another.
        Raises SkillError: the name is not a lowercase letter followed by lowercase letters, digits, `-` and `_`."""
        if not NAME.fullmatch(name):
            raise SkillError(f"region name {name!r} must match {NAME.pattern}", hint="for example 'slow-update'")
        if content == self.region(name):
            return self
        found = self._find(name)
        line_end = line_end_of(self.text[found.span[0] :]) if found else self.line_end
        content = with_line_ends(made_harmless(content), line_end)
        inner = content + line_end if content else ""
        if found:
            start, stop = found.inner
            return Document.parse(self.text[:start] + inner + self.text[stop:])
        begin, end = f"<!-- etude:begin {name} -->{line_end}", f"<!-- etude:end {name} -->{line_end}"
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
        if (head in ("", BOM) and after and _FENCE.fullmatch(after[0].text)) or (not head and tail.startswith(BOM)):
            # What came first would be read as front matter, or as the byte order mark before it.
            head += line_end_of(self.text)
        return Document.parse(head + tail)

    def with_editable(self, text: str) -> "Document":
        """The document with `text` in place of everything that edits may touch.

        Front matter and regions stay byte for byte, in their order, each where a pair of its marker lines stands in
        `text`; what is between these, and a front matter, are copies of what is kept and are left out. Without all
        pairs once and in their order, regions that came first stay first and the others go to the end. What still
        looks like a marker is made harmless as in `with_region`. A text that says line by line what is there changes
        nothing.

        In a document with a `learned` block only the inside of the block is replaced: by what is between its marker
        lines in `text`, or by all of `text` when nothing is between them or the pair is not there. All that stands
        above or below the block is left out where `text` begins or ends with it.
        """
        learned = self._find(LEARNED)
        if learned:
            return self._with_inside(learned, _without_front_matter(text.replace(BOM, "")))
        old = [self.text[start:stop] for start, stop in self._between]
        plain = [piece.replace(BOM, "") for piece in old]
        new = divided(plain, [region.name for region in self.regions], _without_front_matter(text.replace(BOM, "")))
        if _said(plain) == _said(new):
            return self
        line_end = line_end_of(self.text)
        written, last = "", len(new) - 1
        for index, piece in enumerate(new):
            piece = with_line_ends(piece, line_end)
            written += _in_place_of(old[index], piece, line_end, first=index == 0, last=index == last)
            if index < last:
                written += self.text[slice(*self.regions[index].span)]
                if index + 1 == last and new[last] and not written.endswith(("\n", "\r")):
                    written += line_end
        head = self.text[: self._body_start]
        if self.front_matter:
            head += "" if head.endswith(("\n", "\r")) else line_end
        elif any(_FENCE.fullmatch(line.text) for line in lines_of(written)[:1]):
            head += line_end  # a thematic break that came first would be read as front matter
        return Document.parse(head + written + self.text[self.body_stop :])

    def _with_inside(self, block: Region, text: str) -> "Document":
        start, stop = block.inner
        old = self.text[start:stop]
        above, below = self.text[self._body_start : block.span[0]], self.text[block.span[1] :]
        new = closed(inside(block.name, old, text, above, below))
        if statements(new) == statements(old):
            return self
        written = with_line_ends(new, self.line_end) + self.line_end if new else ""
        return Document.parse(self.text[:start] + written + self.text[stop:])

    @property
    def _between(self) -> list[tuple[int, int]]:
        """Starts and stops of what is before each region, and after the last; each may be empty."""
        starts = [self._body_start, *(region.span[1] for region in self.regions)]
        stops = [*(region.span[0] for region in self.regions), self.body_stop]
        return list(zip(starts, stops, strict=True))

    @property
    def _body_start(self) -> int:
        """Where the text begins that is neither front matter nor byte order mark."""
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


def _said(pieces: Iterable[str]) -> list[str]:
    return [line for piece in pieces for line in statements(piece)]


def _in_place_of(old: str, text: str, line_end: str, *, first: bool, last: bool) -> str:
    """A piece of the text between two regions in place of another one, with the blank lines around it."""
    above = old[: len(old) - len(old.lstrip("\r\n"))]
    gap = line_end * (1 if last else 2)
    if old.strip():
        if text:
            return above + text + (old[len(old.rstrip()) :] or gap)
        return above if first else "" if last else above or line_end
    return (above if first else above or line_end) + text + gap if text else old


def _without_front_matter(text: str) -> str:
    lines = lines_of(text)
    try:
        closing = _closing_fence(lines)
        if closing is None:
            return text
        _mapping(text[lines[0].stop : lines[closing].start])
    except SkillError:
        return text  # no front matter: all of it is text
    return text[lines[closing].stop :]


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


@lru_cache(maxsize=32)
def _mapping(source: str) -> Mapping[str, Any]:
    """Parsed once: the variants of a skill share their front matter, and YAML is slow to read."""
    try:
        loaded: object = load_yaml(source)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        _refuse(line, f"the front matter is not YAML: {error.problem}", "quote values that contain ': ' or ' #'")
    except yaml.YAMLError as error:
        _refuse(2, f"the front matter is not YAML: {error}", "quote the value that is meant as text")
    if loaded is None:
        return MappingProxyType({})
    if not isinstance(loaded, dict):
        _refuse(2, f"the front matter is a {type(loaded).__name__}, not a mapping", "write 'key: value' lines")
    return MappingProxyType({str(key): value for key, value in cast("dict[object, Any]", loaded).items()})


def _regions(text: str, lines: list[Line], first: int) -> Iterator[Region]:
    names: set[str] = set()
    begin: tuple[int, str, Line] | None = None
    for number, line in enumerate(lines, start=first):
        marker = read_marker(line.text)
        if marker is None:
            if pretends(line.text):
                _refuse(number, f"{line.text.strip()!r} is not a region marker", FORM)
            continue
        kind, name = marker
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
            _refuse(number, f"region {name!r} ends here {inside}", FORM)
        inner = (begin[2].stop, line.start)
        yield Region(name, _without_last_line_end(text[slice(*inner)]), (begin[2].start, line.stop), inner)
        begin = None
    if begin:
        _refuse(begin[0], f"region {begin[1]!r} is not closed", FORM)


def _files(text: str, lines: list[Line], first: int) -> Iterator[FilePart]:
    marks: list[tuple[int, str, str]] = []
    for index, line in enumerate(lines):
        mark = read_file_mark(line.text)
        if mark is None and (pretends(line.text) or not marks):
            _refuse(first + index, f"{line.text.strip()!r:.100} stands in no file", FILE_FORM)
        if mark is not None:
            if fault := path_fault(mark[0], (path for _, path, _ in marks)):
                _refuse(first + index, fault, FILE_FORM)
            marks.append((index, *mark))
    starts = [*(lines[index].start for index, _, _ in marks), len(text)]
    for (index, path, says), start, stop in zip(marks, starts, starts[1:], strict=False):
        if says == "kept" and lines[index].stop < stop:
            _refuse(first + index, f"{path!r} is kept as it is and has text here", "leave the text out")
        yield FilePart(path, says, (start, stop), (lines[index].stop, stop))


def _without_last_line_end(text: str) -> str:
    return text[: -len("\r\n")] if text.endswith("\r\n") else text[:-1]


def _refuse(line: int, problem: str, hint: str) -> NoReturn:
    raise SkillError(f"line {line}: {problem}", hint=hint)
