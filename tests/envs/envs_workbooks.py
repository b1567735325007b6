"""Small data sets of workbooks, made for a test."""

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from openpyxl import Workbook

from etude.records import File

Sheets = Mapping[str, Sequence[Sequence[Any]]]
"""Rows of values by the name of their sheet."""


def book(sheets: Sheets) -> bytes:
    """A workbook as a file."""
    made = Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    data = BytesIO()
    made.save(data)
    return data.getvalue()


def file(sheets: Sheets) -> File:
    return File(data=book(sheets))


class DataSet:
    """A folder like that of the published data set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[dict[str, Any]] = []

    def add(self, before: Sheets, after: Sheets, position: str, **columns: Any) -> dict[str, Any]:
        """One more task, from its workbook before and after."""
        name = columns.pop("id", f"{len(self.rows) + 1}-1")
        row = {
            "id": name,
            "instruction": f"Do the task number {len(self.rows) + 1} of this test.",
            "spreadsheet_path": f"spreadsheet/{name}",
            "instruction_type": "Sheet-Level Manipulation",
            "answer_position": position,
            **columns,
        }
        place = self.folder / "spreadsheet" / name
        place.mkdir(parents=True)
        (place / f"1_{name}_init.xlsx").write_bytes(book(before))
        (place / f"1_{name}_golden.xlsx").write_bytes(book(after))
        self.rows.append(row)
        self.write()
        return row

    def write(self) -> None:
        (self.folder / "dataset.json").write_text(json.dumps(self.rows))

    @property
    def options(self) -> dict[str, Any]:
        """Settings for all tasks in training and validation."""
        return {"path": str(self.folder), "ratio": [1, 1, 0]}


def sums(folder: Path, count: int = 2) -> DataSet:
    """Tasks to write the sum of A1 and A2 into B1."""
    data = DataSet(folder)
    for number in range(count):
        rows = [[number], [10 * number + 1]]
        data.add({"Data": rows}, {"Data": [[number, 11 * number + 1], *rows[1:]]}, "Data!B1")
    return data


ADD = """import openpyxl
book = openpyxl.load_workbook("input.xlsx")
sheet = book["Data"]
sheet["B1"] = sheet["A1"].value + sheet["A2"].value
book.save("output.xlsx")
"""


def block(code: str) -> str:
    """A reply with code."""
    return f"I do it like this:\n\n```python\n{code}\n```\n\nThat is all."
