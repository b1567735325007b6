"""`etude init`."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.parsing.verb import UsageError
from etude.cli.scaffold.asking import asks, chosen, yes
from etude.cli.scaffold.data_files import find_files
from etude.cli.scaffold.drafts import DRAFTS, Drafted, draft_tasks, heard_with, most_calls, settings_of, write_drafts
from etude.cli.scaffold.forms.labels import OddLabel
from etude.cli.scaffold.project_files import (
    check_free,
    config_text,
    from_folder,
    new_skill,
    task_files,
    was_made,
    write_tasks,
    writing,
)
from etude.cli.scaffold.report import tell_found, tell_written
from etude.cli.scaffold.table import Unclear, Wishes
from etude.cli.scaffold.tasks import Data, drafted_data, read_data
from etude.cli.terminal import output
from etude.cli.trust import trusted
from etude.cli.watch import watch
from etude.config import load_config
from etude.errors import ConfigError, DataError, SkillError
from etude.programs.project_paths import agent_of
from etude.readable import counted
from etude.records import Skill
from etude.registry import BUILT_IN
from etude.skill import load_skill
from etude.skill.blocks import is_hollow
from etude.skill.folder import DOCUMENT, EVALS, evals_of, place_of, to_open
from etude.sleep.state import Surroundings
from etude.workbench import Given


def run(args: argparse.Namespace) -> int:
    """Look at the data, show the first tasks, write the project, say what to do next."""
    own: str | None = args.skill
    given = None if own is None else load_skill(own)
    source, folder = _source(args, given), Path(args.folder)
    config_path = folder / DEFAULT_CONFIG
    check_free(config_path, args.force)
    drafted = args.make_tasks is not None
    files = {} if drafted else find_files(source)
    if drafted and (folder / DRAFTS).exists():  # a person may have corrected them
        hint = f"move it away, or give another --folder; --force keeps {DRAFTS}, too"
        raise ConfigError(f"{str(folder / DRAFTS)!r} exists already", hint=hint)
    data = _drafted(args, given, folder) if drafted and given else _settled(args, files)
    if data is None:
        return 0
    names = {"path": DRAFTS} if drafted else task_files(list(data.rows)) if data.written else {}
    for name in names.values():
        check_free(folder / name, args.force, files.values())
    new = _first_skill(data, source, folder, args.force) if own is None else (Path(own), "")
    (skill_path, skill), (agent, beside) = new, _agent(given, own)
    opens = [f"the skill has {beside}: agent {agent!r} can open that, `chat` shows only the text"] if beside else []
    kept = [f"{skill_path} exists already and is kept"] if not skill and own is None else []
    data = replace(data, notes=[*data.notes, *opens, *kept])
    if not args.json:
        tell_found(data)
    if asks(args) and not yes("write this? [Y/n]"):
        output.note("nothing was written")
        return 0
    with writing(folder):
        for key, name in names.items():
            if drafted:
                write_drafts(folder / name, data.rows[key])
            else:
                write_tasks(data.rows[key], data.folder, folder / name, data.made.fields)
        if skill:
            skill_path.parent.mkdir(parents=True, exist_ok=True)
            skill_path.write_text(skill, encoding="utf-8")
        named = names or {key: from_folder(path, folder) for key, path in files.items()}
        place = from_folder(skill_path.parent if own is None else skill_path, folder)
        models = {"target": args.target, "optimizer": args.optimizer}
        config_path.write_text(config_text(data, named, place, models, agent), encoding="utf-8")
    trusted(load_config(config_path), args, ("target.model", "optimizer.model"))
    wrote = [config_path, *([skill_path] if skill else []), *(folder / name for name in names.values())]
    tell_written(data, config_path, skill_path, wrote, as_json=args.json)
    return 0


def _source(args: argparse.Namespace, skill: Skill | None) -> Path:
    """The data: named, or the tasks that come with the skill, or the skill from which they are drafted."""
    if args.make_tasks is not None:
        _check_drafts(args, skill)
        return Path(args.skill)
    if args.data is not None:
        return Path(args.data)
    if skill is None:
        raise UsageError(
            "init needs a data file or folder", hint="as in `etude init data.jsonl`; see `etude init --help`"
        )
    found = evals_of(place_of(Path(args.skill)))
    if not found.is_file():
        raise DataError(
            f"skill {args.skill!r} has no {EVALS}, and no data were given",
            hint="write its tasks there, give some, as in "
            f"`etude init data.jsonl --skill {args.skill}`, or have the optimizer draft some: --make-tasks 20",
        )
    return found


def _check_drafts(args: argparse.Namespace, skill: Skill | None) -> None:
    """Raises UsageError: there is no skill to draft from, or something says how data are read that are not there."""
    options = ("data", "input", "gold", "scorer", "rubric", "delimiter", "split")
    given = ["DATA" if name == "data" else f"--{name}" for name in options if getattr(args, name) is not None]
    if skill is None:
        raise UsageError("--make-tasks drafts tasks from a skill", hint="name it, as in --skill DIR --make-tasks 20")
    if given:
        raise UsageError(f"--make-tasks makes the data, and {given[0]} was given", hint="leave one of them out")
    if is_hollow(skill.text):
        text = f"skill {args.skill!r} is empty, or has headings only: no task can be drafted from it"
        raise SkillError(text, hint="write what it is for, and how it is done")


def _drafted(args: argparse.Namespace, skill: Skill, folder: Path) -> Data | None:
    """The tasks that the optimizer drafts from the skill; None where the user does not want to ask it."""
    wanted = args.make_tasks
    config = trusted(settings_of(args.optimizer, folder), args, ("target.model", "optimizer.model", "judge.model"))
    drafts, judged = most_calls(wanted)
    most = f"at most {drafts} questions for drafts and {judged} to try their criteria"
    heard = heard_with(skill, Surroundings())
    output.note(f"asks {args.optimizer} {most}; a reply that cannot be read is asked for again")
    if heard:
        output.note(
            f"shows it what was typed in {counted(len(heard), 'session')} here that opened the skill, without secrets"
        )
    if asks(args) and not yes("ask? [Y/n]"):
        return None

    async def work(given: Given) -> Drafted:
        return await draft_tasks(config, skill, wanted, given, heard)

    with writing(folder):
        pass  # where nothing can be written nothing is asked
    found = watch(work, args.command)
    return drafted_data(found.rows, folder / DRAFTS, args.optimizer, found.notes(wanted))


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
            data = read_data(files, wishes, delimiter=args.delimiter or "", split=args.split or "")
        except Unclear as unclear:
            if not asks(args):
                raise
            wishes = answers[unclear.option](_answer(unclear))
            continue
        if not data.made.odd or not asks(args):
            return data
        odd = data.made.odd[0]
        wishes = replace(wishes, labels={**wishes.labels, odd.label: _meant(odd)})


def _meant(odd: OddLabel) -> str:
    """The label that a row has: its own, another one, or none where the row is to be left out."""
    meant = {f"{odd.label!r} is a label of its own": odd.label, "leave the row out": ""}
    meant |= {f"it is {odd.near!r}": odd.near} if odd.near else {}
    said = chosen(f"{odd.what}\nWhat is it?", list(meant))
    return odd.label if said is None else meant[said]


def _answer(unclear: Unclear) -> str:
    said = chosen(f"{unclear.message}\n{unclear.question}", unclear.answers)
    if said is None:
        raise unclear
    return said


def _agent(skill: Skill | None, place: str | None) -> tuple[str, str]:
    """The agent that can open what a skill has beside its document, and what that is; the default one where it has
    nothing."""
    beside = " and ".join(to_open(skill)) if skill else ""
    if place is None or not beside:
        return "chat", ""
    program = agent_of(place_of(Path(place)))
    return (program if program in BUILT_IN["agents"] else "tools"), beside


def _first_skill(data: Data, source: Path, folder: Path, force: bool) -> tuple[Path, str]:
    """The skill that the project starts from, and its text where it has to be written: one by hand is kept."""
    name, text = new_skill(data, source)
    path = folder / "skills" / name / DOCUMENT
    if path.exists() and not (force and was_made(path.read_text(encoding="utf-8", errors="replace"))):
        return path, ""
    return path, text
