"""`etude sleep run`."""

import argparse

from etude.cli.parsing.usage import UsageError
from etude.cli.sleep.dry_run import look_ahead
from etude.cli.sleep.settings import find_nights, read_config
from etude.cli.sleep.text import PAUSED, elsewhere, print_report, result
from etude.cli.sleep.unattended import patiently, tell_of
from etude.cli.terminal import output
from etude.cli.watch import watch
from etude.errors import EtudeError, StopRun
from etude.sleep.night import arun_night
from etude.sleep.report import NightReport
from etude.sleep.state import Surroundings, state_of


def run(args: argparse.Namespace) -> int:
    """Work through a night and say what came of it; one that stops early says why and how to resume it. In a pause
    nothing is asked, read or written. A dry run says what there is to do, and asks no model."""
    if args.dry_run and (args.wait or args.unattended):
        raise UsageError("a dry run asks nobody", hint="leave out --wait and --unattended, or --dry-run")
    if args.dry_run:
        return look_ahead(args)
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
