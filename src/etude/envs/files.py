"""Files with one object for each task, read into rows that know where they stand."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from importlib import import_module
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import JsonValue

from etude.errors import ConfigError, DataError, did_you_mean, not_installed, raising

FileFormat = Literal["jsonl", "json", "csv", "parquet"]

_SUFFIXES: dict[str, FileFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
}

_LONGEST_CELL = 2**31 - 1
"""Characters; the most that `csv` takes everywhere. Its default, 131,072, is less than some documents have."""

_ASKED = frozenset({"prompt", "question", "query", "input"})
"""An object with one of these is a task."""
_TRIGGERS = re.compile(r"should_?(not)?_?trigger\w*", re.IGNORECASE)
OTHER_DELIMITERS = (";", "\t", "|")
"""What separates the columns of files that are called CSV, besides commas."""


@dataclass(frozen=True, slots=True)
class Row:
    """The columns of one task, and where they were found, as in `train.jsonl:3`."""

    place: str
    columns: dict[str, JsonValue]


def read_rows(path: Path, form: FileFormat | None = None) -> list[Row]:
    """All rows of a JSONL, JSON, CSV or Parquet file; the suffix says which unless `form` does.

    A JSON file is a list of objects, or an object in which exactly one value is such a list, or a single task.
    Raises DataError: the file is missing, empty or broken, or says that no person has reviewed it; names file and
    line; ConfigError: the format is not known, or needs a package that is not installed."""
    form = form or _SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise ConfigError(
            f"{str(path)!r}: the suffix {path.suffix!r} does not tell the format",
            hint=f"use one of {', '.join(_SUFFIXES)}, or set `format`",
        )
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        near = [str(file) for file in path.parent.glob("*") if file.suffix.lower() in _SUFFIXES]
        hint = (
            did_you_mean(str(path), near)
            if near
            else "give the path of a file; in settings it counts from their folder"
        )
        raise DataError(f"data file {str(path)!r} {problem}", hint=hint)
    rows = list(_parquet_rows(path)) if form == "parquet" else parse_rows(path, _read_text(path), form)
    rows, _ = without_blank(rows)
    if not rows:
        raise DataError(f"{path}: the file holds no tasks", hint="one object or line for each task")
    return rows


def without_blank(rows: list[Row]) -> tuple[list[Row], int]:
    """The rows that hold anything, and how many hold nothing."""
    kept = [row for row in rows if any(str(cell).strip() for cell in row.columns.values() if cell is not None)]
    return kept, len(rows) - len(kept)


def parse_rows(path: Path, text: str, form: FileFormat, delimiter: str = "", header: Sequence[str] = ()) -> list[Row]:
    """All rows of a text; `path` is what it is called in places. Without a `delimiter`, CSV has commas; `header`
    names its columns where the first row does not. Raises DataError: it is broken; names file and line."""
    if form == "csv":
        return list(_csv_rows(path, text, delimiter, header))
    return list((_jsonl_rows if form == "jsonl" else _json_rows)(path, text))


def _read_text(path: Path) -> str:
    with raising(DataError, f"data file {str(path)!r} cannot be read", "give a file that you may read"):
        data = path.read_bytes()
    try:
        return without_nul(path, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}:{line}: byte 0x{data[error.start]:02x} is not UTF-8",
            hint=f"save the file as UTF-8; `etude init {path.name}` reads it as it is",
        ) from None


def without_nul(path: Path, text: str) -> str:
    """The text as it is. Raises DataError: it has a NUL; names file and line."""
    head, nul, _ = text.partition("\0")
    if not nul:
        return text
    raise DataError(
        f"{path}:{len(head.splitlines()) or 1}: a NUL byte, which text does not have",
        hint=f"save the file as UTF-8; `etude init {path.name}` reads UTF-16 as it is",
    )


def reject_constant(name: str) -> JsonValue:
    """For `parse_constant` of a JSON decoder: NaN and Infinity are refused."""
    raise ValueError(f"{name} is not JSON")


def _load_json(text: str) -> JsonValue:
    value = json.loads(text, parse_constant=reject_constant)
    if "\\ud" in text or "\\uD" in text:
        # JSON can spell half a surrogate pair, which no later step could write down again.
        json.dumps(value, ensure_ascii=False).encode()
    return cast(JsonValue, value)


def _jsonl_rows(path: Path, text: str) -> Iterator[Row]:
    # Not splitlines: it would also break at separators that may stand inside a JSON string.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            value = _load_json(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: not JSON: {error}", hint="each line is one JSON object") from None
        yield _object_row(place, value)


def _object_row(place: str, value: JsonValue) -> Row:
    if not isinstance(value, dict):
        kind = "an array" if isinstance(value, list) else repr(value)[:60]
        raise DataError(f"{place}: expected an object, found {kind}", hint='write {"input": ..., "gold": ...}')
    return Row(place, value)


def _json_rows(path: Path, text: str) -> Iterator[Row]:
    if not text.strip():
        return
    try:
        value = _load_json(text)
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        problem = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise DataError(
            f"{path}{line}: not JSON: {problem}", hint="one object in each line is `.jsonl`, not `.json`"
        ) from None
    if isinstance(value, dict):
        if (said := value.get("reviewed", True)) is not True:
            raise _unreviewed(f"{path}: no person has reviewed these tasks", said)
        value = _tasks_in(value)
    if not isinstance(value, list):
        raise DataError(
            f"{path}: expected a list of tasks, or an object with exactly one list, found {value!r}"[:200],
            hint="write the tasks as a JSON list of objects",
        )
    for number, item in enumerate(value, 1):
        row = _object_row(f"{path}: item {number}", item)
        if row.columns.get("reviewed") is False:  # any other value is that of a column which happens to be called so
            raise _unreviewed(f"{row.place}: no person has reviewed this task", False)
        yield row


def _unreviewed(problem: str, said: JsonValue) -> DataError:
    shown = json.dumps(said)[:40]
    return DataError(
        f"{problem} (reviewed: {shown})", hint="read and correct what stands there, then set 'reviewed' to true"
    )


def _tasks_in(value: dict[str, JsonValue]) -> JsonValue:
    """The only list of an object; the object itself where it is the task. Lists of what should open a skill, and of
    what should not, are one."""
    named = {name: item for name, item in value.items() if isinstance(item, list)}
    sides = [(not side[1], each) for name in named if (side := _TRIGGERS.fullmatch(name)) for each in named[name]]
    if sides:
        return [
            {**(each if isinstance(each, dict) else {"prompt": each}), "should_trigger": so} for so, each in sides
        ]
    lists = list(named.values())
    inner = any(isinstance(each, dict) and _ASKED & each.keys() for held in lists for each in held)
    if _ASKED & value.keys() and not inner:
        return [value]
    return lists[0] if len(lists) == 1 else value


def table_rows(path: Path, text: str, delimiter: str, *, strict: bool = False) -> Iterator[tuple[str, list[str]]]:
    """The rows of a table that are not empty, each with its place: `path` and the line where it begins. Any line ends
    will do, and cells may be long. Raises DataError, only where `strict`: a quote is not closed, or something follows
    a closing one."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(StringIO(text, newline=""), strict=strict, delimiter=delimiter)
    place = f"{path}:1"
    try:
        for cells in reader:
            if cells:
                yield place, cells
            place = f"{path}:{reader.line_num + 1}"
    except csv.Error as error:
        raise DataError(
            f"{place}: broken CSV: {error}",
            hint='close each double quote; one that is part of a value is written twice, as in "3"" pipe"',
        ) from None


def _csv_rows(path: Path, text: str, delimiter: str, header: Sequence[str]) -> Iterator[Row]:
    rows = table_rows(path, text, delimiter or ",", strict=True)
    first = f"{path}:1"
    if not header:
        first, header = next(rows, (first, list[str]()))
        while len(header) > 1 and not header[-1].strip():  # spreadsheet programs leave empty columns behind the last
            header = header[:-1]
    sign = next((sign for sign in OTHER_DELIMITERS if len(header) == 1 and sign in header[0]), "")
    if sign and not delimiter:
        raise DataError(
            f"{first}: the columns {header[0][:80]!r} are separated by {sign!r}, not by commas",
            hint=f"`etude init {path.name}` reads such files",
        )
    if len(set(header)) < len(header):
        raise DataError(
            f"{first}: two columns have the same name: {', '.join(header)[:200]}",
            hint="give each column a name of its own",
        )
    for place, cells in rows:
        if not any(cell.strip() for cell in cells):
            cells = [""] * len(header)
        if not any(cell.strip() for cell in cells[len(header) :]):
            cells = cells[: len(header)]
        if len(cells) != len(header):
            quotes = "put values that contain a comma in double quotes"
            long = quotes if len(header) > 1 else "begin the file with the line of column names"
            raise DataError(
                f"{place}: {len(cells)} value{'s' * (len(cells) != 1)} for {len(header)} columns "
                f"({', '.join(header)[:200]})",
                hint=long if len(cells) > len(header) else "add what is missing, if only a comma, or remove the row",
            )
        yield Row(place, dict(zip(header, cells, strict=True)))


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise not_installed(f"{path}: reading Parquet", "pyarrow", "parquet") from None
    try:
        found = cast(list[dict[str, Any]], parquet.read_table(path).to_pylist())
    except (ValueError, OSError) as error:
        raise DataError(
            f"{path}: not a Parquet file: {error}"[:300], hint="write it again, or name it by what it is, as `.jsonl`"
        ) from None
    for number, columns in enumerate(found, 1):
        place = f"{path}: row {number}"
        yield Row(place, {name: plain(value, f"{place}: column {name!r}") for name, value in columns.items()})


def plain(value: Any, where: str) -> JsonValue:
    """JSON for what a table can hold; NaN stands for a missing value there.
    Raises DataError: there is none; `where` is part of the message."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list):
        return [plain(item, where) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {str(key): plain(item, where) for key, item in cast(dict[Any, Any], value).items()}
    raise DataError(f"{where} holds {type(value).__name__}, which is not JSON", hint="leave the column out")
