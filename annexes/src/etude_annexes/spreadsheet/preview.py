"""The first rows of each sheet, as text for a prompt."""

import csv
from importlib import import_module
from io import StringIO
from typing import Any

ROWS = 5
COLUMNS = 20
SHEETS = 10
CELL_CHARS = 100


def preview(workbook: Any) -> str:
    """Every sheet with its size and its first rows and columns, as CSV under the letters of the columns."""
    parts = [_sheet(sheet) for sheet in workbook.worksheets[:SHEETS]]
    if len(workbook.worksheets) > SHEETS:
        rest = ", ".join(repr(sheet.title) for sheet in workbook.worksheets[SHEETS:])
        parts.append(f"Further sheets: {rest}")
    return "\n\n".join(parts)


def _sheet(sheet: Any) -> str:
    rows, columns = min(sheet.max_row, ROWS), min(sheet.max_column, COLUMNS)
    head = f"Sheet {sheet.title!r}, used cells {sheet.calculate_dimension()}"
    shown = list(sheet.iter_rows(min_row=1, max_row=rows, min_col=1, max_col=columns))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    letter = import_module("openpyxl.utils").get_column_letter
    writer.writerow(["row", *map(letter, range(1, columns + 1))])
    for number, cells in enumerate(shown, 1):
        writer.writerow([number, *(_value(cell.value) for cell in cells)])
    left = [f"{sheet.max_row - rows} more rows"] if sheet.max_row > rows else []
    left += [f"{sheet.max_column - columns} more columns"] if sheet.max_column > columns else []
    return f"{head}\n{text.getvalue()}" + (f"({' and '.join(left)})" if left else "").strip()


def _value(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= CELL_CHARS else f"{text[:CELL_CHARS]}..."
