"""The files of a SkillOpt run: its settings with all they inherit, its tasks and its skill."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import JsonValue

from etude.config import merge
from etude.envs.files import Row, read_rows
from etude.errors import ConfigError, DataError, InputError, SkillError
from etude.records import Split
from etude.safe_yaml import read_yaml
from etude.skill import Document

from skillopt_settings import Conversion  # isort: skip

BASE = "_base_"
SPLIT_FOLDERS: Mapping[Split, Sequence[str]] = {
    "train": ("train",),
    "val": ("val", "valid_seen", "valid", "selection"),
    "test": ("test", "valid_unseen"),
}
"""What the folder of a split can be called, the likeliest name first."""
MADE_FIRST = (
    "; SkillOpt comes with lists of ids (data/*_id_split) and not with data: make the split first, as the data guide "
    "and the scripts of its repository say"
)
"""Where data is missing: what has to be done before."""
_LISTED = frozenset({"id", "questionid", "docid", "uid", "key", "task_id", "gamefile", "path", "image_path"})
"""Columns of lists of ids, besides the month and the number of a theorem."""
_MONTHS = "qa_*_final.json"
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
_PICTURE = re.compile(r"[^\n]+\.(?:png|jpe?g|gif|webp)", re.IGNORECASE)
_MARKER = re.compile(r"<!--\s*(\w*(?:SLOW_UPDATE|APPENDIX))_(START|END)\s*-->")


def read_settings(path: Path, below: Sequence[Path] = ()) -> dict[str, Any]:
    """The settings of a file over those of the files in `_base_`.
    Raises ConfigError: a file cannot be read, is not a YAML mapping or inherits from itself."""
    if path.resolve() in below:
        raise ConfigError(f"{path} inherits from itself by {BASE!r}", hint=f"remove one of the {BASE!r} entries")
    try:
        data = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(
            f"SkillOpt settings {str(path)!r} cannot be read: {error}", hint="give the YAML file of a run"
        ) from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected settings, found {type(data).__name__}", hint="give the YAML of a run")
    own = {str(key): value for key, value in cast(dict[Any, Any], data).items()}
    bases = own.pop(BASE, [])
    merged: dict[str, Any] = {}
    for base in cast(list[Any], bases if isinstance(bases, list) else [bases]):
        merged = merge(merged, read_settings(path.parent / str(base), (*below, path.resolve())))
    return merge(merged, own)


def find_tasks(found: Conversion, config: Path) -> dict[str, list[Path]]:
    """The files of tasks, by split, or all as `path`. Raises ConfigError: the settings name none; DataError: a file
    or a folder does not exist, or a split has no file of its own."""
    by_ratio = found.take("env.split_mode") == "ratio" and "env.data_path" in found.given
    if not by_ratio and (folder := found.take("env.split_dir")) is not None:
        return _split_files(find_near(folder, config, DataError, MADE_FIRST))
    path = found.take("env.data_path")
    if path is None:
        raise ConfigError(
            f"{config}: neither env.split_dir nor env.data_path is set: no tasks to convert",
            hint="set one of them in the file",
        )
    found.move("env.split_seed", "env.split_seed")
    ratio = found.take("env.split_ratio", ours="env.ratio")
    if isinstance(ratio, int):  # YAML 1.1 reads 2:1:7 as a number to base 60
        ratio = [ratio // 3600, ratio // 60 % 60, ratio % 60]
    if ratio is not None:
        found.put("env.ratio", ratio)
    place = find_near(path, config, DataError, MADE_FIRST)
    return {"path": _data_files(place) if place.is_dir() else [place]}


def find_near(path: Any, config: Path, kind: type[InputError], more: str = "") -> Path:
    """The file or folder that a settings file means. Raises InputError: of this kind; it does not exist, and `more`
    says what else may be the matter."""
    place = next((folder / str(path) for folder in roots(config) if (folder / str(path)).exists()), None)
    if place is None:
        raise kind(
            f"{config}: {str(path)!r} does not exist",
            hint=f"run this in the folder that the paths of the file count from{more}",
        )
    return place


def roots(config: Path) -> list[Path]:
    """Where the paths of a settings file may count from: the current folder, else the file's own folder or one above,
    as SkillOpt is run from its repository."""
    return [Path(), *config.absolute().parents]


def read_tasks(paths: Sequence[Path]) -> list[Row]:
    """The rows of these files, with an id for items of months, and lists that are written as text as lists.
    Raises DataError: they cannot be read, or have ids and nothing that is asked."""
    rows = [row for path in paths for row in read_rows(path)]
    names = {name.casefold(): name for row in rows for name in row.columns}
    if _LISTED & names.keys() and not names.keys() - _LISTED - {"month", "no"}:
        raise DataError(
            f"{paths[0]}: the rows have ids, and neither questions nor answers; columns: "
            f"{', '.join(map(repr, names.values()))}",
            hint=f"set env.split_dir to the split that is made of it{MADE_FIRST}",
        )
    return [_plain(row) for row in rows]


def _plain(row: Row) -> Row:
    """Items of months are counted in each: SkillOpt knows them by both."""
    columns = {name: _listed(value) for name, value in row.columns.items()}
    month, number = columns.get("month"), columns.get("no")
    if "id" in columns or month is None or number is None:
        return Row(row.place, columns)
    return Row(row.place, {"id": f"{month}:{number}", **columns})


def _listed(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or not (value.startswith("[") and value.endswith("]")):
        return value
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return value
    return found if found and all(isinstance(each, str) for each in found) else value


def pictures(value: JsonValue) -> list[str]:
    """The paths of pictures in a row."""
    if isinstance(value, dict):
        return [path for each in value.values() for path in pictures(each)]
    if isinstance(value, list):
        return [path for each in value for path in pictures(each)]
    found = isinstance(value, str) and "://" not in value and _PICTURE.fullmatch(value)
    return [str(value)] if found else []


def _split_files(folder: Path) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    for split, names in SPLIT_FOLDERS.items():
        inner = next((folder / name for name in names if (folder / name).is_dir()), None)
        if inner is not None:
            files[split] = _data_files(inner)
        elif split != "test":
            raise DataError(
                f"{str(folder)!r} has no folder for the {split} split",
                hint=f"SkillOpt calls it {' or '.join(names[:2])}",
            )
    return files


def _data_files(folder: Path) -> list[Path]:
    usual = folder / "items.json"
    if usual.is_file():
        return [usual]
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)
    if len(found) == 1:
        return found
    if months := sorted(folder.rglob(_MONTHS)):
        return months
    names = ", ".join(repr(path.name) for path in found) or "none"
    raise DataError(f"{str(folder)!r} has no items.json; data files: {names}", hint="leave one data file there")


def converted_skill(text: str, path: Path) -> str:
    """The text with regions in the place of what SkillOpt protects; empty parts are left out, and several of a kind
    become one. Raises SkillError: one of them is not closed."""
    parts: dict[str, list[str]] = {}
    rest, at, opened = "", 0, ""
    for marker in _MARKER.finditer(text):
        name, begins = marker[1], marker[2] == "START"
        if begins == bool(opened) or (opened and name != opened):
            line = text.count("\n", 0, marker.start()) + 1
            raise SkillError(
                f"{str(path)!r}, line {line}: {marker[0]!r} has no partner",
                hint="remove it, or close what begins with it",
            )
        between = text[at : marker.start()]
        if begins:
            rest += between
        elif between.strip():
            parts.setdefault("appendix" if "APPENDIX" in name else "slow_update", []).append(between.strip("\r\n"))
        opened, at = name if begins else "", marker.end()
    if opened:
        raise SkillError(
            f"{str(path)!r}: '{opened}_START' has no end", hint="remove it, or close what begins with it"
        )
    if not at:
        return text
    document = Document.parse((rest + text[at:]).rstrip() + "\n")
    for region, contents in parts.items():
        document = document.with_region(region, "\n\n".join(contents))
    return document.text
