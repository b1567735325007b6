"""Rows that are no tasks: what spreadsheets, reports and notebooks leave in a table."""

import re
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from etude.cli.scaffold.table import is_known
from etude.envs.files import Row
from etude.readable import some

_SUM = re.compile(
    r"(.+ )?(totals?|subtotal|sum|average|mean|count|summe|gesamt|insgesamt|durchschnitt|somme|suma|totale):?",
    re.IGNORECASE,
)
"""What stands before a sum."""
_SUM_WORDS = 2
_ERRORS = frozenset(("#REF!", "#N/A", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"))
"""What Excel shows in place of a value."""
_LINE = re.compile(r":?-{2,}:?")
"""A cell below the head of a table in Markdown."""
_SHOWN = 5


def tidied(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows that are tasks, and notes on what was done; no note where nothing was."""
    if len(rows) == 1 and (columns := _by_column(rows[0].columns)):
        table = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
        found = [Row(f"{rows[0].place.partition(':')[0]}: row {at}", row) for at, row in enumerate(table, 1)]
        return found, ["the file has a list for each column: its tasks are the rows of these"]
    notes: list[str] = []
    heads = [row for number, row in enumerate(rows) if _is_head(row.columns, first=number == 0)]
    notes += _left_out(heads, "as it is a head of the table", "as they are heads of the table")
    rest = [row for row in rows if row not in heads]
    if len(rest) > 2 and _is_sum(rest[-1].columns) and not any(_is_sum(row.columns) for row in rest[:-1]):
        notes += _left_out([rest.pop()], "as it sums up the others", "")
    broken = [(row, cell) for row in rest for cell in row.columns.values() if _text(cell) in _ERRORS]
    if broken:
        first, cell = broken[0]
        cells = "1 cell holds an error" if len(broken) == 1 else f"{len(broken)} cells hold errors"
        notes.append(f"{cells} of a spreadsheet, as {cell!r} at {first.place}: taken for empty")
        rest = [Row(row.place, {name: _healed(cell) for name, cell in row.columns.items()}) for row in rest]
    return rest, notes


def _left_out(rows: Sequence[Row], one: str, several: str) -> list[str]:
    if not rows:
        return []
    places = some([row.place for row in rows], _SHOWN)
    return [f"left out, {one if len(rows) == 1 else several}: {places}"]


def _by_column(columns: Mapping[str, JsonValue]) -> dict[str, list[JsonValue]]:
    """The values of each column, as pandas writes a table as JSON; empty where this is a row."""
    lists = {name: list(held.values()) if isinstance(held, dict) else held for name, held in columns.items()}
    found = {name: held for name, held in lists.items() if isinstance(held, list)}
    even = len(found) == len(columns) > 1 and len({len(held) for held in found.values()}) == 1
    plain = all(not isinstance(value, dict | list) for held in found.values() for value in held)
    return found if even and plain and len(next(iter(found.values()))) > 1 else {}


def _is_head(columns: Mapping[str, JsonValue], *, first: bool) -> bool:
    """Whether a row repeats the names of its columns, or has others below them, or the line of Markdown."""
    cells = {name: text for name, cell in columns.items() if (text := _text(cell))}
    repeats = all(text.casefold() == name.strip().casefold() for name, text in cells.items())
    return len(cells) > 1 and (
        repeats or all(map(_LINE.fullmatch, cells.values())) or (first and all(map(is_known, cells.values())))
    )


def _is_sum(columns: Mapping[str, JsonValue]) -> bool:
    """Whether the first cell that holds anything says that the row is a sum of others."""
    first = next((text for cell in columns.values() if (text := _text(cell))), "")
    return bool(_SUM.fullmatch(first)) and len(first.split()) <= _SUM_WORDS


def _healed(cell: JsonValue) -> JsonValue:
    return "" if _text(cell) in _ERRORS else cell


def _text(cell: JsonValue) -> str:
    return cell.strip() if isinstance(cell, str) else ""
