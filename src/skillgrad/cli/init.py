"""`skillgrad init`."""

import argparse
import asyncio
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from skillgrad.cli import output
from skillgrad.cli.columns import Columns, guess_columns
from skillgrad.cli.parser import DEFAULT_CONFIG
from skillgrad.cli.scaffold import SKILL_TEXT, Plan, config_text, env_options
from skillgrad.config import load_config
from skillgrad.envs.dataset import DatasetEnvironment
from skillgrad.envs.files import read_rows
from skillgrad.envs.gold import check_gold
from skillgrad.envs.splits import SPLITS
from skillgrad.errors import ConfigError, DataError
from skillgrad.models import build_model
from skillgrad.records import Split

LARGE = 1000
"""From so many tasks on they are divided as published, with most in the test split; fewer are spread more evenly."""
MOST: Mapping[Split, int] = {"train": 200, "val": 100, "test": 300}
"""Tasks in each split of a large dataset: more would cost much and show little."""
STEPS_PER_EPOCH = 3
LARGEST_BATCH = 40

_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")
_SPLIT_NAMES: Mapping[Split, str] = {"train": r"train(ing)?", "val": r"val(id(ation)?)?|dev", "test": r"test(ing)?"}


def run(args: argparse.Namespace) -> int:
    """Look at the data, write the project, say what was found and what to do next."""
    data, folder = Path(args.data), Path(args.folder)
    config_path, skill_path = folder / DEFAULT_CONFIG, folder / "skill" / "SKILL.md"
    if config_path.exists() and not args.force:
        raise ConfigError(
            f"{str(config_path)!r} exists already", hint="give another --folder, or --force to overwrite it"
        )
    files = find_files(data)
    plan, env = _plan(files, args)
    keep = skill_path.exists() and not args.force
    try:
        folder.mkdir(parents=True, exist_ok=True)
        inner = {key: _from_folder(path, folder) for key, path in files.items()}
        if not keep:
            skill_path.parent.mkdir(exist_ok=True)
            skill_path.write_text(SKILL_TEXT.format(data=_plain(data.name)), encoding="utf-8")
        config_path.write_text(config_text(replace(plan, files=inner)), encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"the project in {str(folder)!r} cannot be written: {error.strerror}", hint="give another --folder"
        ) from None
    load_config(config_path)
    notes = [*plan.columns.notes, *env.warnings, *_missing_keys(config_path)]
    if keep:
        notes.append(f"{skill_path} was there already and is kept")
    counts: dict[Split, int] = {split: len(env.tasks(split)) for split in SPLITS}
    commands = _next_commands(config_path)
    if args.json:
        output.json_result(
            {
                "config": str(config_path),
                "skill": str(skill_path),
                "tasks": counts,
                "fields": dict(plan.columns.fields),
                "template": plan.columns.template,
                "scorer": plan.columns.scorer,
                "notes": notes,
                "next": commands,
            }
        )
        return 0
    _print_found(plan, counts)
    for note in notes:
        output.line(f"note    {note}")
    output.line(f"wrote   {config_path}" + ("" if keep else f", {skill_path}"))
    output.line()
    output.line("next:")
    for command in commands:
        output.line(f"  {command}")
    return 0


def find_files(data: Path) -> dict[str, Path]:
    """`path`, or `train`, `val` and `test`, to the files of a dataset.

    Raises:
        DataError: there is nothing, or not what makes a dataset.
    """
    if not data.exists():
        raise DataError(f"data {str(data)!r} does not exist", hint="give a data file or a folder of them")
    if not data.is_dir():
        return {"path": data}
    files = sorted(path for path in data.iterdir() if path.is_file() and path.suffix.lower() in _SUFFIXES)
    found: dict[str, Path] = {}
    for path in files:
        split = _split_of(path)
        if split is None:
            continue
        if split in found:
            raise DataError(
                f"{str(data)!r} has two files for the {split} split: {found[split].name!r} and {path.name!r}",
                hint="leave one file for each split in the folder",
            )
        found[split] = path
    if not found and len(files) == 1:
        return {"path": files[0]}
    missing = [split for split in SPLITS if split not in found]
    if missing:
        names = ", ".join(repr(path.name) for path in files) or "none"
        raise DataError(
            f"{str(data)!r} has no file for the {missing[0]} split; data files: {names}",
            hint=f"call the files train, val and test ({' '.join(_SUFFIXES)}), or give one file to be divided",
        )
    return {split: found[split] for split in SPLITS}


def _split_of(path: Path) -> Split | None:
    words = re.split(r"[^a-z]+", path.stem.lower())
    return next((split for split, names in _SPLIT_NAMES.items() if any(re.fullmatch(names, w) for w in words)), None)


def _plan(files: Mapping[str, Path], args: argparse.Namespace) -> tuple[Plan, DatasetEnvironment]:
    """A plan whose data loads and whose scorer accepts the gold answers."""
    rows = read_rows(next(iter(files.values())))
    one_file = "path" in files
    plan = Plan(
        files={},
        ratio=([2, 1, 7] if len(rows) >= LARGE else [4, 3, 3]) if one_file else None,
        limit=None,
        columns=guess_columns(rows),
        target=args.target,
        optimizer=args.optimizer,
        batch_size=1,
    )
    paths = {key: str(path) for key, path in files.items()}
    env, columns = _try_scorer(plan, paths)
    plan = replace(plan, columns=columns)
    if any(len(env.tasks(split)) > MOST[split] for split in SPLITS):
        plan = replace(plan, limit=MOST)
        env = DatasetEnvironment(env_options(plan, paths), where="env")
    size = -(-len(env.tasks("train")) // STEPS_PER_EPOCH)
    return replace(plan, batch_size=max(1, min(LARGEST_BATCH, size))), env


def _try_scorer(plan: Plan, paths: Mapping[str, str]) -> tuple[DatasetEnvironment, Columns]:
    env = DatasetEnvironment(env_options(plan, paths), where="env")
    tasks = [task for split in SPLITS for task in env.tasks(split)]
    try:
        asyncio.run(check_gold(env, tasks))
    except DataError:
        # The guess came from the first rows; later ones can be of another kind.
        columns = replace(plan.columns, scorer="exact", metric="hard", why="not all gold answers are of one kind")
        env = DatasetEnvironment(env_options(replace(plan, columns=columns), paths), where="env")
        asyncio.run(check_gold(env, tasks))
        return env, columns
    return env, plan.columns


def _from_folder(path: Path, folder: Path) -> str:
    """Relative where data and project are near each other, so that they can be moved together."""
    real = os.path.realpath(path)
    relative = os.path.relpath(real, os.path.realpath(folder))
    return real if relative.startswith(os.path.join("..", "..", "..")) else relative


def _plain(name: str) -> str:
    """A file name as it may stand in front matter without quotes."""
    return re.sub(r"[^\w. -]+", "-", name).strip(" -") or "the dataset"


def _missing_keys(config_path: Path) -> list[str]:
    """What the models of the new project still need."""
    config = load_config(config_path)
    notes: list[str] = []
    for section in (config.target, config.optimizer):
        try:
            build_model(section)
        except ConfigError as error:
            text = f"{section.model}: {error.message}; {error.hint}"
            if text not in notes:
                notes.append(text)
    return notes


def _next_commands(config_path: Path) -> list[str]:
    place = "" if config_path == Path(DEFAULT_CONFIG) else f" {shlex.quote(str(config_path))}"
    simulated = "--target.model simulated:target --optimizer.model simulated:optimizer"
    return [
        f"skillgrad doctor{place}",
        f"skillgrad train{place}",
        f"skillgrad train{place} --name dry-run {simulated}",
    ]


def _print_found(plan: Plan, counts: Mapping[Split, int]) -> None:
    columns = plan.columns
    shown: Sequence[str] = [f"{name} = {column}" for name, column in columns.fields.items()]
    if columns.template:
        shown = [f"input = {columns.template!r}", *shown]
    total = sum(counts.values())
    parts = ", ".join(f"{count} {split}" for split, count in counts.items())
    output.line(f"tasks   {total}: {parts}" + (" (a sample of more)" if plan.limit is not None else ""))
    output.line(f"fields  {', '.join(shown)}")
    output.line(f"scorer  {columns.scorer}: {columns.why}")
