"""`etude sleep pause`."""

import argparse

from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import pause_line, result
from etude.sleep.pause import pause
from etude.sleep.tasks.gather import Surroundings


def run(args: argparse.Namespace) -> int:
    """Let no night of the project begin. Asks no model; a night that is under way continues."""
    nights = find_nights(args)
    note = pause(nights.state, Surroundings().now(), args.until, args.reason)
    data = {"project": str(nights.project.absolute()), "paused": note.model_dump(mode="json")}
    return result(args, data, [pause_line(note, args)])
