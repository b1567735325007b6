"""The files of a SkillOpt run: its settings with all they inherit, and its tasks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from etude.cli.scaffold.forms.table import GOLD, Table
from etude.cli.scaffold.reading import read_source
from etude.cli.scaffold.skillopt.settings import Conversion
from etude.config import merge
from etude.envs.files import Row
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
MADE_FIRST = (
    "; SkillOpt comes with lists of ids (data/*_id_split) and not with data: make the split first, as the data guide "
    "and the scripts of its repository say"
)
"""Where data is missing: what has to be done before."""
_LISTED = frozenset({"id", "questionid", "uid", "key", "task_id", "gamefile", "path"})
_MONTHS = "qa_*_final.json"
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
    """The rows of these files. Raises DataError: they cannot be read, or have ids and nothing that is asked."""
    rows = [row for path in paths for row in read_source(path).rows]
    table = Table(rows)
    if not table.question and table.gold(*GOLD) is None and all(map(_is_flat, rows)) and _LISTED & {*table.folded()}:
        raise DataError(
            f"{paths[0]}: the rows have ids, and neither questions nor answers; columns: {table.columns}",
            hint=f"set env.split_dir to the split that is made of it{MADE_FIRST}",
        )
    return [_with_id(row) for row in rows]


def _is_flat(row: Row) -> bool:
    return not any(isinstance(value, dict) for value in row.columns.values())


def _with_id(row: Row) -> Row:
    """Items of months are counted in each: SkillOpt knows them by both."""
    month, number = row.columns.get("month"), row.columns.get("no")
    if "id" in row.columns or month is None or number is None:
        return row
    return Row(row.place, {"id": f"{month}:{number}", **row.columns})


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
