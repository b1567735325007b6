"""The files of a new project: its settings, with comments, a skill to start from, and tasks that were built."""

import json
import os
import re
import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from unicodedata import normalize

from pydantic import JsonValue

from etude.cli.parsing.arguments import RUNS_FOLDER
from etude.cli.scaffold.table import UNNAMED
from etude.cli.scaffold.tasks import Data, scorer_setting
from etude.envs.files import Row
from etude.envs.images import is_web
from etude.errors import ConfigError, raising
from etude.files import unversioned_folder
from etude.skill.front_matter import MAX_DESCRIPTION, RESERVED

_SKILL = """\
---
name: {name}
description: {description}
---

# {title}

- Read the whole task before you begin.
- Work step by step.
- Check the answer against the task before you give it.
"""
_MADE = re.compile(".*".join(re.escape(part) for part in re.split(r"{\w+}", _SKILL)))
_MOST_NAME = 40
_PLAIN_WORDS = re.compile(r"[^\W\d_][\w ]{0,30}")

TASKS = "tasks.jsonl"
_CONFIG = """\
# Settings of this project; paths count from this file.
# `etude help settings` says what each setting means; `etude help settings env` those of one section.

env:
  name: dataset
{env}

skill:
  path: {skill}   # a skill folder, a SKILL.md or a plain Markdown file

{agent}target:   # the frozen model that attempts the tasks
{target}

optimizer:   # the model that reads the attempts and proposes edits of the skill
{optimizer}

{judge}train:
  epochs: 12   # passes over the training tasks, at most: it ends where nothing more is found

{gate}# limits:   # hard caps on the whole run; a run that reaches one can be resumed with a larger one
#   usd: 5   # needs a price for every model
#   calls: 5000

run:
  folder: runs
  name: first
"""
_AGENT = "agent:\n  name: {}   # can open the other files of the skill\n\n"
_JUDGE = "judge:   # the model that grades answers\n{}\n\n"
_SOFT = "gate:\n  metric: soft   # partial credit counts, as few answers match in full\n\n"
_OPENAI = """
  # base_url: http://127.0.0.1:8000/v1   # any OpenAI-compatible server
  # api_key_env: OPENAI_API_KEY   # the environment variable with the key; never the key itself
  # price: {input: 1.0, output: 4.0}   # USD per million tokens"""
_SCORERS = "exact, f1, anls, numeric, math, choice, regex, json, checks, rubric"


def new_skill(data: Data, source: Path) -> tuple[str, str]:
    """Name and text of the skill of a new project: it is called after what it does."""
    made = data.made
    columns = re.findall(r"(?<!{){([^{}]+)}", made.template) or [made.fields.get("input", "")]
    asked, right = _noun(columns[0], "task"), _noun(made.fields.get("gold", ""), "answer")
    verb = "sort" if made.labels else "solve" if made.scorer in ("numeric", "math") else "answer"
    plain = normalize("NFKD", source.name.partition(".")[0].casefold()).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain)
    name = "-".join([verb, *(word for word in words if word not in RESERVED)])[:_MOST_NAME].strip("-")
    what = f"Finds the {right} of each {asked}"
    if made.labels:
        what = f"Says which {right} each {asked} belongs to ({', '.join(made.labels)})"
    like = re.sub(r"[^\w. -]+", "-", source.name).strip(" -.") or "the data"
    description = json.dumps(f"{what}. Use it for tasks like those in {like}."[:MAX_DESCRIPTION], ensure_ascii=False)
    title = f"{name[0].upper()}{name[1:].replace('-', ' ')}"
    return name, _SKILL.format(name=name, description=description, title=title)


def _noun(column: str, usual: str) -> str:
    """What a column holds, by its name where that is a plain word."""
    name = column.rpartition(".")[2].replace("_", " ").strip()
    plain = _PLAIN_WORDS.fullmatch(name) and not name.startswith(UNNAMED.format(""))
    return name if plain and name.casefold() not in ("input", "gold", "prompt", "label", "text") else usual


def was_made(text: str) -> bool:
    """Whether a skill is still as `new_skill` made it."""
    return _MADE.fullmatch(text) is not None


def config_text(
    data: Data, files: Mapping[str, str], skill: str, models: Mapping[str, str], agent: str = "chat"
) -> str:
    """`etude.yaml`, with the files of tasks as they are named there. Every value is written as JSON, which YAML reads
    as it is."""
    made, scorer = data.made, scorer_setting(data.made)
    env = [f"  {key}: {_value(path)}" for key, path in files.items()]
    if data.ratio is not None:
        env.append(f"  ratio: {_value(list(data.ratio))}   # shares of train, val and test")
    if data.limit is not None:
        env.append(f"  limit: {_value(dict(data.limit))}   # most tasks in each split; remove it to use all")
    env.append("  fields:   # which column is which part of a task")
    env += [f"    {name}: {_value(column)}" for name, column in made.fields.items()]
    if made.template:
        env.append(f"  template: {_value(made.template)}   # the input of a task, from several columns")
    named = scorer if isinstance(scorer, str) else _value(scorer)
    env.append(f"  scorer: {named}   # {made.why}; there are {_SCORERS}")
    return _CONFIG.format(
        env="\n".join(env),
        skill=_value(skill),
        agent=_AGENT.format(agent) if agent != "chat" else "",
        target=_model(models["target"]),
        optimizer=_model(models["optimizer"]),
        judge=_JUDGE.format(_model(models["optimizer"])) if data.judged else "",
        gate=_SOFT if made.metric == "soft" else "",
    )


def _model(name: str) -> str:
    return f"  model: {_value(name)}" + (_OPENAI if name.startswith("openai:") else "")


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def check_free(target: Path, force: bool, sources: Iterable[Path] = ()) -> None:
    """Make sure that no file is overwritten by mistake.
    Raises ConfigError: it is one of the data, or exists and `force` is not set."""
    if any(target.resolve() == source.resolve() for source in sources):
        raise ConfigError(
            f"the tasks that are built would overwrite the data, {str(target)!r}",
            hint="give another place for the project, as in --folder project",
        )
    if target.exists() and not force:
        raise ConfigError(f"{str(target)!r} exists already", hint="give another --folder, or --force to overwrite it")


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Make the folder of a project; files that cannot be written are a ConfigError."""
    with raising(ConfigError, f"the project in {str(folder)!r} cannot be written", "give another --folder"):
        if Path(RUNS_FOLDER) in folder.parents:
            unversioned_folder(Path(RUNS_FOLDER))
        folder.mkdir(parents=True, exist_ok=True)
        yield


def from_folder(path: Path, folder: Path) -> str:
    """Relative where the file and the project are near each other, so that they can be moved together."""
    real = os.path.realpath(path)
    relative = os.path.relpath(real, os.path.realpath(folder))
    return real if relative.startswith(os.path.join("..", "..", "..")) else relative


def task_files(keys: Sequence[str]) -> dict[str, str]:
    """Where the tasks of a project are: in one file, or in one for each split."""
    return {key: TASKS if key == "path" else f"tasks/{key}.jsonl" for key in keys}


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
