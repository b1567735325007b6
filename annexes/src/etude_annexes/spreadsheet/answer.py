"""Which cells of a workbook are the answer, and how far another workbook agrees with them."""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from etude.envs.scorers.answer_scorer import shorten
from etude.errors import DataError
from etude.records import Record, Score

SHOWN = 5
"""Wrong cells that feedback tells."""

_CORNER = re.compile(r"\$?(?P<column>[A-Za-z]{0,3})\$?(?P<row>\d*)")


class Range(NamedTuple):
    """Cells of a sheet, rows and columns counted from 1; None is an end that is open."""

    sheet: str
    row: int
    column: int
    last_row: int | None
    last_column: int | None

    @property
    def shown(self) -> str:
        """As it is written in a formula: 'Sheet1'!A1:B2."""
        first = f"{letters_of(self.column)}{self.row}"
        if self.last_row is None and self.last_column is None:
            last = ""
        elif self.last_row is None:
            first = letters_of(self.column) if self.row == 1 else first
            last = letters_of(self.last_column)
        elif self.last_column is None:
            first = str(self.row) if self.column == 1 else first
            last = str(self.last_row)
        else:
            last = f"{letters_of(self.last_column)}{self.last_row}"
        return f"'{self.sheet}'!{first}" + (f":{last}" if last and last != first else "")


class Cells(Record):
    """The cells of a range that are not empty, as `cells.read_cells` returns them."""

    values: dict[str, float | str]
    shown: dict[str, str]
    formulas: tuple[str, ...]

    def show(self, cell: str) -> str:
        """A value as a person would write it; text in quotes."""
        value = self.values.get(cell)
        if value is None:
            return "a formula without a stored value" if cell in self.formulas else "nothing"
        if cell in self.shown:
            return self.shown[cell]
        return repr(shorten(value, 60)) if isinstance(value, str) else f"{value:.15g}"


class Contents(Record):
    """What was read of a workbook: its sheets, and the cells of each range, None where the sheet is missing."""

    sheets: tuple[str, ...] = ()
    ranges: tuple[Cells | None, ...] = ()
    error: str = ""
    """Why nothing could be read."""


def parse_ranges(position: str, sheets: str, first_sheet: str, place: str) -> tuple[Range, ...]:
    """The ranges of an answer position as published: `A1:B2,'Other'!C3`, with or without quotes around any part.

    A range that names no sheet is on the first one of `sheets`, the data's list of sheets with answers, else on the
    first sheet of the workbook. `A:C` are whole columns, `2:5` whole rows, and a second corner without a column has
    that of the first. Raises DataError: no range can be read from it; names `place`."""
    default = _unquoted(sheets.split(",")[0]) or first_sheet
    return tuple(_range(part, default, place) for part in position.split(","))


def _unquoted(text: str) -> str:
    return text.strip().strip("'\"").strip()


def _range(text: str, default: str, place: str) -> Range:
    sheet, mark, cells = text.rpartition("!")
    first, colon, second = _unquoted(cells).partition(":")
    start, end = _CORNER.fullmatch(first.strip()), _CORNER.fullmatch(second.strip() if colon else first.strip())
    if start is None or end is None or not start[0] or not end[0]:
        raise DataError(f"{place}: answer_position: {text!r} names no cells", hint="as in 'Sheet1'!A1:B2")
    row, last_row = (int(corner["row"]) if corner["row"] else None for corner in (start, end))
    column = _column(start["column"])
    last_column = _column(end["column"]) or (column if row is not None else None)
    rows = sorted(each for each in (row, last_row) if each is not None)
    columns = sorted(each for each in (column, last_column) if each is not None)
    return Range(
        sheet=_unquoted(sheet) if mark else default,
        row=rows[0] if row is not None else 1,
        column=columns[0] if column is not None else 1,
        last_row=rows[-1] if last_row is not None else None,
        last_column=columns[-1] if last_column is not None else None,
    )


def _column(letters: str) -> int | None:
    return import_module("openpyxl.utils").column_index_from_string(letters) if letters else None


def letters_of(column: int | None) -> str:
    """The letters of a column; empty for an end that is open."""
    return import_module("openpyxl.utils").get_column_letter(column) if column else ""


def compare(ranges: Sequence[Range], gold: Contents, output: Contents) -> Score:
    """1 when all cells of all ranges agree, else 0, with the first differences as feedback."""
    if output.error:
        return Score(hard=0, soft=0, feedback=f"the workbook cannot be read: {shorten(output.error, 300)}")
    problems: list[str] = []
    wrong = 0
    formulas = 0
    for place, right, got in zip(ranges, gold.ranges, output.ranges, strict=True):
        assert right is not None
        if got is None:
            found = ", ".join(map(repr, output.sheets))
            return Score(hard=0, soft=0, feedback=f"there is no sheet {place.sheet!r}; sheets: {shorten(found, 200)}")
        cells = [cell for cell in {**right.values, **got.values} if right.values.get(cell) != got.values.get(cell)]
        wrong += len(cells)
        formulas += len(set(cells) & set(got.formulas))
        for cell in sorted(cells, key=_order)[: SHOWN - len(problems)]:
            problems.append(f"{place.sheet}!{cell}: expected {right.show(cell)}, found {got.show(cell)}")
    if not wrong:
        return Score(hard=1, soft=1, feedback="correct")
    cells = "1 cell of the answer is" if wrong == 1 else f"{wrong} cells of the answer are"
    more = f"; and {wrong - len(problems)} more" if wrong > len(problems) else ""
    stored = "; formulas count by their stored value, which only a spreadsheet program writes" if formulas else ""
    return Score(hard=0, soft=0, feedback=f"{cells} wrong: {'; '.join(problems)}{more}{stored}")


def _order(cell: str) -> tuple[int, int]:
    corner = _CORNER.fullmatch(cell)
    assert corner is not None
    return int(corner["row"]), _column(corner["column"]) or 0
