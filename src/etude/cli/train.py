"""`etude train`."""

import argparse
from contextlib import AbstractContextManager, nullcontext

from etude.cli.parsing.usage import UsageError
from etude.cli.settings import read_settings
from etude.cli.terminal import output
from etude.cli.terminal.seeds_text import print_seeds
from etude.cli.terminal.summary_text import print_summary
from etude.cli.watch import watch
from etude.config import TrainConfig
from etude.errors import IdentityError, StopRun
from etude.measure.seeds import SeedReport, atrain_seeds
from etude.records.summary import Summary
from etude.store.rounds import next_round
from etude.trainer import Trainer
from etude.workbench import Given


def run(args: argparse.Namespace) -> int:
    """Train, print the summary; a run that stops early says what it has and how to resume."""
    config = read_settings(args)
    if args.seeds is not None and any(key == "train.seed" for key, _ in args.flags):
        raise UsageError("--seeds and --train.seed both set the seed", hint="give one of them")
    further = next_round(config)
    if further is not config:
        output.note(
            f"run {config.run.name!r} was exported to where its skill came from: {further.run.name!r} goes on there"
        )
    return train(further, args, fork=args.fork, seeds=args.seeds)


def train(
    config: TrainConfig, args: argparse.Namespace, *, fork: str | None = None, seeds: tuple[int, ...] | None = None
) -> int:
    """Train with a console, once for each seed if there are any. Returns the exit code."""

    async def work(given: Given) -> Summary | SeedReport:
        if fork is not None:
            given["fork"] = fork
        return await (Trainer(config, **given).atrain() if seeds is None else atrain_seeds(config, seeds, **given))

    wait = getattr(args, "wait", False)
    try:
        with _viewed(config) if getattr(args, "view", False) else nullcontext():
            _print(watch(work, args.command, wait=wait), args.json)
    except IdentityError as error:
        error.hint = (
            f"use the old settings, or begin another run with `--name NEW`; `--fork {config.run.name}` lets it "
        )
        error.hint += "use the answers of this one"
        raise
    except StopRun as stop:
        if not isinstance(stop.summary, Summary):
            raise
        if args.json or stop.summary.cost.answered:
            if seeds is not None and not args.json:
                output.line(f"run {stop.summary.name}:")
            _print(stop.summary, args.json)
        output.tell(stop)
        return stop.exit_code
    return 0


def _viewed(config: TrainConfig) -> AbstractContextManager[None]:
    # The page needs nights and a server, which a run without it does not wait for.
    from etude.cli.view import viewed

    return viewed(config.run)


def _print(result: Summary | SeedReport, as_json: bool) -> None:
    if as_json:
        output.json_result(result.model_dump(mode="json"))
    elif isinstance(result, Summary):
        print_summary(result)
    else:
        print_seeds(result)
