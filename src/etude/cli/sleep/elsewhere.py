"""Nights that are not where verbs look by themselves: what a command needs to be about the same ones."""

import argparse
import os
import re
import shlex
from collections.abc import Callable, Sequence
from functools import wraps

from etude.cli.lookup import larger
from etude.cli.sleep.arguments import DEFAULT_SLEEP_CONFIG
from etude.cli.terminal import output
from etude.errors import EtudeError
from etude.sleep.report import NightReport

__all__ = ["about_the_same", "elsewhere", "goes_on", "only", "told_to_go_on", "with_places"]

Run = Callable[[argparse.Namespace], int]

_COMMAND = re.compile(r"`etude sleep (adopt|diff|explain|pause|resume|revert|run|status|tasks)\b([^`]*)`")


def elsewhere(args: argparse.Namespace) -> str:
    """What is to be appended to a command that takes `--config`, `--project` and `--state`, for the nights of a verb
    with these arguments; empty, or begins with a space."""
    return _words([word for name, value in _given(args) for word in (f"--{name}", value)])


def about_the_same(text: str, args: argparse.Namespace) -> str:
    """The text with every command in it about the nights of a verb with these arguments."""

    def told(found: re.Match[str]) -> str:
        verb, words = found.groups()
        places = _settings(args) if verb == "run" else elsewhere(args)
        return f"`{output.program()} sleep {verb}{words}{places}`"

    return _COMMAND.sub(told, text)


def with_places(run: Run) -> Run:
    """A verb in whose errors the commands to try are about the same nights."""

    @wraps(run)
    def told(args: argparse.Namespace) -> int:
        try:
            return run(args)
        except EtudeError as error:
            error.hint = about_the_same(error.hint, args)
            raise

    return told


def only(titles: Sequence[str]) -> str:
    """What is to be appended to `adopt` for these documents alone; empty without any."""
    return _words([word for title in titles for word in ("--only", title)])


def goes_on(report: NightReport | None) -> str:
    """The command that goes on with a night: the one that it was begun with, since with other settings a new night
    begins. Empty where none is known."""
    command = None if report is None else report.command
    if command is None:
        return ""
    here = os.path.realpath(command.folder) == os.path.realpath(os.curdir)
    return command.text if here else f"cd {shlex.quote(command.folder)} && {command.text}"


def told_to_go_on(report: NightReport | None, number: int) -> str:
    """How a night goes on, for people."""
    command = goes_on(report)
    if report is None or not command:
        return f"night {number} goes on with the next run of the same settings"
    return f"night {number} goes on{larger(report.reason) or ' with'}: {command}"


def _given(args: argparse.Namespace) -> list[tuple[str, str]]:
    """The places that the arguments name, whether the verb takes its settings as `sleep run` does or as the
    others."""
    flags = dict(args.flags)
    config = None if args.config == DEFAULT_SLEEP_CONFIG else args.config
    places = {name: getattr(args, name, None) or flags.get(f"sleep.{name}") for name in ("project", "state")}
    return [(name, value) for name, value in {"config": config, **places}.items() if value is not None]


def _settings(args: argparse.Namespace) -> str:
    """The same places, for `sleep run`."""
    named = [(name, value) for name, value in _given(args) if name != "config"]
    config = [value for name, value in _given(args) if name == "config"]
    return _words([*config, *(word for name, value in named for word in (f"--sleep.{name}", value))])


def _words(words: list[str]) -> str:
    return f" {shlex.join(words)}" if words else ""
