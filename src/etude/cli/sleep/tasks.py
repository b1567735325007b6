"""`etude sleep show --tasks`."""

import argparse
from pathlib import Path

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import result
from etude.cli.terminal.tables import text_lines
from etude.sleep.adoption.structure import plain
from etude.sleep.night import read_tasks
from etude.sleep.tasks.files import TaskFile, write


def show_tasks(args: argparse.Namespace) -> int:
    """Print the tasks of a night, or write them to a file for a person to read."""
    nights = find_nights(args)
    tasks = read_tasks(nights.state, nights.number(args.night))
    project = str(nights.project.absolute())
    if args.to is None:
        return _print(TaskFile(tasks=tasks, project=project), args, "")
    path = Path(args.to)
    if path.exists():
        raise UsageError(f"{args.to!r} exists already", hint="give another name: it may hold what a person wrote")
    done = f"wrote  {args.to}: read it, correct it, set 'reviewed' in it to true, then set sleep.tasks to it"
    return _print(write(path, tasks, project=project), args, done)


def _print(file: TaskFile, args: argparse.Namespace, done: str) -> int:
    table = [("id", "split", "origin", "criteria", "intent")]
    for task in file.tasks:
        found = [f"{len(task.checks)} checks"] if task.checks else []
        found += [kind for kind in ("rubric", "exact") if kind in task.criteria]
        found += ["gameable"] if task.gameable else []
        table.append((plain(task.id, 40), task.split, task.origin, ", ".join(found), plain(task.intent, 70)))
    lines = text_lines(table) if file.tasks else ("there are no tasks",)
    return result(args, file.model_dump(mode="json"), filter(None, (*lines, done)))
