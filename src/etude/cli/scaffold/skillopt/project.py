"""A project from the settings, tasks and skill of a SkillOpt run."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.scaffold.columns import Columns, guess_columns
from etude.cli.scaffold.project import Project, check_free, report, writing
from etude.cli.scaffold.skillopt.converted import Converted
from etude.cli.scaffold.skillopt.data import Source, take_source, write_rows
from etude.cli.scaffold.skillopt.file import find_near, read
from etude.cli.scaffold.skillopt.settings import convert
from etude.config import make_config
from etude.envs.dataset import DatasetEnvironment
from etude.envs.files import read_rows
from etude.envs.gold import check_gold
from etude.errors import ConfigError, DataError, SkillError
from etude.records import SPLITS
from etude.skill import Document, load_skill

SCORERS: Mapping[str, tuple[str, str]] = {
    "searchqa": ("f1", "as there: exact match and F1 over words, after SQuAD normalisation"),
    "docvqa": ("anls", "as there"),
    "livemath": ("choice", "as there: the label of the choice"),
}
"""How answers are compared in SkillOpt's environments of questions; in others by what the gold answers look like."""
NOTES: Mapping[str, str] = {
    "searchqa": "the target is shown the whole context; there it is cut to 6,000 characters",
    "livemath": "choices stand in the order of the data; there they are shuffled",
}
IMPOSSIBLE: Mapping[str, str] = {
    "alfworld": "is a text game of many turns",
    "officeqa": "answers with tools over a folder of documents",
}
WORKBOOKS = "spreadsheetbench"
SKILL = Path("skill", "SKILL.md")
_OTHER_SPLITS = (
    "a ratio divides every kind of task here: the splits differ from those that SkillOpt makes of the seed"
)


def import_project(config: Path, folder: Path, *, force: bool, as_json: bool) -> int:
    """Read the file and what it names, write a project, say what could not be carried over. Returns the exit code.

    Raises:
        InputError: the file or its data cannot be used. Nothing was written.
    """
    config_path = folder / DEFAULT_CONFIG
    check_free(config_path, force)
    given = read(config)
    name = str(given.pop("env.name", "") or "")
    kind = _kind(name, config)
    source = take_source(given, config)
    skill = _skill(given.pop("env.skill_init", None), name, config)
    converted = convert(given, str(config))
    left = {**source.left, **converted.left}
    columns = _columns(source, kind)
    columns, env = _fitting(columns, source, converted)
    settings = _settings(converted, source, columns, skill)
    try:
        make_config(settings, where=str(config))
    except ConfigError as error:
        raise converted.in_their_words(error) from None
    with writing(folder):
        for key, path in source.files.items():
            write_rows(path, folder / _file(key), columns.fields.get("images"))
        if skill:
            (folder / SKILL).parent.mkdir(exist_ok=True)
            (folder / SKILL).write_text(skill, encoding="utf-8")
        config_path.write_text(_text(settings, config, left), encoding="utf-8")
    skills = [folder / SKILL] if skill else []
    project = Project(
        config=config_path,
        skill=folder / SKILL if skill else None,
        tasks={split: len(env.tasks(split)) for split in SPLITS},
        columns=columns,
        notes=[
            *converted.notes,
            *columns.notes,
            *_notes(name, kind, columns),
            *([_OTHER_SPLITS] if source.ratio is not None else []),
            *env.warnings,
        ],
        wrote=[config_path, *skills, *(folder / _file(key) for key in source.files)],
        sampled="limit" in settings["env"],
        not_carried=left,
    )
    report(project, as_json=as_json)
    return 0


def _kind(name: str, config: Path) -> str:
    """The environment by a name without spelling: `searchqa`, `livemath`."""
    kind = re.sub(r"[^a-z]", "", name.lower())
    kind = next((known for known in ("livemath", "docvqa") if kind.startswith(known)), kind)
    if kind == WORKBOOKS:
        raise ConfigError(
            f"{config}: env.name = {name!r} is not converted: the environment spreadsheet reads its data as they are",
            hint="write `env: {name: spreadsheet, path: FOLDER}`, as in docs/guides/spreadsheet.md",
        )
    if kind in IMPOSSIBLE:
        raise ConfigError(
            f"{config}: env.name = {name!r} {IMPOSSIBLE[kind]}: nothing here does that yet",
            hint="write an environment of your own: docs/guides/python.md",
        )
    return kind


def _notes(name: str, kind: str, columns: Columns) -> Iterator[str]:
    """What is different about the tasks of an environment."""
    if kind in NOTES:
        yield NOTES[kind]
    if kind == "docvqa" and "images" not in columns.fields:
        yield (
            "no column of pictures was found, so the questions are asked without the documents they are about: name "
            "the column in env.fields.images"
        )
    if name and kind not in SCORERS:
        yield f"how {name!r} scores answers is not known here: the scorer follows from the look of the gold answers"


def _columns(source: Source, kind: str) -> Columns:
    first = next(iter(source.files.values()))
    columns = guess_columns(read_rows(first), first.parent)
    if kind not in SCORERS:
        return columns
    scorer, why = SCORERS[kind]
    return replace(columns, scorer=scorer, why=why)


def _fitting(columns: Columns, source: Source, converted: Converted) -> tuple[Columns, DatasetEnvironment]:
    """The columns with a scorer that accepts the gold answers, and the environment they make."""

    def environment(columns: Columns) -> DatasetEnvironment:
        return DatasetEnvironment(_env(columns, source, converted, {key: str(p) for key, p in source.files.items()}))

    env = environment(columns)
    try:
        asyncio.run(check_gold(env, [task for split in SPLITS for task in env.tasks(split)]))
    except DataError as error:
        note = f"the scorer {columns.scorer!r} does not accept all gold answers ({error.message.splitlines()[0]})"
        columns = replace(
            columns, scorer="exact", why="not all gold answers are of one kind", notes=[*columns.notes, note]
        )
        env = environment(columns)
    return columns, env


def _env(columns: Columns, source: Source, converted: Converted, files: Mapping[str, str]) -> dict[str, Any]:
    env: dict[str, Any] = {**files, "fields": dict(columns.fields), "scorer": columns.scorer}
    if source.ratio is not None:
        env |= {"ratio": list(source.ratio), "split_seed": source.split_seed}
    if columns.template:
        env["template"] = columns.template
    return env | converted.settings.get("env", {})


def _settings(converted: Converted, source: Source, columns: Columns, skill: str) -> dict[str, Any]:
    env = _env(columns, source, converted, {key: str(_file(key)) for key in source.files})
    first = {"preset": converted.settings["preset"], "env": {"name": "dataset", **env}}
    if skill:
        first["skill"] = {"path": str(SKILL.parent)}
    if "test" not in source.files and source.ratio is None:
        converted.put("test.enabled", False)
    settings = first | {key: value for key, value in converted.settings.items() if key not in first}
    return settings | {"run": {"folder": "runs", "name": "first"}}


def _file(key: str) -> Path:
    return Path("data", f"{'tasks' if key == 'path' else key}.jsonl")


def _skill(path: Any, name: str, config: Path) -> str:
    """The text of SKILL.md, empty when the run starts without a skill. `name` is that of the environment.

    Raises:
        SkillError: the skill that is named does not exist or cannot be read.
    """
    if path in (None, ""):
        return ""
    found = find_near(str(path), config)
    if found is None:
        raise SkillError(
            f"{config}: env.skill_init = {str(path)!r} does not exist",
            hint="run this in the folder that the paths of the file count from",
        )
    text = load_skill(found).text
    if not text.strip() or Document.parse(text).front_matter:
        return text
    return f"---\nname: skill\ndescription: How to do {_plain(name or found.stem)} tasks.\n---\n\n{text}"


def _plain(name: str) -> str:
    """A file name as it may stand in front matter without quotes."""
    return re.sub(r"[^\w. -]+", "-", name).strip(" -.") or "the"


def _text(settings: Mapping[str, Any], config: Path, left: Mapping[str, str]) -> str:
    lines = [
        f"# From the SkillOpt settings {config.name}; paths count from this file.",
        "# All settings, with what they mean and their defaults: docs/reference/config.md",
        "",
        yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True),
    ]
    if left:
        lines += [
            "# Not carried over:",
            *(f"#   {' '.join(f'{key}: {why}'.split())}" for key, why in left.items()),
            "",
        ]
    return "\n".join(lines)
