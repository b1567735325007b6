"""The published data set as tasks: a JSON file of instructions, and a folder of workbooks for each."""

import csv
import hashlib
import os
import re
import zipfile
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

from pydantic import JsonValue

from etude.envs.files import Row, read_rows
from etude.envs.rows import Fields, tasks_from_rows, with_ids
from etude.envs.workspaces import TaskFiles
from etude.errors import DataError
from etude.records import Task
from etude_annexes.spreadsheet.answer import Contents, Range, compare, letters_of, parse_ranges
from etude_annexes.spreadsheet.cells import open_workbook, read_cells

INPUT = "input.xlsx"
OUTPUT = "output.xlsx"
"""What the workbooks are called in the workspace."""

_INPUTS = ("init", "initial", "input")
_GOLDS = ("golden", "answer")
"""How the names of workbooks end, before `.xlsx`."""
_NUMBER = re.compile(r"(\d*)")
_BROKEN = (KeyError, ValueError, TypeError, IndexError, AttributeError, OSError, zipfile.BadZipFile, ParseError)
"""What openpyxl raises for a file that is not a workbook, or a broken one."""

ROWS = 5
COLUMNS = 20
SHEETS = 10
CELL_CHARS = 100


class GoldCells(NamedTuple):
    """What a workbook has to hold to be right."""

    ranges: tuple[Range, ...]
    gold: Contents
    untouched: bool
    """The input holds it already."""


def read_instructions(path: str) -> tuple[Task, ...]:
    """The instructions of a data set, without their workbooks. `path` is the JSON file or the folder it is in.
    Raises DataError: the file is missing or broken, or lacks a column."""
    file = Path(path, "dataset.json") if Path(path).is_dir() else Path(path)
    rows = read_rows(file)
    kind = "instruction_type" if "instruction_type" in rows[0].columns else None
    tasks = with_ids(tasks_from_rows(rows, Fields(input="instruction", type=kind), needs_gold=False))
    return tuple(_placed(task, row, file.parent) for task, row in zip(tasks, rows, strict=True))


def _placed(task: Task, row: Row, folder: Path) -> Task:
    """The task with what is needed to find its workbooks."""
    position = row.columns.get("answer_position")
    if not isinstance(position, str) or not position.strip():
        raise DataError(
            f"{row.place}: no value in column 'answer_position'", hint="name the cells with the answer, as in B2:C9"
        )
    sheets, place = row.columns.get("answer_sheet"), row.columns.get("spreadsheet_path")
    data = {
        "data": str(folder),
        "folder": str(folder / (place if isinstance(place, str) else f"spreadsheet/{task.id}")),
        "position": position,
        "sheets": sheets if isinstance(sheets, str) else "",
    }
    return task.model_copy(update={"data": data})


def with_workbooks(task: Task) -> tuple[Task, GoldCells]:
    """A task of `read_instructions` with its input workbook and a preview of it, and what is right.
    Raises DataError: a workbook is missing or broken, or the answer's cells are not in it."""
    folder, place = Path(str(task.data["folder"])), f"task {task.id!r}"
    paths = [_find(folder, endings, place) for endings in (_INPUTS, _GOLDS)]
    files = TaskFiles({})
    given, gold = (
        files.read({"x": os.path.abspath(path)}, Path(str(task.data["data"])), place)["x"] for path in paths
    )
    before, right, formulas = (_open(paths[0], place), _open(paths[1], place), _open(paths[1], place, formulas=True))
    ranges = parse_ranges(str(task.data["position"]), str(task.data["sheets"]), right.sheetnames[0], place)
    ranges = tuple(each._replace(sheet=_sheet(each.sheet, right.sheetnames, place)) for each in ranges)
    wanted: list[JsonValue] = [list(each) for each in ranges]
    expected = Contents.model_validate(read_cells(right, formulas, wanted))
    given_cells = Contents.model_validate(read_cells(before, before, wanted))
    untouched = compare(ranges, expected, given_cells).hard == 1
    complete = Task(
        id=task.id,
        input=_input(task.input, ranges, preview(before)),
        gold=hashlib.sha256(gold.data).hexdigest(),
        type=task.type,
        group=task.group,
        files={INPUT: given},
        data={"ranges": wanted},
    )
    return complete, GoldCells(ranges, expected, untouched)


def _find(folder: Path, endings: Sequence[str], place: str) -> Path:
    """The first workbook of a folder whose name ends so: `1_13-1_init.xlsx`. Further cases of a task are not used."""
    found = [path for path in folder.glob("[!~.]*.xlsx") if path.stem.endswith(tuple(endings))]
    if not found:
        wanted = f"'*{endings[0]}.xlsx'"
        raise DataError(f"{place}: there is no {wanted} in {str(folder)[:300]!r}", hint="unpack all of the data set")
    return min(found, key=_case)


def _case(path: Path) -> tuple[int, str]:
    number = _NUMBER.match(path.name)
    return int(number[1]) if number and number[1] else 0, path.name


def _open(path: Path, place: str, *, formulas: bool = False) -> Any:
    try:
        return open_workbook(str(path), formulas=formulas)
    except _BROKEN as error:
        raise DataError(
            f"{place}: {str(path)[:300]!r} cannot be read: {type(error).__name__}: {error}"[:500],
            hint="get the file again",
        ) from None


def _sheet(name: str, sheets: Sequence[str], place: str) -> str:
    """The sheet that is meant, white space and case apart where that is clear."""
    if name in sheets:
        return name
    near = [sheet for sheet in sheets if sheet.strip().casefold() == name.strip().casefold()]
    if len(near) == 1:
        return near[0]
    raise DataError(
        f"{place}: answer_position names the sheet {name!r}, which the gold workbook does not have",
        hint=f"its sheets: {', '.join(map(repr, sheets))}",
    )


def _input(instruction: str, ranges: Sequence[Range], shown: str) -> str:
    return (
        f"{instruction.strip()}\n\n"
        f"The workbook is {INPUT}. Save the finished one as {OUTPUT} in the same folder.\n"
        f"Cells that count: {', '.join(each.shown for each in ranges)}\n\n"
        f"The first rows of each sheet:\n\n{shown}"
    )


def preview(workbook: Any) -> str:
    """Every sheet with its size and its first rows and columns, as CSV under the letters of the columns."""
    parts = [_shown(sheet) for sheet in workbook.worksheets[:SHEETS]]
    if len(workbook.worksheets) > SHEETS:
        rest = ", ".join(repr(sheet.title) for sheet in workbook.worksheets[SHEETS:])
        parts.append(f"Further sheets: {rest}")
    return "\n\n".join(parts)


def _shown(sheet: Any) -> str:
    rows, columns = min(sheet.max_row, ROWS), min(sheet.max_column, COLUMNS)
    head = f"Sheet {sheet.title!r}, used cells {sheet.calculate_dimension()}"
    shown = list(sheet.iter_rows(min_row=1, max_row=rows, min_col=1, max_col=columns))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", *map(letters_of, range(1, columns + 1))])
    for number, cells in enumerate(shown, 1):
        writer.writerow([number, *(_value(cell.value) for cell in cells)])
    left = [f"{sheet.max_row - rows} more rows"] if sheet.max_row > rows else []
    left += [f"{sheet.max_column - columns} more columns"] if sheet.max_column > columns else []
    return f"{head}\n{text.getvalue()}" + (f"({' and '.join(left)})" if left else "").strip()


def _value(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= CELL_CHARS else f"{text[:CELL_CHARS]}..."
