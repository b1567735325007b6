"""The settings a command line asks for."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.cli.parsing.verb import Flags, UsageError
from etude.cli.terminal import output
from etude.cli.trust import trusted
from etude.config import TrainConfig, load_config
from etude.errors import ConfigError
from etude.models.keys import secrets_of
from etude.registry import Family, find
from etude.skill.folder import evals_of, place_of, skills_in
from etude.store.rounds import next_round

C = TypeVar("C", bound=TrainConfig)

_UNSAFE = "unsafe_no_sandbox"


def read_settings(args: argparse.Namespace, path: Path | None = None) -> TrainConfig:
    """The file, by default the CONFIG argument or `etude.yaml` here, with what the command line sets on top of it.
    Raises UsageError: there is no file; ConfigError: a setting is unknown or out of range."""
    file = path or Path(args.config or DEFAULT_CONFIG)
    if path is None and args.config is None and not file.exists():
        raise UsageError(f"no CONFIG was given and there is no {DEFAULT_CONFIG!r} here", hint=_first_step(args))
    return with_options(lambda flags: load_config(file, flags=flags), args)


def _first_step(args: argparse.Namespace) -> str:
    """What makes the settings that are missing: the skills that were named may bring tasks."""
    said: list[str] = []
    for option in ("skill", "skills", "a", "b"):
        given: list[str] | str | None = getattr(args, option, None)
        said += given if isinstance(given, list) else [given or ""]
    named = [Path(place) for place in said if place]
    for skill in (found for place in named for found in [place_of(place), *skills_in(place)]):
        if evals_of(skill).is_file():
            return f"`etude init --skill {skill}` makes one, with the evals of this skill"
    skill = next((f" --skill {place}" for place in named if place.exists()), "")
    return f"`etude init DATA{skill}` makes one, `etude demo` needs none"


def with_options(load: Callable[[Flags], C], args: argparse.Namespace, before: Sequence[tuple[str, str]] = ()) -> C:
    """Settings that `load` gives with flags: those of `before`, then what the command line sets. The user trusts what
    they name. Raises ConfigError: a setting is unknown or out of range; UntrustedError."""
    # As JSON, which is YAML, so that a name like 7 stays text.
    options = {"preset": "preset", "run.name": "name", "report_to": "report_to"}
    named = {key: getattr(args, option, None) for key, option in options.items()}
    flags = [*before, *((key, json.dumps(value)) for key, value in named.items() if value is not None), *args.flags]
    config = trusted(load(flags), args)
    for section in config.models.values():  # the command line is repeated in hints
        args.command = secrets_of(section).hide(getattr(args, "command", ""))
    if not getattr(args, _UNSAFE, False):  # the demo takes settings and not this option
        return config
    if not (found := sandboxed(config)):
        raise ConfigError(
            f"--unsafe-no-sandbox: neither the agent {config.agent.name!r} nor the environment {config.env.name!r} "
            "runs anything in a sandbox",
            hint="leave the option out",
        )
    return load([*flags, *((f"{section}.{_UNSAFE}", "true") for section in found)])


def sandboxed(config: TrainConfig) -> list[str]:
    """The sections of what runs in a sandbox: where the setting is that `--unsafe-no-sandbox` sets."""
    kinds: dict[str, tuple[Family, str]] = {
        "agent": ("agents", config.agent.name),
        "env": ("environments", config.env.name),
    }
    return [
        section
        for section, kind in kinds.items()
        if _UNSAFE in getattr(getattr(find(*kind), "options_type", None), "model_fields", ())
    ]


def upcoming(config: TrainConfig) -> TrainConfig:
    """The settings of the run that `train` goes on with. Says so where it is a further round of the one that is
    named."""
    further = next_round(config)
    if further is not config:
        output.note(
            f"run {config.run.name!r} was exported to where its skill came from: {further.run.name!r} goes on there"
        )
    return further
