"""`etude sleep resume`."""

import argparse

from etude.cli.sleep.settings import find_nights
from etude.cli.sleep.text import result
from etude.sleep.pause import resume


def run(args: argparse.Namespace) -> int:
    """Let nights begin again."""
    nights = find_nights(args)
    ended = resume(nights.state)
    project = nights.project.absolute()
    line = f"resumed  {project}" if ended else f"nothing was paused for {project}"
    return result(args, {"project": str(project), "resumed": ended}, [line])
