"""`etude train`."""

import argparse

from etude.cli.lookup import check_config, larger
from etude.cli.parsing.usage import UsageError
from etude.cli.roles import prices_of
from etude.cli.settings import config_path, read_settings
from etude.cli.terminal import output
from etude.cli.terminal.console import Console, open_console
from etude.cli.terminal.interrupt import run_stoppable
from etude.cli.terminal.seeds_text import print_seeds
from etude.cli.terminal.summary_text import print_summary
from etude.config import TrainConfig
from etude.errors import StopRun
from etude.measure.seeds import SeedReport, atrain_seeds
from etude.records.summary import Summary
from etude.trainer import Trainer
from etude.workbench import Given, StopSwitch


def run(args: argparse.Namespace) -> int:
    """Train, print the summary; a run that stops early says what it has and how to resume."""
    path = config_path(args)
    check_config(path)
    config = read_settings(path, args)
    if args.seeds is not None:
        if any(key == "train.seed" for key, _ in args.flags):
            raise UsageError("--seeds and --train.seed both set the seed", hint="give one of them")
        return train_many(config, args)
    return train(config, fork=args.fork, command=args.command, as_json=args.json)


def train(config: TrainConfig, *, fork: str | None, command: str, as_json: bool) -> int:
    """Train with a console; `command` is what resumes the run. Returns the exit code."""
    try:
        with open_console(prices_of(config)) as console:
            summary = _train(config, fork, console)
    except StopRun as stop:
        _report_stop(stop, command, as_json)
        return stop.exit_code
    _print(summary, as_json)
    return 0


def train_many(config: TrainConfig, args: argparse.Namespace) -> int:
    """Train once for each seed and report over them. Returns the exit code."""
    try:
        with open_console(prices_of(config)) as console:

            async def work(switch: StopSwitch) -> SeedReport:
                return await atrain_seeds(config, args.seeds, **_given(args.fork, console, switch))

            report = run_stoppable(work, lambda text: console.say(text, "yellow"))
    except StopRun as stop:
        if isinstance(stop.summary, Summary) and not args.json:
            output.line(f"run {stop.summary.name}:")
        _report_stop(stop, args.command, args.json)
        return stop.exit_code
    if args.json:
        output.json_result(report.model_dump(mode="json"))
    else:
        print_seeds(report)
    return 0


def _train(config: TrainConfig, fork: str | None, console: Console) -> Summary:
    async def work(switch: StopSwitch) -> Summary:
        return await Trainer(config, **_given(fork, console, switch)).atrain()

    return run_stoppable(work, lambda text: console.say(text, "yellow"))


def _given(fork: str | None, console: Console, switch: StopSwitch) -> Given:
    given = Given(sinks=[console], switch=switch)
    if fork is not None:
        given["fork"] = fork
    return given


def _report_stop(stop: StopRun, command: str, as_json: bool) -> None:
    if isinstance(stop.summary, Summary):
        _print(stop.summary, as_json)
    elif as_json:
        output.json_error(stop)
    output.tell(stop)
    output.note(f"resume{larger(stop.message)}: {command}")


def _print(summary: Summary, as_json: bool) -> None:
    if as_json:
        output.json_result(summary.model_dump(mode="json"))
    else:
        print_summary(summary)
