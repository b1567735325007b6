"""Tasks as files of a project."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from etude.envs.files import Row
from etude.envs.images import is_web
from etude.errors import ConfigError

TASKS = "tasks.jsonl"


def task_files(keys: Sequence[str]) -> dict[str, str]:
    """Where the tasks of a project are: in one file, or in one for each split."""
    return {key: TASKS if key == "path" else f"tasks/{key}.jsonl" for key in keys}


def check_sources(folder: Path, files: Mapping[str, str], sources: Sequence[Path], force: bool) -> None:
    """Make sure that no file of the user is overwritten.
    Raises ConfigError: one of them is the data, or exists and `force` is not set."""
    for name in files.values():
        target = folder / name
        if any(target.resolve() == source.resolve() for source in sources):
            raise ConfigError(
                f"the tasks that are built would overwrite the data, {str(target)!r}",
                hint="give another place for the project, as in --folder project",
            )
        if target.exists() and not force:
            raise ConfigError(
                f"{str(target)!r} exists already", hint="give another --folder, or --force to overwrite it"
            )


def write_tasks(rows: Sequence[Row], base: Path, target: Path, fields: Mapping[str, str]) -> None:
    """Write rows as JSONL; pictures and files, whose paths count from `base`, are copied into a folder next to it."""
    columns: list[JsonValue] = [row.columns for row in rows]
    for column in (fields[name] for name in ("images", "files") if name in fields):
        columns = [_moved(value, column.split("."), base, target) for value in columns]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in columns), encoding="utf-8")


def _moved(value: JsonValue, keys: Sequence[str], base: Path, target: Path) -> JsonValue:
    if isinstance(value, dict) and keys and keys[0] in value:
        return {**value, keys[0]: _moved(value[keys[0]], keys[1:], base, target)}
    if isinstance(value, list):
        return [_moved(each, keys, base, target) for each in value]
    if keys or not isinstance(value, str) or not value or is_web(value) or value.startswith("data:"):
        return value
    inside = os.path.relpath(os.path.realpath(base / value), os.path.realpath(base))
    copy = target.with_suffix("") / inside
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(base / value, copy)
    return str(copy.relative_to(target.parent))
