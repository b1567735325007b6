"""The tasks of a SkillOpt project: a folder of splits, or one file and a ratio."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from etude.cli.scaffold.skillopt.converted import named, written
from etude.cli.scaffold.skillopt.file import find_near
from etude.envs.files import Row, read_rows
from etude.envs.images import is_web
from etude.errors import ConfigError, DataError
from etude.records import Split

SPLIT_FOLDERS: Mapping[Split, Sequence[str]] = {
    "train": ("train",),
    "val": ("val", "valid_seen", "valid", "selection"),
    "test": ("test", "valid_unseen"),
}
"""What the folder of a split can be called, the likeliest name first."""
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
_MODE, _FOLDER, _PATH = "env.split_mode", "env.split_dir", "env.data_path"
_RATIO, _SEED = "env.split_ratio", "env.split_seed"
_KEYS = (_MODE, _FOLDER, _PATH, _RATIO, _SEED)
_USUAL: Mapping[str, Any] = {_RATIO: "2:1:7", _SEED: 42}


@dataclass(frozen=True)
class Source:
    """Where the tasks are."""

    files: Mapping[str, Path]
    """`path`, or splits, to files."""
    ratio: Sequence[int] | None = None
    split_seed: int = 42
    left: Mapping[str, str] = field(default_factory=dict[str, str])
    """Settings about the data that have no effect, and why."""


def take_source(rest: dict[str, Any], config: Path) -> Source:
    """The files that a settings file names; takes its settings out of `rest`.

    Raises:
        ConfigError: it names none, or an invalid ratio or seed.
        DataError: a file or a folder does not exist, or a split has no file of its own.
    """
    given = {key: rest.pop(key) for key in _KEYS if key in rest}
    mode, folder, path = (given.get(key) for key in (_MODE, _FOLDER, _PATH))
    if folder and (mode != "ratio" or not path):
        unused: dict[str, str] = dict.fromkeys((_PATH, _RATIO, _SEED), "the split folders are taken as they are")
        if mode not in (None, "", "split_dir"):
            unused[_MODE] = f"the folders of {_FOLDER} are used"
        files = _split_files(_existing(_FOLDER, folder, config))
        return Source(files, left=_named(given, unused))
    if not path:
        raise ConfigError(
            f"{config}: neither {_FOLDER} nor {_PATH} is set: no tasks to convert",
            hint="set one of them in the file",
        )
    unused = {_FOLDER: f"{_MODE} is 'ratio'"}
    if mode not in (None, "", "ratio"):
        unused[_MODE] = f"{_PATH} is divided by a ratio"
    place = _existing(_PATH, path, config)
    return Source(
        {"path": _data_file(place) if place.is_dir() else place},
        _parts(given.get(_RATIO, _USUAL[_RATIO]), config),
        _seed(given.get(_SEED, _USUAL[_SEED]), config),
        _named(given, unused),
    )


def _named(given: Mapping[str, Any], unused: Mapping[str, str]) -> dict[str, str]:
    """Those of the unused settings that say anything."""
    return {
        named(key, given[key]): why
        for key, why in unused.items()
        if given.get(key) not in (None, "") and given[key] != _USUAL.get(key)
    }


def write_rows(source: Path, target: Path, image_column: str | None) -> None:
    """Write the rows of a file as JSONL; paths of pictures count from the new file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(_moved(row, source, target, image_column), ensure_ascii=False) for row in read_rows(source)]
    target.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def _moved(row: Row, source: Path, target: Path, image_column: str | None) -> dict[str, JsonValue]:
    def moved(value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [moved(each) for each in value]
        if not isinstance(value, str) or not value or is_web(value) or value.startswith("data:"):
            return value
        return os.path.relpath(source.parent / value, target.parent)

    if image_column is None:
        return row.columns
    if image_column in row.columns:
        return {**row.columns, image_column: moved(row.columns[image_column])}
    outer, _, key = image_column.partition(".")
    inner = row.columns.get(outer)
    if not isinstance(inner, dict) or key not in inner:
        return row.columns
    return {**row.columns, outer: {**inner, key: moved(inner[key])}}


def _existing(key: str, path: str, config: Path) -> Path:
    found = find_near(str(path), config)
    if found is None:
        raise DataError(
            f"{config}: {key} = {str(path)!r} does not exist",
            hint="run this in the folder that the paths of the file count from",
        )
    return found


def _split_files(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for split, names in SPLIT_FOLDERS.items():
        inner = next((folder / name for name in names if (folder / name).is_dir()), None)
        if inner is not None:
            files[split] = _data_file(inner)
        elif split != "test":
            raise DataError(
                f"{str(folder)!r} has no folder for the {split} split",
                hint=f"SkillOpt calls it {' or '.join(names[:2])}",
            )
    return files


def _data_file(folder: Path) -> Path:
    usual = folder / "items.json"
    if usual.is_file():
        return usual
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)
    if len(found) != 1:
        names = ", ".join(repr(path.name) for path in found) or "none"
        raise DataError(f"{str(folder)!r} has no items.json; data files: {names}", hint="leave one data file there")
    return found[0]


def _parts(ratio: Any, config: Path) -> list[int]:
    if isinstance(ratio, int) and not isinstance(ratio, bool):  # YAML 1.1 reads 2:1:7 as a number to base 60
        found: list[Any] = [ratio // 3600, ratio // 60 % 60, ratio % 60]
    else:
        found = cast(list[Any], ratio) if isinstance(ratio, list) else str(ratio).split(":")
    parts = [number for part in found if (number := _whole(part)) is not None]
    if len(found) != 3 or len(parts) != 3 or min(parts) < 0 or 0 in parts[:2]:
        raise ConfigError(
            f"{config}: {_RATIO} = {written(ratio)} is not a ratio of train, val and test: three whole numbers, the "
            "first two more than 0",
            hint="as in '2:1:7', in quotes",
        )
    return parts


def _seed(seed: Any, config: Path) -> int:
    number = _whole(seed)
    if number is None:
        raise ConfigError(
            f"{config}: {_SEED} = {written(seed)} is not a whole number",
            hint=f"as in 42, which holds when {_SEED} is left out",
        )
    return number


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"\s*-?[0-9]+\s*", value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
