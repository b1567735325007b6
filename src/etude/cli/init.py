"""`etude init`."""

import argparse
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.parsing.usage import UsageError
from etude.cli.scaffold.asking import asks, chosen, yes
from etude.cli.scaffold.data import SPLIT_NAMES, Data, read_data
from etude.cli.scaffold.files import ProjectPlan, config_text, skill_text, was_made
from etude.cli.scaffold.forms.table import Unclear, Wishes
from etude.cli.scaffold.look import first_tasks
from etude.cli.scaffold.project import Project, check_free, from_folder, plain, tell_found, tell_written, writing
from etude.cli.scaffold.reading import SKILLOPT, SUFFIXES
from etude.cli.scaffold.task_files import check_sources, task_files, write_tasks
from etude.cli.terminal import output
from etude.cli.trust import trusted
from etude.config import load_config
from etude.errors import DataError
from etude.records import SPLITS, Split
from etude.skill import load_skill
from etude.skill.folder import DOCUMENT, EVALS


def run(args: argparse.Namespace) -> int:
    """Look at the data, show the first tasks, write the project, say what to do next."""
    if args.from_skillopt is not None:
        raise UsageError("init has no option --from-skillopt", hint=SKILLOPT)
    source, folder = _source(args), Path(args.folder)
    config_path = folder / DEFAULT_CONFIG
    check_free(config_path, args.force)
    files = find_files(source)
    data = _settled(args, files)
    names = task_files(list(data.rows)) if data.written else {}
    check_sources(folder, names, list(files.values()), args.force)
    skill_path, skill = _skill(args, folder, source)
    wrote = [config_path, *([skill_path] if skill else []), *(folder / name for name in names.values())]
    kept = [f"{skill_path} exists already and is kept"] if not skill and args.skill is None else []
    project = Project(
        config=config_path,
        skill=skill_path,
        tasks={split: len(data.env.tasks(split)) for split in SPLITS},
        columns=data.columns,
        notes=[*data.columns.notes, *data.env.warnings, *kept],
        wrote=wrote,
        sampled=data.limit is not None,
        built=data.what,
        unused=data.unused,
        first=first_tasks(data.env),
    )
    if not args.json:
        tell_found(project)
    if asks(args) and not yes("write this? [Y/n]"):
        output.note("nothing was written")
        return 0
    with writing(folder):
        for key, name in names.items():
            write_tasks(data.rows[key], data.folder, folder / name, data.columns.fields)
        if skill:
            skill_path.parent.mkdir(exist_ok=True)
            skill_path.write_text(skill, encoding="utf-8")
        named = names or {key: from_folder(path, folder) for key, path in files.items()}
        config_path.write_text(config_text(_plan(args, data, named, folder)), encoding="utf-8")
    trusted(load_config(config_path), args, ("target.model", "optimizer.model"))
    tell_written(project, as_json=args.json)
    return 0


def _source(args: argparse.Namespace) -> Path:
    """The data: named, or the tasks that come with the skill."""
    if args.data is not None:
        return Path(args.data)
    if args.skill is None:
        raise UsageError(
            "init needs a data file or folder", hint="as in `etude init data.jsonl`; see `etude init --help`"
        )
    skill = Path(args.skill)
    found = (skill.parent if skill.name == DOCUMENT else skill) / EVALS
    load_skill(args.skill)
    if not found.is_file():
        raise DataError(
            f"skill {args.skill!r} has no {EVALS}, and no data were given",
            hint=f"write its tasks there, or give some, as in `etude init data.jsonl --skill {args.skill}`",
        )
    return found


def find_files(data: Path) -> dict[str, Path]:
    """`path`, or `train`, `val` and `test`, to the files of a dataset.
    Raises DataError: there is nothing, or not what makes a dataset."""
    if not data.exists():
        raise DataError(f"data {str(data)!r} does not exist", hint="give a data file or a folder of them")
    if not data.is_dir():
        return {"path": data}
    files = sorted(path for path in data.iterdir() if path.is_file() and path.suffix.lower() in SUFFIXES)
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
    if not found and files and all(path.suffix.lower() == ".json" for path in files):
        return {"path": data}
    missing = [split for split in SPLITS if split not in found]
    if missing:
        names = ", ".join(repr(path.name) for path in files) or "none"
        raise DataError(
            f"{str(data)!r} has no file for the {missing[0]} split; data files: {names}",
            hint=f"call the files train, val and test ({' '.join(SUFFIXES)}), or give one file, which is then split",
        )
    return {split: found[split] for split in SPLITS}


def _split_of(path: Path) -> Split | None:
    words = re.split(r"[^a-z]+", path.name.partition(".")[0].lower())
    return next((split for split, names in SPLIT_NAMES.items() if any(re.fullmatch(names, w) for w in words)), None)


def _settled(args: argparse.Namespace, files: Mapping[str, Path]) -> Data:
    """The data, once what is not clear about them was asked. Raises Unclear: nobody can be asked."""
    wishes = Wishes(
        tuple(name.strip() for name in args.input.split(",")) if args.input else (),
        args.gold or "",
        args.scorer or "",
        args.rubric or "",
    )
    answers: Mapping[str, Callable[[str], Wishes]] = {
        "--input": lambda said: replace(wishes, input=(said,)),
        "--gold": lambda said: replace(wishes, gold=said),
    }
    while True:
        try:
            return read_data(files, wishes, delimiter=args.delimiter or "", split=args.split or "")
        except Unclear as unclear:
            if not asks(args):
                raise
            wishes = answers[unclear.option](_answer(unclear))


def _answer(unclear: Unclear) -> str:
    said = chosen(f"{unclear.message}\n{unclear.question}", unclear.answers)
    if said is None:
        raise unclear
    return said


def _skill(args: argparse.Namespace, folder: Path, source: Path) -> tuple[Path, str]:
    """The skill that the project starts from, and its text where it has to be written: one by hand is kept.
    Raises SkillError: the one that the user named cannot be read."""
    if args.skill is not None:
        load_skill(args.skill)
        return Path(args.skill), ""
    path, text = folder / "skill" / "SKILL.md", skill_text(plain(source.name))
    if path.exists() and not (args.force and was_made(path.read_text(encoding="utf-8", errors="replace"))):
        return path, ""
    return path, text


def _plan(args: argparse.Namespace, data: Data, files: Mapping[str, str], folder: Path) -> ProjectPlan:
    return ProjectPlan(
        files,
        data.ratio,
        data.limit,
        data.columns,
        args.target,
        args.optimizer,
        "skill" if args.skill is None else from_folder(Path(args.skill), folder),
        data.judged,
    )
