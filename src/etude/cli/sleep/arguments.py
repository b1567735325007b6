"""The arguments of the verbs of `etude sleep`. Imports nothing heavy, so that help is instant."""

import argparse
import re
from datetime import date

from etude.cli.parsing.arguments import unsafe_no_sandbox

__all__ = [
    "DEFAULT_SLEEP_CONFIG",
    "adopt",
    "explain",
    "harvest",
    "night",
    "pause",
    "place",
    "revert",
    "run",
    "schedule",
    "tasks",
    "unschedule",
]

DEFAULT_SLEEP_CONFIG = "sleep.yaml"
_CONFIG = f"settings of the night (default: {DEFAULT_SLEEP_CONFIG})"

_MOST_HOURS = 876_000
"""As of `sleep.lookback_hours`."""

Arguments = argparse.ArgumentParser


def run(parser: Arguments) -> None:
    """Of `sleep run` and `sleep dry-run`."""
    parser.add_argument("config", nargs="?", metavar="CONFIG", help=_CONFIG)
    _auto_adopt(parser)
    unsafe_no_sandbox(parser)


def place(parser: Arguments) -> None:
    """Where nights are."""
    parser.add_argument(
        "--config", metavar="FILE", help=f"settings of the nights (default: {DEFAULT_SLEEP_CONFIG}, if there is one)"
    )
    parser.add_argument("--project", metavar="DIR", help="the project, in place of sleep.project")
    parser.add_argument("--state", metavar="DIR", help="folder of all nights, in place of sleep.state")


def night(parser: Arguments, default: str = "the last one whose proposal waits") -> None:
    """A night, or the default one."""
    parser.add_argument("night", nargs="?", type=_number, metavar="NIGHT", help=f"its number (default: {default})")
    place(parser)


def explain(parser: Arguments) -> None:
    """Of `sleep explain`."""
    night(parser, "the last one")
    parser.add_argument("--task", metavar="ID", help="show the answers to one held-out task in full")


def adopt(parser: Arguments) -> None:
    """Of `sleep adopt`."""
    night(parser)
    parser.add_argument("--only", action="append", metavar="NAME", help="only this document (may be repeated)")


def tasks(parser: Arguments) -> None:
    """Of `sleep tasks`."""
    night(parser, "the last one")
    parser.add_argument("--to", metavar="FILE", help="write them to this file, to be reviewed")
    parser.add_argument("--reviewed", metavar="FILE", help="note in this file that you have read and want its tasks")


def revert(parser: Arguments) -> None:
    """Of `sleep revert`."""
    night(parser, "the last one that is adopted")
    parser.add_argument("--rule", metavar="ID", help="take out one rule in place of a whole night")


def harvest(parser: Arguments) -> None:
    """Of `sleep harvest`."""
    parser.add_argument("--source", action="append", metavar="NAME", help="read only this one (may be repeated)")
    parser.add_argument(
        "--home", metavar="DIR", help="home folder to read from, without CODEX_HOME and the like (default: your own)"
    )
    parser.add_argument("--project", metavar="DIR", help="only sessions in this folder or below it")
    parser.add_argument("--hours", type=_hours, metavar="N", help="only sessions that changed in the last N hours")
    parser.add_argument(
        "--limit", type=_number, default=100, metavar="N", help="the newest sessions, at most so many (default: 100)"
    )


def pause(parser: Arguments) -> None:
    """Of `sleep pause`."""
    place(parser)
    parser.add_argument("--until", type=_date, metavar="YYYY-MM-DD", help="its last day (default: until resumed)")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for those who ask later")


def schedule(parser: Arguments) -> None:
    """Of `sleep schedule`."""
    parser.add_argument("config", nargs="?", metavar="CONFIG", help=_CONFIG)
    _auto_adopt(parser)
    unsafe_no_sandbox(parser)
    parser.add_argument("--at", type=_time, default=(3, 17), metavar="HH:MM", help="local time (default: 03:17)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME", help="give the job this variable")
    parser.add_argument("--with", dest="scheduler", choices=("systemd", "launchd", "cron"), help="which scheduler")
    parser.add_argument(
        "--print", dest="show", action="store_true", help="only show what would be written; needs no scheduler"
    )


def unschedule(parser: Arguments) -> None:
    """Of `sleep unschedule`."""
    parser.add_argument(
        "--project",
        metavar="DIR",
        help=f"the project (default: that of {DEFAULT_SLEEP_CONFIG}, else the current folder)",
    )


def _auto_adopt(parser: Arguments) -> None:
    parser.add_argument(
        "--auto-adopt",
        action="store_true",
        help="adopt a proposal at once whose verdict is 'ship' and whose rules need no person, as sleep.auto_adopt",
    )


def _number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours <= _MOST_HOURS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hours above 0 and up to {_MOST_HOURS:,}")
    return hours


def _date(text: str) -> date:
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text)
    except ValueError:
        pass  # no such day
    raise argparse.ArgumentTypeError(f"{text!r} is not a date as in 2027-01-31")


def _time(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time as in 03:17")
    return int(found[1]), int(found[2])
