"""`etude sleep unschedule`."""

import argparse
import os
from pathlib import Path

from etude.cli.sleep.settings import find_project, settings_in
from etude.cli.sleep.text import result
from etude.sleep.schedule import job_name, remove


def run(args: argparse.Namespace) -> int:
    """Run the night of a project no more."""
    project = find_project(args.project, None if args.project is not None else settings_in(None))
    name = job_name(Path(os.path.realpath(project)))
    removed = remove(name)
    line = f"{'unscheduled ' if removed else 'nothing was scheduled for'} {project.absolute()}"
    return result(args, {"name": name, "removed": removed}, [line])
