"""`etude sleep show`: what a night did and why, its diff, its tasks, the sessions that are found."""

import argparse
import os
from pathlib import Path

from etude.cli.parsing.verb import UsageError
from etude.cli.sleep.settings import WAITING, find_nights, settings_in
from etude.cli.sleep.text import elsewhere, harvest_rows, print_report, print_rows, result
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.cli.trust import open_folder, trusted
from etude.readable import counted
from etude.sleep.adoption.proposal import read_proposal, readable
from etude.sleep.adoption.structure import plain
from etude.sleep.config import make_sleep_config
from etude.sleep.limits import spent_so_far
from etude.sleep.night import read_tasks
from etude.sleep.state import Surroundings
from etude.sleep.tasks.files import TaskFile, write
from etude.sleep.transcripts.harvest import SessionQuery, harvest
from etude.sleep.transcripts.sources import sources_named

_NO_MODELS = {role: {"model": f"simulated:{role}"} for role in ("target", "optimizer")}
_MOST = 100
"""Sessions that are shown, the newest."""


def run(args: argparse.Namespace) -> int:
    """Print what is asked for of a night; of all that is found, the sessions."""
    _check(args)
    if args.sessions:
        return _sessions(args)
    if args.tasks or args.to is not None:
        return _tasks(args)
    return _diff(args) if args.diff else _report(args)


def _check(args: argparse.Namespace) -> None:
    if args.sessions and args.night is not None:
        raise UsageError("sessions are not those of a night", hint="leave out the number of the night")
    if args.to is not None and (args.sessions or args.diff):
        raise UsageError("--to is about tasks", hint="give --tasks in place of the other option")


def _report(args: argparse.Namespace) -> int:
    """The report of a night."""
    nights = find_nights(args)
    number = nights.number(args.night)
    report, stands = nights.report(number), nights.stands(number)
    if stands == "killed":  # it could not say itself what it has used
        report = report.model_copy(update={"spent": spent_so_far(nights.state.night(number))})
    found = nights.night(number)
    if args.json:
        rules = [rule.model_dump(mode="json") for rule in found.rules]
        output.json_result({**report.model_dump(mode="json"), "stands": stands, "rules": rules})
        return 0
    print_report(report, found, stands, elsewhere(args))
    output.line(f"\nstatistics and run folders: {nights.state.night(number)}")
    return 0


def _diff(args: argparse.Namespace) -> int:
    """Print what the proposal of a night would change, and note where it does not wait for a person."""
    nights = find_nights(args)
    number = nights.proposed(args.night)
    folder, stands = nights.folder(number), nights.stands(number)
    proposal = read_proposal(folder)
    if waiting := nights.pending(number).documents:
        proposal = proposal.model_copy(update={"documents": waiting})
    text = readable(proposal)
    if args.json:
        documents = [
            {"name": proposal.name(one), **one.model_dump(mode="json", exclude={"live": {"data"}})}
            for one in proposal.documents
        ]
        found = {"proposal": str(folder), "stands": stands, "diff": text}
        output.json_result({**found, "documents": documents})
        return 0
    if stands not in WAITING:
        output.note(f"note: night {number} is {stands}")
    for line in text.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        output.line(line, style)
    return 0


def _sessions(args: argparse.Namespace) -> int:
    """Print the newest sessions that are found, without secrets, whether or not a night has used them. What the
    command line leaves open is as the settings here say, where there are any."""
    around = Surroundings()
    sleep = settings_in(args.config)
    if sleep is not None:
        trusted(make_sleep_config({**_NO_MODELS, "sleep": {"sources": list(sleep.sources)}}), args)
        open_folder()  # a source may be named by its import path
    project = args.project if args.project is not None or sleep is None else sleep.project
    asked = SessionQuery(now=around.now(), scope=None if project is None else os.path.realpath(project))
    if sleep is not None:
        same = {"other_paths": sleep.other_paths, "scripts": sleep.scripts, "hours": sleep.lookback_hours}
        asked = asked.model_copy(update=same)
    sources = sources_named(() if sleep is None else sleep.sources)
    found = harvest(sources, None, asked, home=around.home, environ=around.environ)
    older = max(0, len(found.taken) - _MOST)
    table = [("source", "session", "started (UTC)", "turns", "project", "first request")]
    newest = found.taken[older:][::-1]
    for session in newest:
        started = "" if session.started is None else f"{session.started:%Y-%m-%d %H:%M}"
        first, project = plain(session.turns[0].prompt, 60), plain(session.project, 40)
        table.append((session.source, plain(session.id, 36), started, str(len(session.turns)), project, first))
    if args.json:
        data = found.model_dump(mode="json", exclude={"entries", "taken"})
        output.json_result({**data, "sessions": [session.model_dump(mode="json") for session in newest]})
        return 0
    for line in text_lines(table) if found.taken else ("no session was found",):
        output.line(line)
    print_rows(
        *harvest_rows(found),
        ("", f"{older:,} older ones are not shown" if older else ""),
        *(("hint       ", hint) for hint in found.hints),
    )
    return 0


def _tasks(args: argparse.Namespace) -> int:
    """Print the tasks of a night, or write them to a file for a person to read."""
    nights = find_nights(args)
    number = nights.number(args.night)
    tasks = read_tasks(nights.state, number)
    project = str(nights.project.absolute())
    if args.to is None:
        return _print_tasks(TaskFile(tasks=tasks, project=project), args, "")
    path = Path(args.to)
    if path.exists():
        raise UsageError(f"{args.to!r} exists already", hint="give another name: it may hold what a person wrote")
    if not tasks:
        raise UsageError(f"night {number} has no tasks", hint="`etude sleep status` shows how many each night has")
    done = f"wrote  {args.to}: read it, correct it, set 'reviewed' in it to true, then set sleep.tasks to it"
    return _print_tasks(write(path, tasks, project=project), args, done)


def _print_tasks(file: TaskFile, args: argparse.Namespace, done: str) -> int:
    table = [("id", "split", "origin", "criteria", "intent")]
    for task in file.tasks:
        found = [counted(len(task.checks), "check")] if task.checks else []
        found += [kind for kind in ("rubric", "exact") if kind in task.criteria]
        found += ["gameable"] if task.gameable else []
        table.append((plain(task.id, 40), task.split, task.origin, ", ".join(found), plain(task.intent, 70)))
    lines = text_lines(table) if file.tasks else ("there are no tasks",)
    return result(args, file.model_dump(mode="json"), filter(None, (*lines, done)))
