"""The files of a new project: its settings, with comments, a skill to start from, and tasks that were built."""

import json
import os
import re
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import JsonValue

from etude.cli.scaffold.tasks import Data, scorer_setting
from etude.envs.files import Row
from etude.envs.images import is_web
from etude.errors import ConfigError

SKILL_TEXT = """\
---
name: skill
description: How to do the tasks in {data}.
---

# How to do the tasks

- Read the whole task before you begin.
- Work step by step.
- Check the answer against the task before you give it.
"""

TASKS = "tasks.jsonl"
_SOFT = ("gate:", "  metric: soft   # partial credit counts, as few answers match in full", "")
_SCORERS = "exact, f1, anls, numeric, math, choice, regex, json, checks, rubric"


def skill_text(data: str) -> str:
    """The skill of a new project."""
    return SKILL_TEXT.format(data=data)


def was_made(text: str) -> bool:
    """Whether a skill is still as `skill_text` made it."""
    before, _, after = SKILL_TEXT.partition("{data}")
    return text.startswith(before) and text.endswith(after) and len(text.splitlines()) == len(SKILL_TEXT.splitlines())


def config_text(data: Data, files: Mapping[str, str], skill: str, target: str, optimizer: str) -> str:
    """`etude.yaml`, with the files of tasks as they are named there. Every value is written as JSON, which YAML reads
    as it is."""
    return "\n".join(
        [
            "# Settings of this project; paths count from this file.",
            "# All settings, with what they mean and their defaults: docs/reference/config.md",
            "",
            *_env(data, files),
            "",
            "skill:",
            f"  path: {_value(skill)}   # a skill folder, a SKILL.md or a plain Markdown file",
            "",
            "target:   # the frozen model that attempts the tasks",
            *_model(target),
            "",
            "optimizer:   # the model that reads the attempts and proposes edits of the skill",
            *_model(optimizer),
            "",
            *(["judge:   # the model that grades answers", *_model(optimizer), ""] if data.judged else []),
            "train:",
            "  epochs: 4   # passes over the training tasks",
            "",
            *(_SOFT if data.made.metric == "soft" else []),
            "# limits:   # hard caps on the whole run; a run that reaches one can be resumed with a larger one",
            "#   usd: 5   # needs a price for every model",
            "#   calls: 5000",
            "",
            "run:",
            "  folder: runs",
            "  name: first",
            "",
        ]
    )


def _env(data: Data, files: Mapping[str, str]) -> list[str]:
    made = data.made
    lines = ["env:", "  name: dataset", *(f"  {key}: {_value(path)}" for key, path in files.items())]
    if data.ratio is not None:
        lines.append(f"  ratio: {_value(list(data.ratio))}   # shares of train, val and test")
    if data.limit is not None:
        lines.append(f"  limit: {_value(dict(data.limit))}   # most tasks in each split; remove it to use all")
    lines.append("  fields:   # which column is which part of a task")
    lines += [f"    {name}: {_value(column)}" for name, column in made.fields.items()]
    if made.template:
        lines.append(f"  template: {_value(made.template)}   # the input of a task, from several columns")
    scorer = scorer_setting(made)
    named = scorer if isinstance(scorer, str) else _value(scorer)
    lines.append(f"  scorer: {named}   # {made.why}; there are {_SCORERS}")
    return lines


def _model(name: str) -> list[str]:
    lines = [f"  model: {_value(name)}"]
    if name.startswith("openai:"):
        lines += [
            "  # base_url: http://127.0.0.1:8000/v1   # any OpenAI-compatible server",
            "  # api_key_env: OPENAI_API_KEY   # the environment variable with the key; never the key itself",
            "  # price: {input: 1.0, output: 4.0}   # USD per million tokens",
        ]
    return lines


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def check_free(config: Path, force: bool) -> None:
    """Make sure that no project is overwritten by mistake.
    Raises ConfigError: there is one, and `force` is not set."""
    if config.exists() and not force:
        raise ConfigError(f"{str(config)!r} exists already", hint="give another --folder, or --force to overwrite it")


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Make the folder of a project; files that cannot be written are a ConfigError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise ConfigError(
            f"the project in {str(folder)!r} cannot be written: {error.strerror}", hint="give another --folder"
        ) from None


def from_folder(path: Path, folder: Path) -> str:
    """Relative where the file and the project are near each other, so that they can be moved together."""
    real = os.path.realpath(path)
    relative = os.path.relpath(real, os.path.realpath(folder))
    return real if relative.startswith(os.path.join("..", "..", "..")) else relative


def plain(name: str) -> str:
    """A file name as it may stand in front matter without quotes."""
    return re.sub(r"[^\w. -]+", "-", name).strip(" -.") or "the"


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
