"""Tables as text. The first row is the header."""

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
