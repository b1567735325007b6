"""The files of a new project: its settings, with comments, and a skill to start from."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from etude.cli.scaffold.columns import Columns
from etude.envs.dataset import DatasetEnvironment
from etude.envs.files import FileFormat, Row, read_rows
from etude.envs.gold import check_gold
from etude.envs.scorers.answer_scorer import Judge
from etude.errors import ConfigError, DataError
from etude.records import SPLITS, Split, Task

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

_SCORERS = "exact, f1, anls, numeric, math, choice, regex, json, checks, rubric"


def skill_text(data: str) -> str:
    """The skill of a new project."""
    return SKILL_TEXT.format(data=data)


def was_made(text: str) -> bool:
    """Whether a skill is still as `skill_text` made it."""
    before, _, after = SKILL_TEXT.partition("{data}")
    return text.startswith(before) and text.endswith(after) and len(text.splitlines()) == len(SKILL_TEXT.splitlines())


@dataclass(frozen=True)
class ProjectPlan:
    """What a new project is made of."""

    files: Mapping[str, str]
    """`path`, or splits, to files as they are named in the settings."""
    ratio: Sequence[float] | None
    limit: Mapping[Split, int] | None
    columns: Columns
    target: str
    optimizer: str
    skill: str = "skill"
    judged: bool = False
    """A model judges the answers."""


def env_options(files: Mapping[str, Path], columns: Columns, more: Mapping[str, object]) -> dict[str, object]:
    """The options of the `dataset` environment with these files; `more` are further ones."""
    options = {key: str(path) for key, path in files.items()}
    template = {"template": columns.template} if columns.template else {}
    return {**options, "fields": dict(columns.fields), "scorer": scorer_setting(columns), **template, **more}


def scorer_setting(columns: Columns) -> object:
    """The scorer as settings name it."""
    return {"name": columns.scorer, **columns.scorer_options} if columns.scorer_options else columns.scorer


def fit_scorer(
    files: Mapping[str, Path],
    columns: Columns,
    more: Mapping[str, object],
    *,
    read: Callable[[Path, FileFormat | None], Sequence[Row]] = read_rows,
    may_change: bool = True,
) -> tuple[DatasetEnvironment, Columns]:
    """The environment, and the columns with the scorer `exact` if theirs does not accept all gold answers: the guess
    came from the first rows; later ones can be of another kind. `read` gives the rows of a file.
    Raises DataError: the gold answers cannot be used."""

    def make() -> tuple[DatasetEnvironment, list[Task]]:
        env = DatasetEnvironment(env_options(files, columns, more), read=read, judge=no_judge)
        return env, [task for split in SPLITS for task in env.tasks(split)]

    env, tasks = make()
    try:
        asyncio.run(check_gold(env, tasks))
    except DataError as error:
        if not may_change:
            raise
        note = f"not all gold answers are of one kind, so they are compared as texts: {error.message}"
        columns = replace(
            columns,
            scorer="exact",
            metric="hard",
            why="not all gold answers are of one kind",
            notes=[*columns.notes, note],
        )
        env, tasks = make()
        asyncio.run(check_gold(env, tasks))
    return env, columns


def no_judge() -> Judge:
    """In place of the model that grades: nothing is graded while a project is made."""
    raise ConfigError("no model is asked while a project is made", hint="give another --scorer")


def config_text(plan: ProjectPlan) -> str:
    """`etude.yaml`. Every value is written as JSON, which YAML reads as it is."""
    return "\n".join(
        [
            "# Settings of this project; paths count from this file.",
            "# All settings, with what they mean and their defaults: docs/reference/config.md",
            "",
            *_env(plan),
            "",
            "skill:",
            f"  path: {_value(plan.skill)}   # a skill folder, a SKILL.md or a plain Markdown file",
            "",
            "target:   # the frozen model that attempts the tasks",
            *_model(plan.target),
            "",
            "optimizer:   # the model that reads the attempts and proposes edits of the skill",
            *_model(plan.optimizer),
            "",
            *_judge(plan),
            "train:",
            "  epochs: 4   # passes over the training tasks",
            "",
            *_gate(plan),
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


def _env(plan: ProjectPlan) -> list[str]:
    columns = plan.columns
    lines = ["env:", "  name: dataset", *(f"  {key}: {_value(path)}" for key, path in plan.files.items())]
    if plan.ratio is not None:
        lines.append(f"  ratio: {_value(list(plan.ratio))}   # shares of train, val and test")
    if plan.limit is not None:
        lines.append(f"  limit: {_value(dict(plan.limit))}   # most tasks in each split; remove it to use all")
    lines.append("  fields:   # which column is which part of a task")
    lines += [f"    {name}: {_value(column)}" for name, column in columns.fields.items()]
    if columns.template:
        lines.append(f"  template: {_value(columns.template)}   # the input of a task, from several columns")
    lines.append(f"  scorer: {_plain(scorer_setting(columns))}   # {columns.why}; there are {_SCORERS}")
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


def _judge(plan: ProjectPlan) -> list[str]:
    if not plan.judged:
        return []
    return ["judge:   # the model that grades answers", *_model(plan.optimizer), ""]


def _gate(plan: ProjectPlan) -> list[str]:
    if plan.columns.metric == "hard":
        return []
    return ["gate:", f"  metric: {plan.columns.metric}   # partial credit counts, as few answers match in full", ""]


def _plain(value: object) -> str:
    return value if isinstance(value, str) else _value(value)


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
