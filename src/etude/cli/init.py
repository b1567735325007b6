"""`etude init`."""

import argparse
import re
from collections.abc import Mapping
from math import ceil
from pathlib import Path

from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.parsing.usage import UsageError
from etude.cli.scaffold.columns import guess_columns
from etude.cli.scaffold.files import SKILL_TEXT, Plan, config_text, env_options, fit_scorer
from etude.cli.scaffold.project import Project, check_free, from_folder, plain, report, writing
from etude.cli.scaffold.skillopt.project import import_project
from etude.cli.trust import trusted
from etude.config import load_config
from etude.envs.dataset import DatasetEnvironment
from etude.envs.files import read_rows
from etude.errors import DataError
from etude.records import SPLITS, Split

LARGE = 1000
"""This many tasks or more are divided as published, most of them for the test; fewer are spread more evenly."""
MOST: Mapping[Split, int] = {"train": 200, "val": 100, "test": 300}
"""Tasks in each split of a large dataset: more would cost much and show little."""
STEPS_PER_EPOCH = 3
LARGEST_BATCH = 40

_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")
_SPLIT_NAMES: Mapping[Split, str] = {"train": r"train(ing)?", "val": r"val(id(ation)?)?|dev", "test": r"test(ing)?"}


def run(args: argparse.Namespace) -> int:
    """Look at the data, write the project, say what was found and what to do next."""
    if args.from_skillopt is not None:
        if args.data is not None:
            raise UsageError("DATA and --from-skillopt cannot be combined", hint="the SkillOpt file names its data")
        return import_project(Path(args.from_skillopt), Path(args.folder), force=args.force, as_json=args.json)
    if args.data is None:
        raise UsageError(
            "init needs a data file or folder", hint="as in `etude init data.jsonl`; see `etude init --help`"
        )
    data, folder = Path(args.data), Path(args.folder)
    config_path, skill_path = folder / DEFAULT_CONFIG, folder / "skill" / "SKILL.md"
    check_free(config_path, args.force)
    files = find_files(data)
    plan, env = _plan(files, args)
    keep = skill_path.exists() and not args.force
    with writing(folder):
        if not keep:
            skill_path.parent.mkdir(exist_ok=True)
            skill_path.write_text(SKILL_TEXT.format(data=plain(data.name)), encoding="utf-8")
        config_path.write_text(config_text(plan), encoding="utf-8")
    trusted(load_config(config_path), args, ("target.model", "optimizer.model"))
    kept = [f"{skill_path} exists already and is kept"] if keep else []
    project = Project(
        config=config_path,
        skill=skill_path,
        tasks={split: len(env.tasks(split)) for split in SPLITS},
        columns=plan.columns,
        notes=[*plan.columns.notes, *env.warnings, *kept],
        wrote=[config_path] if keep else [config_path, skill_path],
        sampled=plan.limit is not None,
    )
    report(project, as_json=args.json)
    return 0


def find_files(data: Path) -> dict[str, Path]:
    """`path`, or `train`, `val` and `test`, to the files of a dataset.
    Raises DataError: there is nothing, or not what makes a dataset."""
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
            hint=f"call the files train, val and test ({' '.join(_SUFFIXES)}), or give one file, which is then split",
        )
    return {split: found[split] for split in SPLITS}


def _split_of(path: Path) -> Split | None:
    words = re.split(r"[^a-z]+", path.stem.lower())
    return next((split for split, names in _SPLIT_NAMES.items() if any(re.fullmatch(names, w) for w in words)), None)


def _plan(files: Mapping[str, Path], args: argparse.Namespace) -> tuple[Plan, DatasetEnvironment]:
    """A plan whose data loads and whose scorer accepts the gold answers."""
    first = next(iter(files.values()))
    rows = read_rows(first)
    ratio = ([2, 1, 7] if len(rows) >= LARGE else [4, 3, 3]) if "path" in files else None
    more: dict[str, object] = {} if ratio is None else {"ratio": ratio}
    env, columns = fit_scorer(files, guess_columns(rows, first.parent), more)
    limit = MOST if any(len(env.tasks(split)) > MOST[split] for split in SPLITS) else None
    if limit is not None:
        env = DatasetEnvironment(env_options(files, columns, more | {"limit": limit}))
    inner = {key: from_folder(path, Path(args.folder)) for key, path in files.items()}
    batch_size = max(1, min(LARGEST_BATCH, ceil(len(env.tasks("train")) / STEPS_PER_EPOCH)))
    return Plan(inner, ratio, limit, columns, args.target, args.optimizer, batch_size), env
