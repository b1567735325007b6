"""`etude sleep pause`."""

import argparse

from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import print_pause
from etude.cli.terminal import output
from etude.sleep.pause import pause
from etude.sleep.tasks.gather import Surroundings

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Let no night of the project begin. Asks no model; a night that is under way continues."""
    nights = find_nights(args)
    note = pause(nights.state, Surroundings().now(), args.until, args.reason)
    if args.json:
        output.json_result({"project": str(nights.project.absolute()), "paused": note.model_dump(mode="json")})
        return 0
    print_pause(note, args)
    return 0
