"""The result of many seeds, for people."""

from collections.abc import Iterator

from etude.cli.terminal import output
from etude.cli.terminal.tables import shown, text_lines
from etude.measure.seeds import SeedReport, SeedResult, Spread
from etude.readable import counted, money
from etude.records import MEANS

_COLUMNS = ("seed", "run", "val", "best val", "test", "best test", "gain", "calls", "cost")


def print_seeds(report: SeedReport) -> None:
    """Print it on stdout."""
    table = text_lines([_COLUMNS, *map(_row, report.seeds)])
    output.lines([*table, "", *_spreads(report), f"file      {report.file}"], simulated=report.simulated)


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
