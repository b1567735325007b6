"""Data files as people have them: with other delimiters and encodings, packed, tables of Excel, one task a file."""

import gzip
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from pydantic import JsonValue
from yaml import YAMLError

from etude.cli.scaffold.table import UNNAMED, fold_name, is_known
from etude.cli.scaffold.tidy import tidied
from etude.envs.files import (
    OTHER_DELIMITERS,
    FileFormat,
    Row,
    parse_rows,
    plain,
    read_rows,
    table_rows,
    without_blank,
    without_nul,
)
from etude.errors import ConfigError, DataError, not_installed, raising
from etude.records import SPLITS, Split
from etude.safe_yaml import read_yaml
from etude.skill.folder import DOCUMENT

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet", ".tsv", ".tab", ".xlsx", ".yaml", ".yml", ".gz")
SPLIT_NAMES: Mapping[Split, str] = {"train": r"train(ing)?", "val": r"val(id(ation)?)?|dev", "test": r"test(ing)?"}
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
_LOOKED_AT = 50
"""Lines from which the delimiter of a table is learned, and whether the first one names its columns."""
FEWEST_ROWS = 3
"""A table with fewer says too little about its first line."""
_LONG_NAME = 5
"""Words; the name of a column hardly has more."""


def find_files(data: Path) -> dict[str, Path]:
    """`path`, or `train`, `val` and `test`, to the files of a dataset.
    Raises DataError: there is nothing, or not what makes a dataset."""
    if not data.exists():
        raise DataError(f"data {str(data)!r} does not exist", hint="give a data file or a folder of them")
    if data.name == DOCUMENT or (data / DOCUMENT).is_file():
        raise DataError(
            f"{str(data)!r} is a skill, and no data",
            hint=f"`etude init --skill {data}` takes the tasks that it brings",
        )
    if not data.is_dir() or has_cases(data):
        return {"path": data}
    files = sorted(path for path in data.iterdir() if path.is_file() and path.suffix.lower() in SUFFIXES)
    found: dict[str, Path] = {}
    for path in files:
        split = _split_of_file(path)
        if split is None:
            continue
        if split in found:
            raise DataError(
                f"{str(data)!r} has two files for the {split} split: {found[split].name!r} and {path.name!r}",
                hint="leave one file for each split in the folder",
            )
        found[split] = path
    if not found and len(files) == 1:
        return {"path": files[0]}
    if not found and files and all(path.suffix.lower() in _ONE_EACH for path in files):
        return {"path": data}
    if not files:
        raise DataError(
            f"{str(data)!r} holds no data file", hint=f"give a file of tasks, or a folder: {' '.join(SUFFIXES)}"
        )
    missing = [split for split in SPLITS if split not in found]
    if missing:
        names = ", ".join(repr(path.name) for path in files)
        raise DataError(
            f"{str(data)!r} has no file for the {missing[0]} split; data files: {names}",
            hint=f"call the files train, val and test ({' '.join(SUFFIXES)}), or give one file, which is then split",
        )
    return {split: found[split] for split in SPLITS}


def split_of(word: object) -> Split | None:
    """The split that a word names."""
    text = str(word).strip().casefold()
    return next((split for split, names in SPLIT_NAMES.items() if re.fullmatch(names, text)), None)


def _split_of_file(path: Path) -> Split | None:
    words = re.split(r"[^a-z]+", path.name.partition(".")[0].lower())
    named = [split_of(word) for word in words]
    return next((split for split in SPLITS if split in named), None)


@dataclass(frozen=True)
class FileRows:
    """The rows of a data file."""

    rows: Sequence[Row]
    direct: bool
    """The environment `dataset` reads the file as it is."""
    notes: tuple[str, ...] = ()


def read_file(path: Path, delimiter: str = "") -> FileRows:
    """The rows of a file, or of a folder with an object in each file. Raises DataError: it is broken or empty."""
    if path.is_dir():
        return FileRows(_folder_rows(path), False)
    suffix = path.suffix.lower()
    if suffix == ".xlsx":
        return _filled(path, _sheet_rows(path), False)
    packed = suffix == ".gz"
    form = _FORMATS.get(Path(path.stem).suffix.lower() if packed else suffix)
    if suffix not in (*SUFFIXES, *_FORMATS) and path.is_file():
        raise DataError(
            f"{str(path)!r}: the suffix {suffix!r} does not tell the format",
            hint=f"save the tasks as one of {' '.join(SUFFIXES)}",
        )
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
    names = _missing_header(_first_lines(text, sign)) if form == "csv" else []
    rows = parse_rows(path, text, form, sign, names)
    direct = not packed and text is given and encoding in ("utf-8", "utf-8-sig") and sign == "," and not names
    return _filled(path, rows, direct and suffix in (".csv", *_JSON), notes)


def _filled(path: Path, found: list[Row], direct: bool, notes: tuple[str, ...] = ()) -> FileRows:
    """The rows that hold anything. Raises DataError: none does."""
    held, blank = without_blank(found)
    rows, tidied_up = tidied(held)
    if not rows:
        raise DataError(f"{path}: the file holds no tasks", hint="one object or line for each task")
    notes, direct = (*notes, *tidied_up), direct and not tidied_up
    if blank:
        notes += (f"{path.name}: {'1 blank row was' if blank == 1 else f'{blank} blank rows were'} skipped",)
    if UNNAMED.format(1) in rows[0].columns:
        notes += (f"{path.name} has no line of column names: they are called {', '.join(rows[0].columns)} here",)
    return FileRows(rows, direct, notes)


_JSON = (".jsonl", ".ndjson", ".json")
_ONE_EACH = (".json", ".yaml", ".yml")
"""Files that hold a task each, where a folder has nothing else."""


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


def _missing_header(lines: Sequence[Sequence[str]]) -> list[str]:
    """Names for the columns of a table whose first line is a task as the others are; none where it names them."""
    if len(lines) <= FEWEST_ROWS or any(map(is_known, lines[0])):
        return []
    first, rest = lines[0], lines[1:]
    columns = [[cells[at].strip() for cells in rest if at < len(cells)] for at in range(len(first))]
    alike = (
        (_is_number(cell) and all(map(_is_number, column)))
        # A value that comes back, or a sentence among sentences.
        or column.count(cell.strip()) > 1
        or (_is_sentence(cell) and sum(map(_is_sentence, column)) * 2 > len(column))
        for cell, column in zip(first, columns, strict=True)
    )
    return [UNNAMED.format(number) for number in range(1, len(first) + 1)] if any(alike) else []


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[-+]?\d+([.,]\d+)?\s*", text) is not None


def _is_sentence(text: str) -> bool:
    return "?" in text or len(text.split()) > _LONG_NAME


def _first_lines(text: str, sign: str) -> list[list[str]]:
    return [cells for _, cells in islice(table_rows(Path(), text, sign), _LOOKED_AT)]


def _folder_rows(folder: Path) -> list[Row]:
    rows: list[Row] = []
    for file in sorted(file for file in folder.iterdir() if file.suffix.lower() in _ONE_EACH):
        text = _text(file, False)[0] if file.suffix.lower() == ".json" else json.dumps(yaml_value(file))
        found = parse_rows(file, f"[{text}]", "json")
        if len(found) != 1:
            raise DataError(f"{file}: expected one object", hint="write one task in each file")
        rows.append(Row(str(file), {"id": file.stem, **found[0].columns}))
    return rows


def yaml_value(path: Path) -> JsonValue:
    """What a YAML file holds. Raises DataError: it cannot be read."""
    try:
        return plain(read_yaml(path), str(path))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise DataError(f"{path} cannot be read: {error}"[:300], hint="give a file of tasks") from None


def _sheet_rows(path: Path) -> list[Row]:
    try:
        openpyxl: Any = import_module("openpyxl")
    except ImportError:
        error = not_installed(f"{path}: reading Excel", "openpyxl", "spreadsheet")
        raise ConfigError(error.message, hint=f"{error.hint}, or save the sheet as CSV") from None
    try:
        sheet = openpyxl.load_workbook(path, read_only=True, data_only=True).worksheets[0]
        lines = [list(cells) for cells in sheet.iter_rows(values_only=True)]
    except (ValueError, KeyError, IndexError, OSError, BadZipFile) as error:
        raise DataError(f"{path}: no table can be read: {error}"[:300], hint="save the sheet as CSV") from None
    numbered = [(f"{path}: row {number}", cells) for number, cells in enumerate(lines, 1)]
    while numbered and not any(cell is not None for cell in numbered[0][1]):  # a table may begin further down
        del numbered[0]
    texts = [["" if cell is None else str(cell) for cell in cells] for _, cells in numbered[:_LOOKED_AT]]
    names = _missing_header(texts)
    if not names and numbered:
        names = texts[0]
        del numbered[0]
    return [
        Row(place, {name: plain(cell, place) for name, cell in zip(names, cells, strict=False) if name})
        for place, cells in numbered
    ]


EXPECTED = "expected.json"
_TEMPLATE = "user-prompt-template.md"
_BEFORE, _AFTER = "system-prompt.md", "output-spec.md"
_SUFFIXES = (".md", ".txt", ".json", ".csv", ".yaml", ".yml")
_HOLE = re.compile(r"\{\{?\s*([\w-]+)\s*\}?\}")


def has_cases(folder: Path) -> bool:
    """Whether a folder has a case in it."""
    return next(folder.glob(f"*/{EXPECTED}"), None) is not None


def read_cases(folder: Path) -> list[Row]:
    """A row for each case: the texts of its folder in the places that the template has for them, else one after the
    other; what all cases share stands around them. The template and these stand with the cases or one folder above.
    Raises DataError: a text cannot be read, or a place of the template stays empty."""
    shared = {name: _shared(folder, name) for name in (_BEFORE, _TEMPLATE, _AFTER)}
    rows: list[Row] = []
    for expected in sorted(folder.glob(f"*/{EXPECTED}")):
        found = parse_rows(expected, f"[{read_text(expected)}]", "json")
        if len(found) != 1:
            raise DataError(f"{expected}: expected one object", hint="write the right answer of the case")
        texts = {file.stem: read_text(file) for file in _texts(expected.parent)}
        asked = _in_template(shared[_TEMPLATE], texts, expected.parent)
        parts = [part for part in (shared[_BEFORE], asked, shared[_AFTER]) if part]
        rows.append(
            Row(str(expected), {"id": expected.parent.name, "input": "\n\n".join(parts), "gold": found[0].columns})
        )
    return rows


def _texts(case: Path) -> Sequence[Path]:
    return sorted(
        file
        for file in case.iterdir()
        if file.name not in (EXPECTED, "case-meta.json", "assertions.json")
        and file.suffix in _SUFFIXES
        and file.resolve().is_relative_to(case.resolve())
    )


def _shared(folder: Path, name: str) -> str:
    return next((read_text(place / name) for place in (folder, folder.parent) if (place / name).is_file()), "")


def _in_template(template: str, texts: dict[str, str], case: Path) -> str:
    if not template:
        return "\n\n".join(texts.values())
    known = {fold_name(name): text for name, text in texts.items()}
    empty = sorted(hole for hole in _HOLE.findall(template) if fold_name(hole) not in known)
    if empty:
        raise DataError(
            f"{case}: no text for {empty[0]!r} of {_TEMPLATE}; texts: {', '.join(map(repr, texts)) or 'none'}",
            hint=f"write {empty[0]}.md there",
        )
    return _HOLE.sub(lambda match: known[fold_name(match[1])], template)


def read_text(file: Path) -> str:
    """A text without blanks around it. Raises DataError: it cannot be read."""
    with raising(DataError, f"{file} cannot be read", "save it as UTF-8"):
        return file.read_text(encoding="utf-8").strip()
