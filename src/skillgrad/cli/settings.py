"""The settings a command line asks for."""

import argparse
import json
from pathlib import Path

from skillgrad.cli.flags import Flags
from skillgrad.cli.parser import DEFAULT_CONFIG
from skillgrad.cli.usage import UsageError
from skillgrad.config import TrainConfig, load_config


def config_path(args: argparse.Namespace) -> Path:
    """The CONFIG argument, else `skillgrad.yaml` in the current folder.

    Raises:
        UsageError: neither was given.
    """
    if args.config is not None:
        return Path(args.config)
    path = Path(DEFAULT_CONFIG)
    if not path.exists():
        raise UsageError(
            f"no CONFIG was given and there is no {DEFAULT_CONFIG!r} here",
            hint="`skillgrad init DATA` makes one, `skillgrad demo` needs none",
        )
    return path


def read_settings(path: Path, args: argparse.Namespace) -> TrainConfig:
    """The file, with what the command line sets on top of it.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """
    return load_config(path, flags=flags_of(args))


def flags_of(args: argparse.Namespace) -> Flags:
    """What the command line sets: options that are settings, then dotted flags."""
    # As JSON, which is YAML, so that a name like 7 stays text.
    named = {"preset": getattr(args, "preset", None), "run.name": getattr(args, "name", None)}
    return [*((key, json.dumps(value)) for key, value in named.items() if value is not None), *args.flags]
