"""The files of a SkillOpt run: its settings with all they inherit, and its tasks."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import JsonValue

from etude.cli.scaffold.skillopt.settings import Conversion
from etude.config import merge
from etude.envs.files import read_rows
from etude.envs.images import is_web
from etude.errors import ConfigError, DataError, InputError
from etude.records import Split
from etude.safe_yaml import read_yaml

BASE = "_base_"
SPLIT_FOLDERS: Mapping[Split, Sequence[str]] = {
    "train": ("train",),
    "val": ("val", "valid_seen", "valid", "selection"),
    "test": ("test", "valid_unseen"),
}
"""What the folder of a split can be called, the likeliest name first."""
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")


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


def find_tasks(found: Conversion, config: Path) -> dict[str, Path]:
    """The files of tasks, by split, or one as `path`. Raises ConfigError: the settings name none; DataError: a file
    or a folder does not exist, or a split has no file of its own."""
    by_ratio = found.take("env.split_mode") == "ratio" and "env.data_path" in found.given
    if not by_ratio and (folder := found.take("env.split_dir")) is not None:
        return _split_files(find_near(folder, config, DataError))
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
    place = find_near(path, config, DataError)
    return {"path": _data_file(place) if place.is_dir() else place}


def find_near(path: Any, config: Path, kind: type[InputError]) -> Path:
    """The file or folder that a settings file means: from the current folder, else from the file's own folder or one
    above, as SkillOpt is run from its repository. Raises InputError: of this kind; it does not exist."""
    folders = (Path(), *config.absolute().parents)
    place = next((folder / str(path) for folder in folders if (folder / str(path)).exists()), None)
    if place is None:
        raise kind(
            f"{config}: {str(path)!r} does not exist",
            hint="run this in the folder that the paths of the file count from",
        )
    return place


def write_rows(source: Path, target: Path, image_column: str | None) -> None:
    """Write the rows of a file as JSONL, and copies of their pictures into a folder next to the new file."""
    base, folder = os.path.realpath(source.parent), target.with_suffix("")

    def moved(value: JsonValue, keys: Sequence[str]) -> JsonValue:
        if isinstance(value, dict) and keys and keys[0] in value:
            return {**value, keys[0]: moved(value[keys[0]], keys[1:])}
        if isinstance(value, list):
            return [moved(each, keys) for each in value]
        if keys or not isinstance(value, str) or not value or is_web(value) or value.startswith("data:"):
            return value
        copy = folder / os.path.relpath(os.path.realpath(source.parent / value), base)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.parent / value, copy)
        return str(copy.relative_to(target.parent))

    target.parent.mkdir(parents=True, exist_ok=True)
    rows: list[JsonValue] = [row.columns for row in read_rows(source)]
    if image_column is not None:
        rows = [moved(row, image_column.split(".")) for row in rows]
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


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
