"""A text as lines, and the fenced code in it. A line ends with LF, CRLF or a lone CR; nothing else ends one."""

import re
from typing import NamedTuple

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")


class Line(NamedTuple):
    """One line. `text` goes without its line end, `stop` is the offset after it."""

    text: str
    start: int
    stop: int


def lines_of(text: str) -> list[Line]:
    """All lines of `text`, in order; none for the empty text. Each starts where the one before stops."""
    return [Line(match[1], match.start(), match.end()) for match in _LINE.finditer(text) if match[0]]


def line_end_of(text: str) -> str:
    """The first line end in `text`, a line feed when it has none: what added lines end with."""
    found = _LINE_END.search(text)
    return found[0] if found else "\n"


def next_line_end(text: str, offset: int) -> tuple[int, int]:
    """Start and stop of the first line end at or after `offset`; twice the length of `text` when there is none."""
    found = _LINE_END.search(text, offset)
    return found.span() if found else (len(text), len(text))


def with_line_ends(text: str, line_end: str) -> str:
    """`text` with `line_end` in place of each of its line ends."""
    return _LINE_END.sub(lambda _: line_end, text)


def without_blank_edges(text: str) -> str:
    """`text` without the blank lines before and after it, and without its last line end. Indentation stays."""
    found = _BLANK_LINES.match(text)
    return without_blank_end(text[found.end() :] if found else text)


def without_blank_end(text: str) -> str:
    """`text` without its last line end and the blank lines after it. Spaces at the end of a line stay."""
    stop = len(text.rstrip(" \t\r\n"))
    while stop < len(text) and text[stop] in " \t":
        stop += 1
    return text[:stop]


_OPENS = re.compile(r"(?P<before>[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]*)*)(?P<fence>`{3,}(?=[^`]*\Z)|~{3,})")


class Fences:
    """Goes through a text line by line and knows whether it is inside fenced code."""

    def __init__(self) -> None:
        self.fence = ""
        """What closes the code that the last line was in; empty outside of code."""
        self.indent = ""
        """What stands before it there: blanks for list marks, and the marks of quotes."""

    def read(self, line: str) -> bool:
        """Take the next line, without its line end; whether it belongs to fenced code, fences included."""
        if self.fence:
            mark = line.strip(" \t>")
            if mark == mark[:1] * len(mark) and mark.startswith(self.fence):
                self.fence = ""
            return True
        opens = _OPENS.match(line)
        if opens:
            self.fence, self.indent = opens["fence"], re.sub(r"[^>\t]", " ", opens["before"])
        return opens is not None


def left_open(text: str) -> str:
    """The line that would close the fenced code which `text` leaves open; empty when it closes all of it."""
    fences = Fences()
    for line in lines_of(text):
        fences.read(line.text)
    return fences.indent + fences.fence if fences.fence else ""


def closed(text: str) -> str:
    """`text`, with a line that closes the fenced code it leaves open."""
    mark = left_open(text)
    return f"{text}\n{mark}" if mark else text
