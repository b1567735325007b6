"""The entry of the processes around a program: `WHAT ORDERS -- PROGRAM ARGUMENTS...`, with the orders as JSON."""

import json
import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the module that the first argument names."""
    what, orders, _, *argv = sys.argv[1:]
    if what == "supervise":
        from .supervise import main as work
    elif what == "restrict":
        from .restrict import main as work
    else:
        from .inside import main as work
    sys.exit(work(json.loads(orders), argv))
