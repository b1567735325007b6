"""Data files as people have them: with other delimiters and encodings, packed, tables of Excel, one task a file."""

import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import JsonValue

from etude.envs.files import OTHER_DELIMITERS, FileFormat, Row, parse_rows, plain, read_rows, table_rows, without_nul
from etude.errors import ConfigError, DataError, not_installed
from etude.safe_yaml import read_yaml

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet", ".tsv", ".tab", ".xlsx", ".yaml", ".yml", ".gz")
_FORMATS: dict[str, FileFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
}
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
_EXCEL_LINE = re.compile(r"\Asep=;(?:\r\n|\r|\n)")
SKILLOPT = "in the repository, `python integrations/skillopt/import_skillopt.py CONFIG` converts a SkillOpt run"
_LOOKED_AT = 50
"""Lines from which the delimiter of a table is learned."""


@dataclass(frozen=True)
class FileRows:
    """The rows of a data file."""

    rows: Sequence[Row]
    direct: bool
    """The environment `dataset` reads the file as it is."""
    notes: tuple[str, ...] = ()


def read_source(path: Path, delimiter: str = "") -> FileRows:
    """The rows of a file, or of a folder with an object in each file. Raises DataError: it is broken or empty."""
    if path.is_dir():
        return FileRows(_folder_rows(path), False)
    suffix = path.suffix.lower()
    if suffix == ".xlsx":
        return FileRows(_sheet_rows(path), False)
    if suffix in (".yaml", ".yml"):
        return FileRows(_promptfoo_rows(path), False)
    packed = suffix == ".gz"
    form = _FORMATS.get(Path(path.stem).suffix.lower() if packed else suffix)
    if suffix == ".parquet" or form is None or not path.is_file():
        return FileRows(read_rows(path), True)
    given, encoding = _text(path, packed)
    text = given
    notes: tuple[str, ...] = ()
    if encoding == "cp1252":
        notes = (f"{path.name} is not UTF-8: it was read as Windows-1252; see whether its accents are right",)
    sign = ","
    if form == "csv":
        text = _EXCEL_LINE.sub("", text)
        sign = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter) or _delimiter(text)
        if len(sign) != 1:
            raise ConfigError(f"--delimiter {delimiter!r} is not one character", hint="as in --delimiter ';'")
        text = _with_header(text, sign)
    rows = parse_rows(path, text, form, sign)
    if not rows:
        raise DataError(f"{path}: the file holds no tasks", hint="one object or line for each task")
    added = form == "csv" and text is not given
    direct = (
        not added and not packed and encoding in ("utf-8", "utf-8-sig") and sign == "," and suffix in (".csv", *_JSON)
    )
    return FileRows(rows, direct, notes)


_JSON = (".jsonl", ".ndjson", ".json")


def _text(path: Path, packed: bool) -> tuple[str, str]:
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if packed else data
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"data file {str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}",
            hint="give a file that you may read",
        ) from None
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    zeros = data[:200].count(0)
    if marked is None and zeros * 3 > len(data[:200]):
        marked = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    for encoding in (marked,) if marked else ("utf-8", "cp1252"):
        try:
            return without_nul(path, data.decode(encoding)), encoding
        except UnicodeDecodeError:
            continue
    raise DataError(f"{path}: the text is neither UTF-8 nor UTF-16", hint="save the file as UTF-8")


def _delimiter(text: str) -> str:
    """The sign that makes the most columns, as many in each of the first rows; commas where several do."""
    best, most = ",", 1
    for sign in (",", *OTHER_DELIMITERS):
        counts = [len(cells) for cells in _first_lines(text, sign)]
        if counts and min(counts) == max(counts) > most:
            best, most = sign, counts[0]
    if most == 1:
        header = next(iter(text.splitlines()), "")
        return max((",", *OTHER_DELIMITERS), key=header.count)
    return best


def _first_lines(text: str, sign: str) -> list[list[str]]:
    return [cells for _, cells in islice(table_rows(Path(), text, sign), _LOOKED_AT)]


def _with_header(text: str, sign: str) -> str:
    """Tables of MMLU have no line of column names: question, options, and the letter of the right one."""
    lines = _first_lines(text, sign)
    width = len(lines[0]) if lines else 0
    letters = "ABCDEFGHIJ"[: max(0, width - 2)]
    if width < 4 or not all(len(cells) == width and cells[-1] in [*letters] for cells in lines):
        return text
    return sign.join(("question", *letters, "answer")) + "\n" + text


def _folder_rows(folder: Path) -> list[Row]:
    rows: list[Row] = []
    for file in sorted(folder.glob("*.json")):
        found = parse_rows(file, f"[{_text(file, False)[0]}]", "json")
        if len(found) != 1:
            raise DataError(f"{file}: expected one object", hint="write one task in each file")
        rows.append(Row(str(file), {"id": file.stem, **found[0].columns}))
    return rows


def _sheet_rows(path: Path) -> list[Row]:
    try:
        openpyxl: Any = import_module("openpyxl")
    except ImportError:
        error = not_installed(f"{path}: reading Excel", "openpyxl", "spreadsheet")
        raise ConfigError(error.message, hint=f"{error.hint}, or save the sheet as CSV") from None
    try:
        sheet = openpyxl.load_workbook(path, read_only=True, data_only=True).worksheets[0]
        header, *lines = [
            list(cells) for cells in sheet.iter_rows(values_only=True) if any(c is not None for c in cells)
        ]
    except (ValueError, KeyError, OSError) as error:
        raise DataError(f"{path}: no table can be read: {error}"[:300], hint="save the sheet as CSV") from None
    names = [str(name) for name in header if name is not None]
    return [
        Row(
            f"{path}: row {number}",
            {name: plain(value, f"{path}: row {number}") for name, value in zip(names, cells, strict=False)},
        )
        for number, cells in enumerate(lines, 2)
    ]


def _promptfoo_rows(path: Path) -> list[Row]:
    """The tests of a promptfoo file, each with the first prompt."""
    try:
        found: object = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"{path} cannot be read: {error}"[:300], hint="give a file of tasks") from None
    settings = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    if "_base_" in settings or {"train", "env"} <= settings.keys():
        raise DataError(f"{path} holds the settings of a run, and no tasks", hint=f"give its data; {SKILLOPT}")
    tests: Any = settings.get("tests")
    if not isinstance(tests, list) or not tests or not all(isinstance(test, dict) for test in cast(list[Any], tests)):
        raise DataError(
            f"{path}: a YAML file is read where it has `tests`, as promptfoo writes them",
            hint="write the tasks as JSONL, one object a line",
        )
    prompts: Any = settings.get("prompts") or [None]
    prompt: JsonValue = cast(list[Any], prompts)[0] if isinstance(prompts, list) else prompts
    return [
        Row(f"{path}: test {number}", {**plain_object(test, path), **({"prompt": prompt} if prompt else {})})
        for number, test in enumerate(cast(list[dict[str, Any]], tests), 1)
    ]


def plain_object(value: dict[str, Any], path: Path) -> dict[str, JsonValue]:
    """A mapping of YAML as JSON."""
    return cast(dict[str, JsonValue], plain(value, str(path)))
