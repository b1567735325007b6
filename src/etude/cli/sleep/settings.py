"""The settings that a verb of `etude sleep` is given, and where its nights are."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from etude.cli.parsing.verb import UsageError
from etude.cli.settings import with_options
from etude.cli.sleep.verbs import DEFAULT_SLEEP_CONFIG
from etude.cli.terminal import output
from etude.sleep.config import SleepConfig, SleepSection, load_sleep_config, load_sleep_section
from etude.sleep.page import Reviews
from etude.sleep.report import NightReport, read_report
from etude.sleep.state import REPORT, Surroundings, state_in

WAITING = ("proposed", "partly adopted")
"""How nights stand of which something waits for a person."""


class Nights(Reviews):
    """A project and its nights, for people."""

    def number(self, asked: int | None) -> int:
        """The night that is meant, the last one unless it is named; a UsageError where there is none."""
        none = f"there is no night yet of {str(self.project.absolute())!r}"
        return self._meant(asked, self.state.numbers(), none, "there is no night {}")

    def proposed(self, asked: int | None) -> int:
        """As `number`, of nights with a proposal."""
        self.number(asked)
        having = [number for number in self.state.numbers() if self.has_proposal(number)]
        return self._meant(asked, having, "no night has a proposal", "night {} has no proposal")

    def adopted(self, asked: int | None) -> int:
        """As `number`, of nights that are adopted."""
        self.number(asked)
        having = sorted(line.night for line in self.nights() if line.status in ("adopted", "partly adopted"))
        return self._meant(asked, having, "no night is adopted", "nothing of night {} is adopted")

    def _meant(self, asked: int | None, having: Sequence[int], none: str, another: str) -> int:
        if having and asked in (None, *having):
            return having[-1] if asked is None else asked
        hint = "`etude sleep status` shows the nights, `etude sleep run` works through one"
        raise UsageError(none if asked is None or not having else another.format(asked), hint=hint)

    def recovered(self, args: argparse.Namespace) -> bool:
        """End an adoption or a revert that was interrupted, and say what was done about it. That is all that the verb
        does then: how nights and rules stand may be another now."""
        recovery = self.recover()
        for text in () if recovery is None else recovery.notes:
            output.note(f"note: {text}")
        if recovery is None:
            return False
        if args.json:
            output.json_result({"recovered": recovery.model_dump(mode="json")})
        else:
            output.line("nothing else was done: `etude sleep status` shows how nights stand")
        return True

    def report(self, number: int) -> NightReport:
        """The report of a night; a UsageError where it has none, or another version wrote it."""
        report, path = read_report(self.state, number), self.state.night(number) / REPORT
        if report is not None:
            return report
        if path.exists():
            hint = f"another version of etude wrote it, or it is damaged: {path}"
            raise UsageError(f"the report of night {number} cannot be read", hint=hint)
        raise UsageError(f"night {number} has no report yet", hint="`etude sleep run` continues it")


def read_config(args: argparse.Namespace) -> SleepConfig:
    """The settings of a night, with what the command line sets on top of them."""
    path = Path(DEFAULT_SLEEP_CONFIG if args.config is None else args.config)
    if args.config is None and not path.exists():
        raise UsageError(
            f"no CONFIG was given and there is no {DEFAULT_SLEEP_CONFIG!r} here", hint="`etude sleep init` makes one"
        )
    return with_options(lambda flags: load_sleep_config(path, flags=flags), args)


def find_nights(args: argparse.Namespace) -> Nights:
    """The nights of the project: from the arguments, else from the settings, else in the usual place."""
    sleep = settings_in(args.config)
    project = find_project(named_project(args), sleep)
    return Nights(
        project,
        state_in(project, Surroundings()),
        () if sleep is None else tuple(Path(path) for path in sleep.named_paths),
    )


def named_project(args: argparse.Namespace) -> str | None:
    """The project that the command line names: as an option, or as a setting."""
    asked = getattr(args, "project", None)
    return dict[str, str](args.flags).get("sleep.project") if asked is None else asked


def find_project(asked: str | None, sleep: SleepSection | None) -> Path:
    """The project: the one that is asked for, else that of the settings, else the current folder."""
    place = Path(asked if asked is not None else "." if sleep is None else sleep.project)
    if not place.is_dir():
        raise UsageError(f"{str(place)!r} is not a folder", hint="name the project's folder")
    return place


def settings_in(config: str | None) -> SleepSection | None:
    """The section `sleep` of a settings file, else of the one in the current folder, if there is one."""
    if config is None and not Path(DEFAULT_SLEEP_CONFIG).exists():
        return None
    return load_sleep_section(Path(DEFAULT_SLEEP_CONFIG if config is None else config))
