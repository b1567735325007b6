"""`etude runs`."""

import argparse
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from etude.cli.lookup import larger
from etude.cli.terminal import output
from etude.cli.terminal.output import text_lines
from etude.errors import DataError
from etude.readable import counted, money
from etude.store import run_names
from etude.store.projections.runs import RunLine, read_line

_COLUMNS = (
    *("run", "state", "steps", "verdict", "val", "initial", "test", "gain"),
    *("calls", "cost", "disk", "last change"),
)


def run(args: argparse.Namespace) -> int:
    """List the runs of a folder."""
    folder = Path(args.folder)
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}", hint="give the folder of your runs with --folder")
    lines = newest_first(folder)
    output.measured(lines, _lines(lines, folder), as_json=args.json)
    return 0


def newest_first(folder: Path) -> list[RunLine]:
    """The runs of a folder, the one that changed last first; none where there is no folder."""
    found = (read_line(folder / name, output.program()) for name in run_names(folder))
    return sorted(found, key=lambda line: line.changed, reverse=True)


def _lines(lines: Sequence[RunLine], folder: Path) -> Iterator[str]:
    if not lines:
        yield f"{str(folder)!r} holds no runs"
        return
    rows = [_row(line) for line in lines]
    known = [at for at in range(len(_COLUMNS)) if any(row[at] != "-" for row in rows)]
    yield from text_lines([[row[at] for at in known] for row in (_COLUMNS, *rows)])
    if any(line.simulated and not line.dry for line in lines):
        yield "* simulated models: the score says nothing about a real model"
    for line in lines:
        if line.why:
            yield f"{line.name}: {line.why}"
        if line.resume is not None:
            yield f"resume {line.name}{larger(line.why)}: {line.resume}"
    yield f"{counted(len(lines), 'run')}, {size(sum(line.bytes for line in lines))}"


def _row(line: RunLine) -> tuple[str, ...]:
    steps = str(line.steps) if line.planned_steps is None else f"{line.steps}/{line.planned_steps}"
    star = "*" if line.simulated else ""
    means = line.val, None if line.initial is None else line.initial.mean, line.test
    val, initial, test = ("-" if value is None else f"{value:.2f}{star}" for value in means)
    gain = "-" if line.gain is None else f"{line.gain.mean:+.2f}{star}"
    calls = "-" if line.calls is None else f"{line.calls:,}"
    cost = "-" if line.calls is None or line.usd == 0 else "unknown" if line.usd is None else money(line.usd)
    when = datetime.fromtimestamp(line.changed).strftime("%Y-%m-%d %H:%M")
    scores = line.words or "-", val, initial, test, gain
    return line.name, line.state, steps, *scores, calls, cost, size(line.bytes), when


def size(count: int) -> str:
    """As in `950 B`, `12 kB` or `3.4 MB`."""
    if count < 1_000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e6:.1f} MB" if count < 1_000_000_000 else f"{count / 1e9:.1f} GB"
