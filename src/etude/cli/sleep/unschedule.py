"""`etude sleep unschedule`."""

import argparse
import os
from pathlib import Path

from etude.cli.sleep.schedule import jobs_folder
from etude.cli.sleep.settings import find_project, settings_in
from etude.cli.terminal import output
from etude.sleep.schedule import job_name, unschedule
from etude.sleep.tasks.gather import Surroundings

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Take the night of a project out of all schedulers, or of one."""
    around = Surroundings()
    project = find_project(args.project, None if args.project is not None else settings_in(None))
    name = job_name(Path(os.path.realpath(project)))
    jobs = jobs_folder(around)
    removed = unschedule(name, jobs, around.home, around.environ, only=args.scheduler)
    if args.json:
        files = [str(path) for path in removed.files]
        output.json_result({"name": name, "removed": list(removed.schedulers), "files": files})
        return 0
    if removed.schedulers:
        output.line(f"unscheduled  {project.absolute()} ({', '.join(removed.schedulers)})")
    else:
        output.line(f"nothing was scheduled for {project.absolute()}")
        for path in removed.files:
            output.line(f"removed  {path}: left of an earlier schedule")
    return 0
