"""A project from the settings, tasks and skill of a SkillOpt run."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.scaffold.columns import Columns, guess_columns, picture_column
from etude.cli.scaffold.data import built
from etude.cli.scaffold.files import env_options, fit_scorer
from etude.cli.scaffold.forms import build
from etude.cli.scaffold.forms.table import Table, Wishes
from etude.cli.scaffold.look import first_tasks
from etude.cli.scaffold.project import Project, check_free, plain, report, writing
from etude.cli.scaffold.skillopt.files import find_near, find_tasks, read_settings, read_tasks, roots
from etude.cli.scaffold.skillopt.settings import Conversion, convert
from etude.cli.scaffold.skillopt.skill import converted
from etude.cli.scaffold.task_files import write_tasks
from etude.config import make_config
from etude.envs.dataset import DatasetEnvironment
from etude.envs.files import Row
from etude.errors import ConfigError, SkillError
from etude.records import SPLITS
from etude.searches import policy_of
from etude.skill import Document, load_skill

SCORERS: Mapping[str, tuple[str, str]] = {
    "searchqa": ("f1", "as there: exact match and F1 over words, after SQuAD normalisation"),
    "docvqa": ("anls", "as there"),
    "livemath": ("choice", "as there: the label of the choice"),
}
"""How answers are compared in SkillOpt's environments of questions; in others by what the gold answers look like."""
IMPOSSIBLE: Mapping[str, tuple[str, str]] = {
    "alfworld": ("is a text game of many turns", "write an environment of your own: docs/guides/python.md"),
    "officeqa": ("answers with tools over documents", "write an environment of your own: docs/guides/python.md"),
    "swebench": (
        "changes repositories",
        "use the environment command with a check: docs/guides/command-environment.md",
    ),
    "spreadsheetbench": (
        "needs no conversion: the environment spreadsheet reads its data as they are",
        "write `env: {name: spreadsheet, path: FOLDER}`, as in docs/guides/spreadsheet.md",
    ),
}
SKILL = Path("skill", "SKILL.md")


def import_project(config: Path, folder: Path, *, force: bool, as_json: bool) -> int:
    """Read the file and what it names, write a project, say what could not be carried over. Returns the exit code.
    Raises InputError: the file or its data cannot be used. Nothing was written."""
    config_path = folder / DEFAULT_CONFIG
    check_free(config_path, force)
    found = convert(read_settings(config))
    name = str(found.take("env.name") or "")
    kind = _kind(name, config)
    sources = {key: read_tasks(paths) for key, paths in find_tasks(found, config).items()}
    skill = _skill(found, name, config)
    more = found.settings.pop("env", {})
    try:
        tasks = _tasks(sources, kind, config, more)
        files = {key: Path("data", f"{'tasks' if key == 'path' else key}.jsonl") for key in sources}
        options = {"name": "dataset", **env_options(files, tasks.columns, more)}
        if "test" not in files and "path" not in files:
            found.put("test.enabled", False)
        settings = _settings(found, options, skill)
        policy_of(make_config(settings, where=str(config)))
    except ConfigError as error:
        raise found.name_origins(error, config) from None
    columns = tasks.columns
    with writing(folder):
        for key, rows in tasks.rows.items():
            write_tasks(rows, tasks.bases[key], folder / files[key], columns.fields)
        if skill:
            (folder / SKILL).parent.mkdir(exist_ok=True)
            (folder / SKILL).write_text(skill, encoding="utf-8")
        config_path.write_text(_text(settings, config, found.not_carried), encoding="utf-8")
    skills = [folder / SKILL] if skill else []
    project = Project(
        config=config_path,
        skill=folder / SKILL if skill else None,
        tasks={split: len(tasks.env.tasks(split)) for split in SPLITS},
        columns=columns,
        notes=[*found.notes, *columns.notes, *_notes(name, kind, columns, "path" in files), *tasks.env.warnings],
        wrote=[config_path, *skills, *(folder / file for file in files.values())],
        sampled="limit" in options,
        not_carried=found.not_carried,
        built=tasks.what,
        first=first_tasks(tasks.env),
    )
    report(project, as_json=as_json)
    return 0


@dataclass(frozen=True)
class _Tasks:
    env: DatasetEnvironment
    columns: Columns
    rows: Mapping[str, Sequence[Row]]
    bases: Mapping[str, Path]
    """Where the paths of pictures count from."""
    what: str


def _tasks(sources: Mapping[str, Sequence[Row]], kind: str, config: Path, more: Mapping[str, Any]) -> _Tasks:
    """The tasks in these rows, by the forms that `init` knows."""
    scorer, why = SCORERS.get(kind, ("", ""))
    bases = {key: _base(rows, config) for key, rows in sources.items()}
    base = next(iter(bases.values()))
    table = Table([row for rows in sources.values() for row in rows], Wishes(scorer=scorer))
    made, rows = build(table), sources
    if made is not None:
        rows, columns = built(made, sources, picture_column(table, base), table)
    else:
        columns = guess_columns(table.rows, base, table.wishes)
    columns = replace(columns, why=why) if why else columns
    places = {key: bases[key] / f"{key} of {config.name}" for key in rows}

    def read(path: Path, form: object) -> Sequence[Row]:
        return rows[next(key for key, place in places.items() if place == path)]

    env, columns = fit_scorer(places, columns, more, read=read, may_change=made is None)
    return _Tasks(env, columns, rows, bases, made.what if made is not None else "")


def _base(rows: Sequence[Row], config: Path) -> Path:
    """The folder that the paths of pictures count from: the data's own, else that of the repository."""
    own = Path(rows[0].place.rpartition(": ")[0]).parent
    table = Table(rows)
    return next((folder for folder in (own, *roots(config)) if picture_column(table, folder)), own)


def _kind(name: str, config: Path) -> str:
    """The environment by a name without spelling: `searchqa`, `livemath`."""
    kind = re.sub(r"[^a-z]", "", name.lower())
    kind = next((known for known in ("livemath", "docvqa") if kind.startswith(known)), kind)
    if kind in IMPOSSIBLE:
        why, hint = IMPOSSIBLE[kind]
        raise ConfigError(f"{config}: env.name = {name!r} {why}", hint=hint)
    return kind


def _notes(name: str, kind: str, columns: Columns, by_ratio: bool) -> Iterator[str]:
    """What is different about the tasks of an environment."""
    if kind == "docvqa" and "images" not in columns.fields:
        yield "no column of pictures was found: name the column in env.fields.images"
    if name and kind not in SCORERS:
        yield f"how {name!r} scores answers is not known here: the scorer follows from the look of the gold answers"
    if by_ratio:
        yield "a ratio divides every kind of task here: the splits differ from those that SkillOpt makes of the seed"


def _skill(found: Conversion, name: str, config: Path) -> str:
    """The text of SKILL.md, empty when the run starts without a skill. `name` is that of the environment.
    Raises SkillError: the skill that is named does not exist or cannot be read."""
    path = found.take("env.skill_init")
    if path is None:
        return ""
    place = find_near(path, config, SkillError)
    text = converted(load_skill(place).text, place)
    if not text.strip() or Document.parse(text).front_matter:
        return text
    return f"---\nname: skill\ndescription: How to do {plain(name or place.stem)} tasks.\n---\n\n{text}"


def _settings(found: Conversion, env: Mapping[str, Any], skill: str) -> dict[str, Any]:
    first = {"preset": found.settings["preset"], "env": env}
    if skill:
        first["skill"] = {"path": str(SKILL.parent)}
    return first | found.settings | {"run": {"folder": "runs", "name": "first"}}


def _text(settings: Mapping[str, Any], config: Path, not_carried: list[str]) -> str:
    lines = [
        f"# From the SkillOpt settings {config.name}; paths count from this file.",
        "# All settings, with what they mean and their defaults: docs/reference/config.md",
        "",
        yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True),
    ]
    if not_carried:
        lines.append(f"# Not carried over: {' '.join(', '.join(not_carried).split())}\n")
    return "\n".join(lines)
