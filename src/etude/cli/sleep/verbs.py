"""The verbs of `etude sleep` and their arguments. Imports nothing heavy, so that help is instant."""

import argparse
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from etude.cli.parsing.arguments import number, trust, unsafe_no_sandbox, wait
from etude.cli.parsing.verb import Verb

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


DEFAULT_SLEEP_CONFIG = "sleep.yaml"
_MOST_HOURS = 876_000
"""As of `sleep.lookback_hours`."""

_NIGHT = number(int, "a whole number from 1 on", 1)
_HOURS = number(float, f"a number of hours above 0 and up to {_MOST_HOURS:,}", 0.001, _MOST_HOURS + 1)

Arguments = argparse.ArgumentParser


def _init(parser: Arguments) -> None:
    parser.add_argument("--agent", metavar="NAME", help="whose documents are improved (default: the one used most)")
    about = "the model that attempts tasks (default: found, a subscription first)"
    parser.add_argument("--target", metavar="MODEL", help=about)
    parser.add_argument("--optimizer", metavar="MODEL", help="the model that proposes rules (default: the same)")
    parser.add_argument("--force", action="store_true", help=f"overwrite {DEFAULT_SLEEP_CONFIG}")


def _settings(parser: Arguments) -> None:
    about = f"settings of the night (default: {DEFAULT_SLEEP_CONFIG})"
    parser.add_argument("config", nargs="?", metavar="CONFIG", help=about)
    parser.add_argument(
        "--auto-adopt",
        action="store_true",
        help="adopt at once each new rule that needs no person, as sleep.auto_adopt",
    )
    unsafe_no_sandbox(parser)


def _run(parser: Arguments) -> None:
    _settings(parser)
    wait(parser)
    about = (
        "nobody is there, as for a scheduler: wait up to six hours for models that cannot be reached, and tell of "
    )
    parser.add_argument(
        "--unattended", action="store_true", help=f"{about}the end on the desktop and at the next command"
    )


def _place(parser: Arguments) -> None:
    parser.add_argument(
        "--config", metavar="FILE", help=f"settings of the nights (default: {DEFAULT_SLEEP_CONFIG}, if there is one)"
    )
    parser.add_argument("--project", metavar="DIR", help="the project, in place of sleep.project")
    parser.add_argument("--state", metavar="DIR", help="folder of all nights, in place of sleep.state")


def _night(parser: Arguments, default: str = "the last one whose proposal waits") -> None:
    parser.add_argument("night", nargs="?", type=_NIGHT, metavar="NIGHT", help=f"its number (default: {default})")
    _place(parser)


def _explain(parser: Arguments) -> None:
    _night(parser, "the last one")
    parser.add_argument("--details", action="store_true", help="with statistics, every held-out answer and ids")


def _adopt(parser: Arguments) -> None:
    _night(parser)
    _rules(parser, "only this rule of it (may be repeated)")


def _reject(parser: Arguments) -> None:
    _rules(parser, "a rule that is not wanted (may be repeated)", required=True)
    _place(parser)


def _rules(parser: Arguments, about: str, *, required: bool = False) -> None:
    parser.add_argument("--rule", action="append", metavar="ID", help=about, required=required)


def _tasks(parser: Arguments) -> None:
    _night(parser, "the last one")
    parser.add_argument("--to", metavar="FILE", help="write them to this file, to be reviewed")


def _revert(parser: Arguments) -> None:
    _night(parser, "the last one that is adopted")
    parser.add_argument("--rule", metavar="ID", help="take out one rule in place of a whole night")


def _harvest(parser: Arguments) -> None:
    settings = f"default: as {DEFAULT_SLEEP_CONFIG} here says"
    parser.add_argument(
        "--source", action="append", metavar="NAME", help=f"read only this one (may be repeated; {settings})"
    )
    parser.add_argument("--project", metavar="DIR", help=f"only sessions in this folder or below it ({settings})")
    about = f"only sessions that changed in the last N hours ({settings})"
    parser.add_argument("--hours", type=_HOURS, metavar="N", help=about)
    parser.add_argument(
        "--limit", type=_NIGHT, default=100, metavar="N", help="read at most this many, the newest (default: 100)"
    )
    trust(parser)


def _schedule(parser: Arguments) -> None:
    _settings(parser)
    parser.add_argument("--at", type=_time, default=(3, 17), metavar="HH:MM", help="local time (default: 03:17)")
    about = "only print the line, as for another scheduler"
    parser.add_argument("--print", dest="show", action="store_true", help=about)


def _unschedule(parser: Arguments) -> None:
    about = f"the project (default: that of {DEFAULT_SLEEP_CONFIG}, else the current folder)"
    parser.add_argument("--project", metavar="DIR", help=about)


def _time(text: str) -> tuple[int, int]:
    try:
        found = datetime.strptime(text, "%H:%M")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time as in 03:17") from None
    return found.hour, found.minute


def _of_a_night() -> "Mapping[str, FieldInfo]":
    from etude.sleep.config import SECTIONS_OF_ITS_OWN, SleepConfig  # only here: help has to be instant

    return {name: field for name, field in SleepConfig.model_fields.items() if name not in SECTIONS_OF_ITS_OWN}


_VERBS: tuple[tuple[str, str, Callable[[Arguments], None], tuple[str, ...]], ...] = (
    (
        "init",
        "find transcripts, agent, documents and a model, and write sleep.yaml; asks no model",
        _init,
        ("init", "init --target agent:codex"),
    ),
    (
        "run",
        "work through a night: harvest, mine, improve, stage a proposal",
        _run,
        ("run sleep.yaml", "run sleep.yaml --sleep.lookback_hours 24 --limits.usd 2"),
    ),
    (
        "dry-run",
        "say what a night would read and do, and the most calls it makes; asks no model and writes nothing",
        _settings,
        ("dry-run sleep.yaml",),
    ),
    ("status", "list nights, proposals that wait, sessions that wait", _place, ("status",)),
    (
        "explain",
        "say what a night did, and why it changed what it changed",
        _explain,
        ("explain", "explain 7 --details"),
    ),
    (
        "harvest",
        "show the sessions that are found; asks no model and writes nothing",
        _harvest,
        ("harvest --source codex --json", "harvest --project . --hours 240"),
    ),
    (
        "tasks",
        "show the tasks of a night, or hand them over in a file to review",
        _tasks,
        ("tasks 7", "tasks 7 --to tasks.json"),
    ),
    ("diff", "show what a proposal would change", _night, ("diff", "diff 7")),
    ("review", "go through the rules that wait: take, leave, edit, never again", _place, ("review",)),
    ("adopt", "put rules that wait in place, all or some", _adopt, ("adopt", "adopt --rule 1f0e9d8c")),
    ("reject", "turn down a rule, for later nights too", _reject, ("reject --rule 1f0e9d8c",)),
    ("revert", "take back what a night changed, or a single rule", _revert, ("revert 7", "revert --rule 1f0e9d8c")),
    ("pause", "let no night begin, scheduled or not, until `sleep resume`", _place, ("pause",)),
    ("resume", "end a pause", _place, ("resume",)),
    (
        "schedule",
        "run a night every day at a fixed time, by a line of your crontab",
        _schedule,
        ("schedule sleep.yaml --at 03:17", "schedule sleep.yaml --print"),
    ),
    ("unschedule", "stop running it", _unschedule, ("unschedule",)),
)

SLEEP: tuple[Verb, ...] = tuple(
    Verb(
        f"sleep {name}",
        about,
        [f"etude sleep {one}" for one in examples],
        arguments,
        dotted=arguments in (_run, _settings, _schedule),
        sections=_of_a_night,
    )
    for name, about, arguments, examples in _VERBS
)
