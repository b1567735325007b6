"""Tables as text, CSV and Markdown. The first row of a table is the header."""

import csv
import io
from collections.abc import Sequence

Table = Sequence[Sequence[str]]


def text_lines(table: Table) -> list[str]:
    """Columns side by side, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return [row.rstrip() for row in rows]


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
