"""The verbs of `etude sleep` and their arguments. Imports nothing heavy, so that help is instant."""

import argparse
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from etude.cli.parsing.arguments import number, trust, wait
from etude.cli.parsing.verb import Verb

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


DEFAULT_SLEEP_CONFIG = "sleep.yaml"

_NIGHT = number(int, "a whole number from 1 on", 1)

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


def _run(parser: Arguments) -> None:
    _settings(parser)
    about = "say what a night would read and do, and the most calls it makes; asks no model and writes nothing"
    parser.add_argument("--dry-run", action="store_true", help=about)
    wait(parser)
    about = (
        "nobody is there: wait up to six hours for models that cannot be reached, tell of the end at the next command"
    )
    parser.add_argument("--unattended", action="store_true", help=about)


def _place(parser: Arguments) -> None:
    parser.add_argument(
        "--config", metavar="FILE", help=f"settings of the nights (default: {DEFAULT_SLEEP_CONFIG}, if there is one)"
    )
    parser.add_argument("--project", metavar="DIR", help="the project, in place of sleep.project")


def _night(parser: Arguments, default: str) -> None:
    parser.add_argument("night", nargs="?", type=_NIGHT, metavar="NIGHT", help=f"its number (default: {default})")
    _place(parser)


def _show(parser: Arguments) -> None:
    _night(parser, "the last one; for --diff the last one whose proposal waits")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--diff", action="store_true", help="what its proposal would change")
    what.add_argument("--tasks", action="store_true", help="its tasks")
    what.add_argument(
        "--sessions", action="store_true", help="the sessions that are found, whether or not a night has used them"
    )
    parser.add_argument("--to", metavar="FILE", help="with --tasks: write them to this file, to be reviewed")
    trust(parser)


def _adopt(parser: Arguments) -> None:
    _rules(parser, "only this rule, also one that was taken out (may be repeated)")
    _place(parser)


def _reject(parser: Arguments) -> None:
    _rules(parser, "a rule that is not wanted (may be repeated)", required=True)
    _place(parser)


def _rules(parser: Arguments, about: str, *, required: bool = False) -> None:
    parser.add_argument("--rule", action="append", metavar="ID", help=about, required=required)


def _revert(parser: Arguments) -> None:
    _night(parser, "the last one that is adopted")
    parser.add_argument("--rule", metavar="ID", help="take out one rule in place of a whole night")


def _schedule(parser: Arguments) -> None:
    _settings(parser)
    parser.add_argument("--at", type=_time, default=(3, 17), metavar="HH:MM", help="local time (default: 03:17)")
    what = parser.add_mutually_exclusive_group()
    about = "write the script and print the command that runs it, for another scheduler"
    what.add_argument("--print", dest="show", action="store_true", help=about)
    what.add_argument("--remove", action="store_true", help="schedule the nights of the project no more")
    what.add_argument("--pause", action="store_true", help="let no night begin, scheduled or not, until --resume")
    what.add_argument("--resume", action="store_true", help="end a pause")


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
        ("run sleep.yaml", "run --dry-run", "run sleep.yaml --sleep.lookback_hours 24 --limits.usd 2"),
    ),
    ("review", "go through the rules that wait: take, leave, edit, never again", _place, ("review",)),
    (
        "show",
        "show what a night did and why, its diff, its tasks, or the sessions that are found",
        _show,
        ("show", "show --diff", "show 7 --tasks --to tasks.json", "show --sessions"),
    ),
    ("adopt", "put rules that wait in place, all or some", _adopt, ("adopt", "adopt --rule 1f0e9d8c")),
    ("reject", "turn down a rule, for later nights too", _reject, ("reject --rule 1f0e9d8c",)),
    ("revert", "take back what a night changed, or a single rule", _revert, ("revert 7", "revert --rule 1f0e9d8c")),
    ("status", "list nights, rules, and what waits for you", _place, ("status",)),
    (
        "schedule",
        "run a night every day at a fixed time, by a line of your crontab",
        _schedule,
        ("schedule sleep.yaml --at 03:17", "schedule --print", "schedule --pause", "schedule --remove"),
    ),
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
