"""Fenced code of Markdown, at any depth of lists and quotes."""

import re

from etude.skill.lines import lines_of

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
