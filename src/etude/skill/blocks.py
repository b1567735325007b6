"""A skill in blocks that can be left out: paragraphs, items of lists, tables, fenced code."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from etude.skill.document import BOM, Document
from etude.skill.lines import Fences, line_end_of, lines_of, next_line_end

_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,9}[.)])\s")
_PARAGRAPH = re.compile(rf" {{0,3}}(?!{_ITEM.pattern}|[>|`~\s])")
"""The first line of a text that a line of `=` or `-` below makes a heading."""
_MARKS = re.compile(r"\s*(?:>\s*)*(?:(?:[-*+•]|\d+[.)])\s+)?(?:\[[ xX]\]\s+)?")
_RULE = re.compile(r"\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|=+|-+|(?:</?[A-Za-z][\w-]*(?:\s[^<>]*)?>\s*)+)")
"""Rules, and lines of tags alone: without one of a pair the other would stand open."""
_BLANK = re.compile(r"[ \t]*(?:\r\n|\r|\n)")
_BLANKS_AT_END = re.compile(r"(\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))+\Z")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_CODE = re.compile(r"`|\$[^$]+\$|\\[(\[]|\w\(|\w_\w|[a-z][A-Z]|(?<!\S)--\w|[=<>≤≥≠≈±×÷√∑²³]|\w\s*[*/^+]\s*\w")
"""Code, names of functions and variables, options of commands, formulas."""
_INDENTED = re.compile(r"(?:\A|[\r\n][ \t]*[\r\n]+)(?: {4}|\t)[ \t]*\S")
"""Code by its indent, where that is not the one of an item of a list."""


class Block(NamedTuple):
    """Lines that belong together."""

    start: int
    """Offset in the text of the skill."""
    stop: int
    text: str
    section: int
    """Number of the heading above it, 0 before the first one."""
    code: bool
    """It holds code, the name of a function or a formula."""


class Part(NamedTuple):
    """A heading, paragraph, item of a list at any depth, table, or fenced code, with the blank lines inside."""

    kind: Literal["heading", "text", "table", "code"]
    start: int
    """Offset in the text."""
    stop: int
    text: str
    adjoins: bool
    """No blank line, heading, rule or comment stands before it."""

    @property
    def words(self) -> str:
        """Its text on one line, without the mark of an item."""
        return " ".join(_MARKS.sub("", self.text, count=1).split())


def parts_of(text: str) -> Iterator[Part]:
    """What a text in Markdown is made of, in order, without rules, HTML comments and lines of tags alone."""
    fences, comment, found, adjoins = Fences(), False, None, False
    for line in lines_of(text):
        shown = line.text.removeprefix(BOM)
        code, bare = fences.read(shown), shown.strip()
        comment = comment or (not code and bare.startswith("<!--"))
        if comment or (not code and (not bare or _RULE.fullmatch(shown))):
            if found and adjoins and _UNDERLINE.fullmatch(shown) and _PARAGRAPH.match(found.text):
                found = found._replace(kind="heading")
            comment, adjoins = comment and "-->" not in bare, False
            continue
        kind = "code" if code else "heading" if _HEADING.match(shown) else "table" if bare[0] == "|" else "text"
        begins = kind == "heading" or (kind == "text" and _ITEM.match(bare))
        if found and adjoins and not begins and kind == found.kind:
            found = found._replace(stop=line.stop, text=text[found.start : line.stop])
        else:
            if found:
                yield found
            found = Part(kind, line.start, line.stop, text[line.start : line.stop], adjoins)
        adjoins = kind != "heading"
    if found:
        yield found


def is_hollow(text: str) -> bool:
    """Whether a skill has no text, or headings only. Raises SkillError: it cannot be read."""
    return all(part.kind == "heading" for part in parts_of(Document.parse(text).body))


def blocks_of(text: str) -> list[Block]:
    """All blocks of a skill that edits may touch, in their order. An item has what is indented below it, a table all
    of its rows. What `parts_of` leaves out, and headings, are in none. Raises SkillError: it cannot be read."""
    document, found = Document.parse(text), list[Block]()
    at = len(document.front_matter)
    section, last, spans = 0, "", document.editable_spans
    for part in parts_of(document.body):
        part = part._replace(start=part.start + at, stop=part.stop + at)
        if part.kind == "heading" or not any(start <= part.start and part.stop <= stop for start, stop in spans):
            section, last = section + (part.kind == "heading"), ""
            continue
        indented = part.text[:1] in (" ", "\t")
        lazy = part.adjoins and part.kind == "text" and last != "code" and not _ITEM.match(part.text.strip())
        start = found.pop().start if last and (indented or lazy) else part.start
        whole, last = text[start : part.stop], part.kind
        code = last == "code" or _CODE.search(whole) or (_INDENTED.search(whole) and not _ITEM.match(whole.lstrip()))
        found.append(Block(start, part.stop, whole, section, bool(code)))
    return found


def without_blocks(text: str, blocks: Sequence[Block], out: Collection[int]) -> str:
    """The skill without the blocks of these numbers, and without the blank lines before each of them."""
    kept, done = "", 0
    for number in sorted(out):
        block = blocks[number]
        kept += text[done : block.start]
        done = block.stop
        if not text[done:].strip() or _BLANK.match(text, done):
            kept = _BLANKS_AT_END.sub(r"\1", kept)
        elif _UNDERLINE.fullmatch(text[done : next_line_end(text, done)[0]]):
            kept += line_end_of(text)  # else it would make a heading of what stands above, or front matter
    return kept + text[done:]
