"""`skillgrad sleep unschedule`."""

import argparse
import os
from pathlib import Path

from skillgrad.cli import output
from skillgrad.cli.sleep.schedule import jobs_folder
from skillgrad.cli.sleep.settings import default_settings, find_project
from skillgrad.sleep.gather import Surroundings
from skillgrad.sleep.schedule import SCHEDULERS, job_name, unschedule

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Take the night of a project out of all schedulers, or of one."""
    around = Surroundings()
    project = find_project(args.project, None if args.project is not None else default_settings())
    name = job_name(Path(os.path.realpath(project)))
    jobs = jobs_folder(around)
    if args.scheduler is None:
        removed = unschedule(name, jobs, around.home, around.environ)
    else:
        scheduler = SCHEDULERS[args.scheduler](jobs, around.home, around.environ)
        removed = (args.scheduler,) if name in scheduler.installed() and scheduler.remove(name) else ()
    if args.json:
        output.json_result({"name": name, "removed": list(removed)})
    elif removed:
        output.line(f"unscheduled  {project.absolute()} ({', '.join(removed)})")
    else:
        output.line(f"nothing was scheduled for {project.absolute()}")
    return 0
