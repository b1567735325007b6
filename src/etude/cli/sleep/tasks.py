"""`etude sleep tasks`."""

import argparse
from pathlib import Path

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.settings import find_nights, settings_in
from etude.cli.terminal import output
from etude.cli.terminal.tables import text_lines
from etude.envs.scorers.base import Judge
from etude.errors import DataError
from etude.sleep.adoption.structure import plain
from etude.sleep.config import EACH
from etude.sleep.night import read_tasks
from etude.sleep.tasks.environment import NightEnvironment
from etude.sleep.tasks.files import TaskFile, check_answers, read, review, write

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Print the tasks of a night, write them to a file for a person to read, or note that a person has read one."""
    if args.reviewed is not None:
        if args.night is not None or args.to is not None:
            raise UsageError("--reviewed names a file of its own", hint="leave NIGHT and --to out")
        path = Path(args.reviewed)
        sleep = settings_in(args.config)
        _check(read(path), path, apart=sleep is not None and sleep.skill == EACH)
        return _print(review(path), args, f"reviewed  {args.reviewed}: set sleep.tasks to it")
    nights = find_nights(args)
    number = nights.number(args.night)
    tasks = read_tasks(nights.state, number)
    project = str(nights.project.absolute())
    if args.to is None:
        return _print(TaskFile(tasks=tasks, project=project), args, "")
    path = Path(args.to)
    if path.exists():
        raise UsageError(f"{args.to!r} exists already", hint="give another name: it may hold what a person wrote")
    write(path, tasks, project=project)
    return _print(read(path), args, f"wrote  {args.to}: read it, correct it, then `sleep tasks --reviewed {args.to}`")


def _check(file: TaskFile, path: Path, *, apart: bool) -> None:
    """Refuse tasks that no night can use.

    Args:
        apart: tasks of one skill may be on another side than the same ones of another.
    """
    if not file.tasks:
        raise DataError(f"{path} has no tasks", hint="give it at least one")
    check_answers(file, path)
    for skill in sorted({task.skill if apart else "" for task in file.tasks}):
        tasks = [task for task in file.tasks if not apart or task.skill == skill]
        NightEnvironment(tasks, _asked_later, unsafe_no_sandbox=True)  # a sandbox is for the night to find


def _asked_later() -> Judge:
    raise AssertionError("looking at tasks asks no judge")


def _print(file: TaskFile, args: argparse.Namespace, done: str) -> int:
    if args.json:
        output.json_result(file.model_dump(mode="json"))
        return 0
    table = [("id", "split", "origin", "criteria", "intent")]
    for task in file.tasks:
        found = [f"{len(task.checks)} checks"] if task.checks else []
        found += ["rubric"] if task.rubric.strip() else []
        found += ["exact"] if task.exact else []
        found += ["command"] if task.command else []
        table.append((plain(task.id, 40), task.split, task.origin, ", ".join(found), plain(task.intent, 70)))
    for text in text_lines(table) if file.tasks else ("there are no tasks",):
        output.line(text)
    if done:
        output.line(done)
    return 0
