"""Tables as text, CSV and Markdown, and lines that fit a terminal. The first row of a table is the header."""

import csv
import io
import re
import textwrap
from collections.abc import Sequence

Table = Sequence[Sequence[str]]

_FIRST_COLUMN = re.compile(r" *(?:\S+(?: \S+)* {2,})?")
_DEEPEST = 16
"""Columns that the rest of a line may be indented by."""


def text_lines(table: Table) -> list[str]:
    """Columns side by side, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return [row.rstrip() for row in rows]


def fitted(text: str, width: int) -> list[str]:
    """The line, broken between words where it is wider than that; what follows stands under its second column."""
    if len(text) <= width:
        return [text]
    column = _FIRST_COLUMN.match(text)
    indent = 0 if column is None or column.end() > _DEEPEST else column.end()
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


def csv_lines(table: Table) -> list[str]:
    """Comma-separated values, quoted where needed."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(table)
    return stream.getvalue().removesuffix("\n").split("\n")


def markdown_lines(table: Table) -> list[str]:
    """A Markdown table."""
    header, *rows = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table)
    return [header, f"|{'---|' * len(table[0])}", *rows]
