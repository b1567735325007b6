"""The tasks of a SkillOpt project: a folder of splits, or one file and a ratio."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from skillgrad.cli.skillopt.file import find_near
from skillgrad.envs.files import Row, read_rows
from skillgrad.envs.images import is_web
from skillgrad.errors import ConfigError, DataError
from skillgrad.records import Split

SPLIT_FOLDERS: Mapping[Split, Sequence[str]] = {
    "train": ("train",),
    "val": ("val", "valid_seen", "valid", "selection"),
    "test": ("test", "valid_unseen"),
}
"""What the folder of a split can be called, the likeliest name first."""
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
_DEFAULT_RATIO = "2:1:7"


@dataclass(frozen=True)
class Source:
    """Where the tasks are."""

    files: Mapping[str, Path]
    """`path`, or splits, to files."""
    ratio: Sequence[int] | None = None
    split_seed: int = 42


def take_source(rest: dict[str, Any], config: Path) -> Source:
    """The files that a settings file names; takes its settings out of `rest`.

    Raises:
        ConfigError: it names none, or a ratio that is none.
        DataError: a file or a folder does not exist, or a split has no file of its own.
    """
    mode = rest.pop("env.split_mode", None)
    folder, path = rest.pop("env.split_dir", None), rest.pop("env.data_path", None)
    ratio, seed = rest.pop("env.split_ratio", _DEFAULT_RATIO), rest.pop("env.split_seed", 42)
    if folder and (mode != "ratio" or not path):
        return Source(_split_files(_existing("env.split_dir", folder, config)))
    if not path:
        raise ConfigError(
            f"{config}: neither env.split_dir nor env.data_path is set: no tasks to convert",
            hint="set one of them in the file",
        )
    place = _existing("env.data_path", path, config)
    return Source({"path": _data_file(place) if place.is_dir() else place}, _parts(ratio), int(seed))


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

    if image_column not in row.columns:
        return row.columns
    return {**row.columns, image_column: moved(row.columns[image_column])}


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


def _parts(ratio: Any) -> list[int]:
    if isinstance(ratio, int):  # YAML 1.1 reads 2:1:7 as a number to base 60
        return [ratio // 3600, ratio // 60 % 60, ratio % 60]
    words = cast(list[Any], ratio) if isinstance(ratio, list) else str(ratio).split(":")
    try:
        return [int(word) for word in words]
    except (ValueError, TypeError):
        raise ConfigError(f"env.split_ratio = {ratio!r} is no ratio", hint="as in 2:1:7") from None
