"""`etude doctor`."""

import argparse
import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etude.cli.doctor.agent_checks import check_agent, check_programs, check_sandbox
from etude.cli.doctor.checks import Check, check_config, check_install
from etude.cli.doctor.live_checks import check_live
from etude.cli.parsing.parser import DEFAULT_CONFIG
from etude.cli.parsing.usage import UsageError
from etude.cli.settings import config_path, with_options
from etude.cli.sleep.arguments import DEFAULT_SLEEP_CONFIG
from etude.cli.sleep.checks import check_night
from etude.cli.terminal import output
from etude.config import TrainConfig, load_settings, make_config
from etude.errors import EtudeError
from etude.sleep.config import SleepConfig, make_sleep_config

_STYLES = {"ok": "green", "note": None, "wrong": "red bold"}


def run(args: argparse.Namespace) -> int:
    """Check one thing after the other, print what is wrong and how to mend it; 1 if anything is."""
    checks = [*check_install(), check_sandbox(), *check_programs()]
    config = _config(args, checks)
    if config is not None:
        checks += asyncio.run(_all(config, args.live))
    wrong = sum(check.status == "wrong" for check in checks)
    if args.json:
        output.json_result({"ok": wrong == 0, "checks": [check.model_dump() for check in checks]})
    else:
        _print(checks, wrong)
    return 1 if wrong else 0


async def _all(config: TrainConfig, live: bool) -> list[Check]:
    checks = check_night(config) if isinstance(config, SleepConfig) else await check_config(config)
    checks += await check_agent(config)
    if live:
        checks += await check_live(config)
    return checks


def _config(args: argparse.Namespace, checks: list[Check]) -> TrainConfig | None:
    try:
        path = _path(args)
    except UsageError:
        text = f"no CONFIG was given and there is no {DEFAULT_CONFIG!r} here: only the installation is checked"
        checks.append(Check(name="config", status="note", text=text, mend="`etude init DATA` makes one"))
        return None

    def made(data: Mapping[str, Any], *, where: str) -> TrainConfig:
        return (make_sleep_config if _of_a_night(data, path) else make_config)(data, where=where)

    try:
        config = with_options(lambda flags: load_settings(made, path, flags=flags, kind=SleepConfig), args)
    except EtudeError as error:
        checks.append(Check.wrong("config", error))
        return None
    kind = " for `etude sleep`" if isinstance(config, SleepConfig) else ""
    checks.append(Check.ok("config", f"{path} is valid{kind}"))
    return config


def _of_a_night(data: Mapping[str, Any], path: Path) -> bool:
    """Whether settings are those of a night: they say so, or name no tasks, without which nothing is trained."""
    named = "sleep" in data or path.name == DEFAULT_SLEEP_CONFIG
    return named or ("env" not in data and path.name != DEFAULT_CONFIG)


def _path(args: argparse.Namespace) -> Path:
    """The settings of a training, else those of a night."""
    try:
        return config_path(args)
    except UsageError:
        if not Path(DEFAULT_SLEEP_CONFIG).exists():
            raise
        return Path(DEFAULT_SLEEP_CONFIG)


def _print(checks: list[Check], wrong: int) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        first, *rest = check.text.splitlines()
        output.line(f"{check.status:<5}  {check.name:<{width}}  {first}", _STYLES[check.status])
        for text in rest:
            output.line(f"{'':<5}  {'':<{width}}  {text}")
        if check.mend:
            output.line(f"{'':<5}  {'':<{width}}  -> {check.mend}")
    output.line()
    output.line("all fine" if not wrong else f"{wrong} of {len(checks)} checks found something wrong")
