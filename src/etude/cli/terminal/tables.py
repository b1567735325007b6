"""Tables, and lines that fit a terminal. The first row of a table is the header."""

import re
import textwrap
from collections.abc import Sequence

Table = Sequence[Sequence[str]]

_COLUMN = re.compile(r" {2,}(?=\S)")
_NARROWEST = 24
"""Room that the last column of a broken line needs."""


def text_lines(table: Table) -> list[str]:
    """Columns side by side, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return [row.rstrip() for row in rows]


def fitted(text: str, width: int) -> list[str]:
    """The line, broken between words where it is wider than that; what follows stands under its last column."""
    columns = [found.end() for found in _COLUMN.finditer(text) if found.end() <= width - _NARROWEST]
    indent = columns[-1] if columns else 0
    if len(text) <= width or " " not in text[indent:]:
        return [text]
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * indent,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


def shown(score: float | None) -> str:
    """A score as a cell; `-` where it was not measured."""
    return "-" if score is None else f"{score:.3f}"
