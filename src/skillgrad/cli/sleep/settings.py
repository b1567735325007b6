"""The settings that a verb of `skillgrad sleep` is given, and where its nights are."""

import argparse
from pathlib import Path
from typing import NamedTuple

from skillgrad.cli.sleep.arguments import DEFAULT_SLEEP_CONFIG
from skillgrad.cli.usage import UsageError
from skillgrad.sleep.config import SleepConfig, load_sleep_config
from skillgrad.sleep.gather import Surroundings
from skillgrad.sleep.night import read_report
from skillgrad.sleep.report import NightReport
from skillgrad.sleep.state import SleepState, state_folder

__all__ = ["Nights", "find_nights", "read_config"]


class Nights(NamedTuple):
    """A project and its nights."""

    project: Path
    state: SleepState
    named: tuple[Path, ...]
    """Documents outside of the project that the settings name."""

    def number(self, asked: int | None) -> int:
        """The night that is meant.

        Raises:
            UsageError: there is none of that number, or none at all.
        """
        known = self.state.numbers()
        if asked is None and known:
            return known[-1]
        if asked is not None and asked in known:
            return asked
        what = "there is no night yet" if asked is None else f"there is no night {asked}"
        nights = f"nights: {known[0]} to {known[-1]}" if known else "`skillgrad sleep run` works through one"
        raise UsageError(f"{what} of {str(self.project)!r}", hint=nights)

    def report(self, number: int) -> NightReport:
        """The report of a night.

        Raises:
            UsageError: it was killed before it had one.
        """
        report = read_report(self.state, number)
        if report is None:
            raise UsageError(f"night {number} has no report that can be read", hint="run `skillgrad sleep run` again")
        return report


def read_config(args: argparse.Namespace) -> SleepConfig:
    """The settings of a night, with what the command line sets on top of them.

    Raises:
        UsageError: no file was given and there is none.
        ConfigError: a setting is unknown or out of range.
    """
    path = Path(DEFAULT_SLEEP_CONFIG if args.config is None else args.config)
    if args.config is None and not path.exists():
        raise UsageError(
            f"no CONFIG was given and there is no {DEFAULT_SLEEP_CONFIG!r} here",
            hint="write one, as in docs/guides/sleep.md: 'target: {model: agent:codex}', 'optimizer: {model: ...}'",
        )
    return load_sleep_config(path, flags=args.flags)


def find_nights(args: argparse.Namespace) -> Nights:
    """Where the nights of the project are: from the arguments, else from the settings, else in the usual place.

    Raises:
        UsageError: the project is no folder.
        ConfigError: the settings cannot be used.
    """
    project, base, named = args.project, args.state, tuple[Path, ...]()
    default = Path(DEFAULT_SLEEP_CONFIG)
    if args.config is not None or default.exists():
        sleep = load_sleep_config(Path(args.config or default)).sleep
        named = tuple(Path(path) for path in sleep.named_paths)
        project = sleep.project if project is None else project
        base = sleep.state if base is None else base
    place = Path("." if project is None else project)
    if not place.is_dir():
        raise UsageError(f"{str(place)!r} is no folder", hint="name the project's folder")
    around = Surroundings()
    at = None if base is None else Path(base).absolute()
    state = SleepState(state_folder(place, home=around.home, environ=around.environ, base=at))
    state.check()
    return Nights(place, state, named)
