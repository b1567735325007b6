"""`etude sleep pause`."""

import argparse

from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import elsewhere, paused_since
from etude.cli.terminal import output
from etude.sleep.pause import pause
from etude.sleep.tasks.gather import Surroundings

__all__ = ["run"]


def run(args: argparse.Namespace) -> int:
    """Let no night of the project begin. Asks no model; a night that is under way goes on."""
    nights = find_nights(args)
    note = pause(nights.state, Surroundings().now(), args.until, args.reason)
    if args.json:
        output.json_result({"project": str(nights.project.absolute()), "paused": note.model_dump(mode="json")})
        return 0
    output.line(f"{paused_since(note)}; resume with: {output.program()} sleep resume{elsewhere(args)}")
    return 0
