"""Read the values of cells from a workbook, in the form in which they are compared.

This file imports nothing of etude: it also runs as a program in the sandbox, where it reads workbooks that a
model's code has written. Then standard input is a request and standard output the answer, both JSON.
"""

import json
import math
import sys
import warnings
import zipfile
from datetime import date, datetime, time, timedelta
from typing import Any

MOST_UNPACKED = 100_000_000
"""Bytes that a workbook may have unpacked; a file of a few kB can hold more than any memory."""

_DAY_0 = datetime(1899, 12, 30)


def comparable(value: Any) -> float | str | None:
    """What counts of a value: numbers to two decimals, dates to the day as Excel numbers them, times to the minute,
    text that reads as a number like that number, nothing for an empty text."""
    if isinstance(value, datetime):
        return float(round((value - _DAY_0) / timedelta(days=1)))
    if isinstance(value, date):
        return float((value - _DAY_0.date()).days)
    if isinstance(value, time):
        return value.strftime("%H:%M")
    if isinstance(value, int | float):
        return _number(value)
    if value is None or value == "":
        return None
    text = str(value)
    try:
        return _number(float(text))
    except ValueError:
        return text


def _number(value: float) -> float | str:
    # What is not a number for JSON is compared as text. Adding zero turns -0.0 into 0.0.
    return round(float(value), 2) + 0.0 if math.isfinite(value) else str(value)


def open_workbook(path: str, *, formulas: bool = False) -> Any:
    """A workbook with the values it stores, or with the formulas behind them.
    Raises ValueError: no workbook, or one that is too large. Broken ones raise whatever openpyxl does."""
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        raise ValueError("it is no .xlsx file") from None
    if size > MOST_UNPACKED:
        raise ValueError(f"it has {size / 1e6:.0f} MB unpacked, at most {MOST_UNPACKED / 1e6:.0f} MB are read")
    with warnings.catch_warnings(action="ignore"):  # about features that openpyxl leaves out
        return load_workbook(path, data_only=not formulas)


def read_cells(stored: Any, written: Any, ranges: list[Any]) -> dict[str, Any]:
    """The cells of each range that are not empty, of a workbook opened with its values and with its formulas.

    A range is [sheet, first row, first column, last row, last column], counted from 1, with null for an end that is
    open. The result has `sheets`, all their names, and `ranges`: null for a sheet that does not exist, else

    values    cell to what is compared
    shown     cell to a text for people, where that differs
    formulas  cells with a formula and no stored value, which read as empty
    """
    found = [
        _range(stored[sheet], written[sheet], corners) if sheet in stored.sheetnames else None
        for sheet, *corners in ranges
    ]
    return {"sheets": stored.sheetnames, "ranges": found}


def _range(stored: Any, written: Any, corners: list[int | None]) -> dict[str, Any]:
    row, column, last_row, last_column = (corner or 0 for corner in corners)
    values: dict[str, float | str] = {}
    shown: dict[str, str] = {}
    formulas: list[str] = []
    # A sheet that is a chart has no cells. Its rows are not gone through: a single cell at the far end of a sheet
    # would make that take for ever.
    sources = getattr(written, "_cells", {})
    for (y, x), cell in sorted(getattr(stored, "_cells", {}).items()):
        if y < row or x < column or (last_row and y > last_row) or (last_column and x > last_column):
            continue
        value = comparable(cell.value)
        if value is not None:
            values[cell.coordinate] = value
            if isinstance(cell.value, date | timedelta):
                shown[cell.coordinate] = str(cell.value)
        elif (y, x) in sources and sources[y, x].data_type == "f":
            formulas.append(cell.coordinate)
    return {"values": values, "shown": shown, "formulas": formulas}


def main() -> None:
    """Answer the request on standard input: `{"path": ..., "ranges": ...}`."""
    request = json.load(sys.stdin)
    try:
        stored, written = (open_workbook(request["path"], formulas=formulas) for formulas in (False, True))
        answer = read_cells(stored, written, request["ranges"])
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a broken workbook can make its reader fail in any way
        answer = {"error": f"{type(error).__name__}: {error}"}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
