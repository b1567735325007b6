"""`etude sleep run`."""

import argparse
from collections import Counter

from etude.cli.parsing.verb import UsageError
from etude.cli.sleep.settings import find_nights, read_config
from etude.cli.sleep.text import PAUSED, counts, elsewhere, harvest_rows, most_rows, print_report, print_rows, result
from etude.cli.sleep.unattended import patiently, tell_of
from etude.cli.terminal import output
from etude.cli.watch import watch
from etude.errors import EtudeError, StopRun
from etude.sleep.night import arun_night, check_inputs
from etude.sleep.report import NightIntake, NightReport, unfinished
from etude.sleep.state import Surroundings, state_of
from etude.sleep.tasks.gather import GatheredTasks, from_file, gleaned, sources_of
from etude.sleep.transcripts.ledger import Ledger, under_way


def run(args: argparse.Namespace) -> int:
    """Work through a night and say what came of it; one that stops early says why and how to resume it. In a pause
    nothing is asked, read or written. A dry run says what there is to do, and asks no model."""
    if args.dry_run and (args.wait or args.unattended):
        raise UsageError("a dry run asks nobody", hint="leave out --wait and --unattended, or --dry-run")
    if args.dry_run:
        return _look_ahead(args)
    try:
        return _run(args)
    except EtudeError:
        if args.unattended:
            tell_of(None, args)
        raise


def _run(args: argparse.Namespace) -> int:
    if args.wait and args.unattended:
        raise UsageError("--wait is for a person who answers, and --unattended for nobody", hint="give one of them")
    config, around = read_config(args), Surroundings()
    state = state_of(config, around)
    if state.pause.exists():
        return result(args, {"status": "paused"}, [PAUSED])

    def work() -> NightReport:
        return watch(lambda given: arun_night(config, around, given=given), args.command, wait=args.wait)

    try:
        report = patiently(work) if args.unattended else work()
    except StopRun as stop:
        if args.unattended:
            tell_of(None, args)
        if args.json:
            found = stop.summary.model_dump(mode="json") if isinstance(stop.summary, NightReport) else {}
            output.json_result({**found, "error": stop.message, "hint": stop.hint, "exit_code": stop.exit_code})
        output.tell(stop)
        return stop.exit_code
    if args.unattended:
        tell_of(report, args)
    if args.json:
        output.json_result(report.model_dump(mode="json"))
    else:
        print_report(report, find_nights(args).night(report.night), where=elsewhere(args))
    return 0


def _look_ahead(args: argparse.Namespace) -> int:
    """Print what a night would read and do, and the most calls it makes. Asks no model and writes nothing."""
    config, around = read_config(args), Surroundings()
    state = state_of(config, around)
    check_inputs(config, around, {})
    if config.sleep.tasks is None:
        with Ledger(state.ledger, read_only=True) as ledger:
            found, file = gleaned(config, around, ledger, sources_of(config)), GatheredTasks()
    else:
        found = file = from_file(config)
    waits = None if under_way(state.ledger) else unfinished(state)
    tasks = Counter(task.split for task in file.tasks)
    if args.json:
        data = {
            **found.model_dump(mode="json", include=set(NightIntake.model_fields)),
            "calls": config.limits.calls,
            "auto_adopt": config.sleep.auto_adopt,
            "tasks": tasks,
            "notes": file.notes,
            "resumes": waits,
            "paused": state.pause.exists(),
        }
        output.json_result(data)
        return 0
    if state.pause.exists():
        output.line(PAUSED)
    adopts = "each new rule that needs no person, at once"
    same = f"night {waits}, if settings and documents are the same; below is a whole night"
    print_rows(
        ("resumes    ", "" if waits is None else same),
        *harvest_rows(found)[config.sleep.tasks is not None :],
        ("tasks      ", counts(tasks) if tasks else ""),
        *(("note       ", note) for note in file.notes),
        *most_rows(config),
        ("adopts     ", adopts if config.sleep.auto_adopt else ""),
        ("", "" if found.sessions or tasks else "there is nothing for a night to do"),
    )
    return 0
