"""Nights that are not where verbs look by themselves: what a command needs to be about the same ones."""

import argparse
import shlex
from typing import NamedTuple

from skillgrad.cli.sleep.arguments import DEFAULT_SLEEP_CONFIG

__all__ = ["Elsewhere", "elsewhere"]


class Elsewhere(NamedTuple):
    """What is to be appended to commands; each text is empty or begins with a space."""

    options: str = ""
    """To a verb that takes `--config`, `--project` and `--state`."""
    run: str = ""
    """To `sleep run`."""


def elsewhere(args: argparse.Namespace) -> Elsewhere:
    """Of a verb with these arguments, whether it takes its settings as `sleep run` does or as the others."""
    flags = dict(args.flags)
    config = None if args.config == DEFAULT_SLEEP_CONFIG else args.config
    places = {name: getattr(args, name, None) or flags.get(f"sleep.{name}") for name in ("project", "state")}
    given = [(name, value) for name, value in places.items() if value is not None]
    options = [("--config", config)] if config is not None else []
    options += [(f"--{name}", value) for name, value in given]
    settings = [config] if config is not None else []
    settings += [word for name, value in given for word in (f"--sleep.{name}", value)]
    return Elsewhere(_words([word for pair in options for word in pair]), _words(settings))


def _words(words: list[str]) -> str:
    return f" {shlex.join(words)}" if words else ""
