"""A skill in blocks that can be left out: paragraphs, items of lists, tables, fenced code."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from etude.skill.document import Document
from etude.skill.fences import Fences
from etude.skill.lines import lines_of

_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_STARTS = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s|\|")
_RULE = re.compile(r"\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|=+|-+)")
_BLANK = re.compile(r"[ \t]*(?:\r\n|\r|\n)")
_BLANKS_AT_END = re.compile(r"(\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))+\Z")
_CODE = re.compile(r"`|\$[^$]+\$|\\[(\[]|\w\(|\w_\w|[a-z][A-Z]|[=<>≤≥±×÷]|\w\s*[*/^]\s*\w")
"""Code, names of functions and variables, formulas."""


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


def blocks_of(text: str) -> list[Block]:
    """All blocks of a skill that edits may touch, in their order. An item has the lines that are indented below it, a
    table all of its rows. Headings, rules and HTML comments are in none. Raises SkillError: it cannot be read."""
    spans, fences, found = Document.parse(text).editable_spans, Fences(), list[Block]()
    section, before, inside, comment, fenced = 0, "", False, False, False
    for line in lines_of(text):
        code, fenced = fenced, fences.read(line.text)
        bare = line.text.strip()
        comment = comment or (not fenced and bare.startswith("<!--"))
        if comment or not any(start <= line.start and line.stop <= stop for start, stop in spans):
            inside, comment = False, comment and "-->" not in bare
        elif not fenced and (_HEADING.match(line.text) or _RULE.fullmatch(line.text)):
            section, inside = section + bool(_HEADING.match(line.text)), False
        elif bare or fenced:
            goes_on = bool(before) and not fenced and not _STARTS.match(bare) and not code
            row = bare.startswith("|") and before.startswith("|")
            joins = inside and (line.text[:1] in (" ", "\t") or goes_on or row or (fenced and code))
            start = found.pop().start if joins else line.start
            whole = text[start : line.stop]
            found.append(Block(start, line.stop, whole, section, fenced or bool(_CODE.search(whole))))
            inside = True
        before = bare
    return found


def without_blocks(text: str, blocks: Sequence[Block], out: Collection[int]) -> str:
    """The skill without the blocks of these numbers, and without the blank lines before each of them."""
    pieces, done = list[str](), 0
    for number in sorted(out):
        block = blocks[number]
        pieces.append(text[done : block.start])
        done = block.stop
        if not text[done:].strip() or _BLANK.match(text, done):
            pieces[-1] = _BLANKS_AT_END.sub(r"\1", pieces[-1])
    return "".join([*pieces, text[done:]])
