"""The settings a command line asks for."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from etude.cli.parsing.flags import Flags
from etude.cli.parsing.parser import DEFAULT_CONFIG
from etude.cli.parsing.usage import UsageError
from etude.config import TrainConfig, load_config
from etude.errors import ConfigError
from etude.registry import Family, find

C = TypeVar("C", bound=TrainConfig)

_UNSAFE = "unsafe_no_sandbox"


def config_path(args: argparse.Namespace) -> Path:
    """The CONFIG argument, else `etude.yaml` in the current folder.

    Raises:
        UsageError: neither was given.
    """
    if args.config is not None:
        return Path(args.config)
    path = Path(DEFAULT_CONFIG)
    if not path.exists():
        raise UsageError(
            f"no CONFIG was given and there is no {DEFAULT_CONFIG!r} here",
            hint="`etude init DATA` makes one, `etude demo` needs none",
        )
    return path


def read_settings(path: Path, args: argparse.Namespace) -> TrainConfig:
    """The file, with what the command line sets on top of it.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """
    return with_options(lambda flags: load_config(path, flags=flags), args)


def with_options(load: Callable[[Flags], C], args: argparse.Namespace, before: Sequence[tuple[str, str]] = ()) -> C:
    """Settings with what the command line sets on top of them.

    Args:
        load: loads the settings with these flags.
        before: flags that those of the command line win over.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """
    flags = [*before, *flags_of(args)]
    config = load(flags)
    # The demo takes settings and not this option.
    return load([*flags, *_without_sandbox(config)]) if getattr(args, "unsafe_no_sandbox", False) else config


def _without_sandbox(config: TrainConfig) -> Flags:
    """What `--unsafe-no-sandbox` sets: the setting of that name wherever something runs in a sandbox.

    Raises:
        ConfigError: neither has, so nothing runs in a sandbox, or the kind of one is unknown.
    """
    chosen: list[tuple[str, Family, str]] = [
        ("agent", "agents", config.agent.name),
        ("env", "environments", config.env.name),
    ]
    keys = [
        f"{section}.{_UNSAFE}"
        for section, family, name in chosen
        if _UNSAFE in getattr(getattr(find(family, name), "options_type", None), "model_fields", ())
    ]
    if "sleep" in type(config).model_fields and f"agent.{_UNSAFE}" not in keys:
        keys.append(f"agent.{_UNSAFE}")  # the commands of its tasks run in one, whatever the agent
    if not keys:
        raise ConfigError(
            f"--unsafe-no-sandbox: neither the agent {config.agent.name!r} nor the environment {config.env.name!r} "
            "runs anything in a sandbox",
            hint="leave the option out",
        )
    return [(key, "true") for key in keys]


def flags_of(args: argparse.Namespace) -> Flags:
    """What the command line sets: options that are settings, then dotted flags."""
    # As JSON, which is YAML, so that a name like 7 stays text.
    named = {"preset": getattr(args, "preset", None), "run.name": getattr(args, "name", None)}
    return [*((key, json.dumps(value)) for key, value in named.items() if value is not None), *args.flags]
