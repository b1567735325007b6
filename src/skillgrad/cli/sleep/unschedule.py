"""`skillgrad sleep unschedule`."""

import argparse
import os
from pathlib import Path

from skillgrad.cli import output
from skillgrad.cli.sleep.schedule import jobs_folder
from skillgrad.sleep.gather import Surroundings
from skillgrad.sleep.schedule import SCHEDULERS, job_name, unschedule

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Take the night of a project out of all schedulers, or of one."""
    around = Surroundings()
    name = job_name(Path(os.path.realpath(args.project)))
    jobs = jobs_folder(around)
    if args.scheduler is None:
        removed = unschedule(name, jobs, around.home, around.environ)
    else:
        scheduler = SCHEDULERS[args.scheduler](jobs, around.home, around.environ)
        removed = (args.scheduler,) if name in scheduler.installed() and scheduler.remove(name) else ()
    if args.json:
        output.json_result({"name": name, "removed": list(removed)})
    elif removed:
        output.line(f"unscheduled  {args.project} ({', '.join(removed)})")
    else:
        output.line(f"nothing was scheduled for {args.project}")
    return 0
