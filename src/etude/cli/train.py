"""`etude train`."""

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

from etude.cli.parsing.verb import UsageError
from etude.cli.settings import read_settings, upcoming
from etude.cli.terminal import output
from etude.cli.terminal.output import shown, text_lines
from etude.cli.terminal.summary_text import print_summary
from etude.cli.watch import watch
from etude.config import TrainConfig
from etude.errors import IdentityError, StopRun
from etude.measure.seeds import SeedReport, SeedResult, Spread, atrain_seeds
from etude.readable import counted, money
from etude.records import MEANS
from etude.records.summary import Summary
from etude.trainer import Trainer
from etude.workbench import Given

_SEEDS = ("seed", "run", "val", "best val", "test", "best test", "gain", "calls", "cost")


def run(args: argparse.Namespace) -> int:
    """Train, print the summary; a run that stops early says what it has and how to resume."""
    config = read_settings(args)
    if args.seeds is not None and any(key == "train.seed" for key, _ in args.flags):
        raise UsageError("--seeds and --train.seed both set the seed", hint="give one of them")
    return train(upcoming(config), args, fork=args.fork, seeds=args.seeds)


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
    if isinstance(result, SeedReport):
        output.measured(result, _seed_lines(result), as_json=as_json, simulated=result.simulated)
    elif as_json:
        output.json_result(result)
    else:
        print_summary(result)


def _seed_lines(report: SeedReport) -> Iterator[str]:
    """The result of many seeds."""
    yield from text_lines([_SEEDS, *map(_row, report.seeds)])
    yield from ("", *_spreads(report), f"file      {report.file}")


def _row(result: SeedResult) -> tuple[str, ...]:
    scores = (result.initial_val, result.best_val, result.initial_test, result.best_test)
    gain = "-" if result.gain is None else f"{result.gain:+.3f}"
    cost = "unknown" if result.usd is None else money(result.usd)
    return str(result.seed), result.run, *map(shown, scores), gain, f"{result.calls:,}", cost


def _spreads(report: SeedReport) -> Iterator[str]:
    if report.initial_test is None or report.best_test is None or report.gain is None:
        yield "test      not measured"
        return
    seeds = counted(len(report.seeds), "seed")
    yield f"{'':10}mean    sd     95% interval      ({MEANS[report.metric]} over {seeds}, test)"
    yield f"initial   {_spread(report.initial_test, '')}"
    yield f"best      {_spread(report.best_test, '')}"
    yield f"gain      {_spread(report.gain, '+')}"


def _spread(spread: Spread, sign: str) -> str:
    mean = f"{spread.mean:{sign}.3f}".ljust(8)
    if spread.sd is None:
        return f"{mean}-      needs two seeds"
    if spread.sd == 0:
        return f"{mean}0.000  the same in every run"
    return f"{mean}{spread.sd:.3f}  [{spread.low:{sign}.3f}, {spread.high:{sign}.3f}]"
