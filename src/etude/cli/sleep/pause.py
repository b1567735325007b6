"""`etude sleep pause`."""

import argparse

from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import pause_line, result
from etude.sleep.pause import pause, paused


def run(args: argparse.Namespace) -> int:
    """Let no night of the project begin. Asks no model; a night that is under way continues."""
    nights = find_nights(args)
    pause(nights.state)
    since = paused(nights.state)
    data = {"project": str(nights.project.absolute()), "paused": since and since.isoformat()}
    return result(args, data, [pause_line(since, args)] if since else [])
