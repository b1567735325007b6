"""Makes a project of the settings, tasks and skill of a SkillOpt run.

    python integrations/skillopt/import_skillopt.py configs/searchqa/default.yaml --folder searchqa

The settings are converted here; what the tasks look like is left to `etude init`. Needs the package `etude`.
"""

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from etude.cli.main import main as etude
from etude.config import load_config, make_config
from etude.envs.dataset import DatasetEnvironment
from etude.envs.files import Row
from etude.errors import ConfigError, DataError, EtudeError, SkillError
from etude.records import SPLITS
from etude.searches import policy_of
from etude.skill import Document, load_skill

from skillopt_files import converted_skill, find_near, find_tasks, pictures, read_settings, read_tasks, roots  # isort: skip
from skillopt_settings import Conversion, convert  # isort: skip

SCORERS: Mapping[str, str] = {"searchqa": "f1", "docvqa": "anls", "livemath": "choice"}
"""How answers are compared in SkillOpt's environments of questions; in others by what the gold answers look like."""
IMPOSSIBLE: Mapping[str, tuple[str, str]] = {
    "alfworld": ("is a text game of many turns", "copy the environment in examples/text_games"),
    "officeqa": ("answers with tools over documents", "write an environment of your own: docs/python.md"),
    "swebench": (
        "changes repositories",
        "use the environment command with a check: docs/scorers.md#a-program-as-the-judge",
    ),
    "spreadsheetbench": (
        "needs no conversion: the environment spreadsheet reads its data as they are",
        "write `env: {name: spreadsheet, path: FOLDER}`, as in docs/scorers.md#spreadsheetbench",
    ),
}
CONFIG = "etude.yaml"


class Made(NamedTuple):
    """What `etude init` makes of the tasks."""

    found: dict[str, Any]
    """Its result."""
    env: dict[str, Any]
    """The settings of the environment."""
    folder: Path
    """Where paths of pictures count from."""
    lines: list[str]
    """The tasks as JSON, in the order of the rows."""


def main(words: Sequence[str] | None = None) -> int:
    """Write the project, say what could not be carried over. Returns the exit code; 2: nothing was written."""
    parser = argparse.ArgumentParser(description="Make an etude project of a SkillOpt run.")
    parser.add_argument("config", type=Path, metavar="CONFIG", help="the YAML file of the run")
    parser.add_argument("--folder", type=Path, default=Path(), metavar="DIR", help="where to make the project")
    parser.add_argument("--force", action="store_true", help="overwrite an existing project")
    args = parser.parse_args(words)
    try:
        with tempfile.TemporaryDirectory() as place:
            import_project(args.config, args.folder, args.force, Path(place))
    except EtudeError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return 2
    return 0


def import_project(config: Path, folder: Path, force: bool, place: Path) -> None:
    """Read the file and what it names, make a project in `place`, then copy it to its folder.
    Raises InputError: the file or its data cannot be used. Nothing was written."""
    if (folder / CONFIG).exists() and not force:
        raise ConfigError(
            f"{str(folder / CONFIG)!r} exists already", hint="give another --folder, or --force to overwrite it"
        )
    found = convert(read_settings(config))
    name = str(found.take("env.name") or "")
    kind = _kind(name, config)
    sources = {key: read_tasks(paths) for key, paths in find_tasks(found, config).items()}
    skill = _skill(found, name, config)
    made, notes = _tasks(sources, kind, config, place)
    files = _write_data(sources, made, place / "project" / "data")
    limits = found.settings.pop("env", {})
    if "test" not in files and "path" not in files:
        found.put("test.enabled", False)
    settings = {"preset": "paper", "env": {"name": "dataset", **files, **made.env, **limits}}
    if skill:
        settings["skill"] = {"path": "skill"}
        (place / "project" / "skill").mkdir()
        (place / "project" / "skill" / "SKILL.md").write_text(skill, encoding="utf-8")
    settings |= {**found.settings, "run": {"folder": "runs", "name": "first"}}
    (place / "project" / CONFIG).write_text(_text(settings, config, found.not_carried), encoding="utf-8")
    try:
        policy_of(make_config(settings, where=str(config)))
        env = DatasetEnvironment(load_config(place / "project" / CONFIG).env.model_extra or {})
    except ConfigError as error:
        raise found.name_origins(error, config) from None
    shutil.copytree(place / "project", folder, dirs_exist_ok=True)
    by_ratio = "path" in files
    _tell(made, env, [*found.notes, *notes, *_notes(name, kind, made, by_ratio), *env.warnings], found, folder)


def _kind(name: str, config: Path) -> str:
    """The environment by a name without spelling: `searchqa`, `livemath`."""
    kind = re.sub(r"[^a-z]", "", name.lower())
    kind = next((known for known in ("livemath", "docvqa") if kind.startswith(known)), kind)
    if kind in IMPOSSIBLE:
        why, hint = IMPOSSIBLE[kind]
        raise ConfigError(f"{config}: env.name = {name!r} {why}", hint=hint)
    return kind


def _tasks(sources: Mapping[str, Sequence[Row]], kind: str, config: Path, place: Path) -> tuple[Made, list[str]]:
    """What `etude init` makes of all rows together, and a note where SkillOpt's scorer does not suit them."""
    data = place / "data" / "rows.jsonl"
    data.parent.mkdir()
    for rows in sources.values():
        _copy_pictures(rows, config, data.parent)
    with data.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row.columns) + "\n" for rows in sources.values() for row in rows)
    scorer = SCORERS.get(kind, "")
    found = _init(data, place / "made", scorer)
    notes: list[str] = []
    if "error" in found and scorer:
        notes = [f"the scorer {scorer!r} does not accept all gold answers: {found['error']}"]
        found = _init(data, place / "made", "")
    if "error" in found:
        raise DataError(found["error"], hint=found["hint"])
    settings = yaml.safe_load((place / "made" / CONFIG).read_text(encoding="utf-8"))
    env = {key: settings["env"][key] for key in ("fields", "scorer", "template") if key in settings["env"]}
    built = bool(found["built"])
    file = place / "made" / "tasks.jsonl" if built else data
    lines = file.read_text(encoding="utf-8").split("\n")[:-1]
    if len(lines) != sum(map(len, sources.values())):
        raise DataError(f"{config}: some rows ask nothing, or have no right answer", hint="remove them from the data")
    return Made(found, env, file.parent, lines), notes


def _init(data: Path, folder: Path, scorer: str) -> dict[str, Any]:
    words = ["init", str(data), "--folder", str(folder), "--json", *(("--scorer", scorer) if scorer else ())]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        etude(words)
    return json.loads(said.getvalue())


def _copy_pictures(rows: Sequence[Row], config: Path, target: Path) -> None:
    """Copy the pictures of rows under their own names. Raises DataError: one is outside of the folder that paths
    count from: the data's own, else that of the repository."""
    own = Path(rows[0].place.rpartition(": ")[0] or rows[0].place.rpartition(":")[0]).parent
    named = {path: row.place for row in rows for path in pictures(row.columns)}
    base = next((folder for folder in (own, *roots(config)) if any((folder / path).is_file() for path in named)), own)
    for path, where in named.items():
        if not (base / path).is_file():
            continue
        inside = os.path.relpath(os.path.realpath(base / path), os.path.realpath(base))
        if inside.startswith(os.pardir) or os.path.isabs(path):
            raise DataError(
                f"{where}: the picture {path!r} is outside of {str(base)!r}",
                hint="copy it there, and name it from there",
            )
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(base / path, target / path)


def _write_data(sources: Mapping[str, Sequence[Row]], made: Made, folder: Path) -> dict[str, str]:
    """A file for each split, or one for all, with the pictures beside them."""
    shutil.copytree(made.folder, folder, ignore=shutil.ignore_patterns("*.jsonl", CONFIG, "skills"))
    files: dict[str, str] = {}
    at = 0
    for key, rows in sources.items():
        files[key] = f"data/{'tasks' if key == 'path' else key}.jsonl"
        text = "".join(f"{line}\n" for line in made.lines[at : at + len(rows)])
        (folder.parent / files[key]).write_text(text, encoding="utf-8")
        at += len(rows)
    return files


def _skill(found: Conversion, name: str, config: Path) -> str:
    """The text of SKILL.md, empty when the run starts without a skill. `name` is that of the environment.
    Raises SkillError: the skill that is named does not exist or cannot be read."""
    path = found.take("env.skill_init")
    if path is None:
        return ""
    place = find_near(path, config, SkillError)
    text = converted_skill(load_skill(place).text, place)
    if not text.strip() or Document.parse(text).front_matter:
        return text
    about = re.sub(r"[^\w. -]+", "-", name or place.stem).strip(" -.") or "the"
    return f"---\nname: skill\ndescription: How to do {about} tasks.\n---\n\n{text}"


def _text(settings: Mapping[str, Any], config: Path, not_carried: Sequence[str]) -> str:
    lines = [
        f"# From the SkillOpt settings {config.name}; paths count from this file.",
        "# All settings, with what they mean and their defaults: docs/reference/config.md",
        "",
        yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True),
    ]
    if not_carried:
        lines.append(f"# Not carried over: {' '.join(', '.join(not_carried).split())}\n")
    return "\n".join(lines)


def _notes(name: str, kind: str, made: Made, by_ratio: bool) -> Iterator[str]:
    """What is different about the tasks of an environment."""
    if kind == "docvqa" and "images" not in made.env["fields"]:
        yield "no column of pictures was found: name the column in env.fields.images"
    if name and kind not in SCORERS:
        yield f"how {name!r} scores answers is not known here: the scorer follows from the look of the gold answers"
    if by_ratio:
        yield "a ratio divides every kind of task here: the splits differ from those that SkillOpt makes of the seed"
    yield from (note for note in made.found["notes"] if "another order" in note or "look like pictures" in note)


def _tell(made: Made, env: DatasetEnvironment, notes: Sequence[str], found: Conversion, folder: Path) -> None:
    print("tasks  ", ", ".join(f"{len(env.tasks(split))} {split}" for split in SPLITS))
    print("scorer ", made.found["scorer"])
    if found.not_carried:
        print(f"not carried over: {', '.join(found.not_carried)}")
    for note in notes:
        print("note   ", note)
    print(f"wrote   {folder / CONFIG}\n\nnext:\n  etude doctor {folder / CONFIG}")


if __name__ == "__main__":
    sys.exit(main())
