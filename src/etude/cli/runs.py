"""`etude runs`."""

import argparse
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from etude.cli.lookup import larger, planned, reached_limit, resume_command, summary_of
from etude.cli.terminal import output
from etude.cli.terminal.tables import text_lines
from etude.config import LimitsSection
from etude.errors import DataError, EtudeError
from etude.progress import counted, money
from etude.records import Record
from etude.records.summary import SkillScores
from etude.store import RunView, SpendTotals, SqliteJournal, SqliteSpend, read_run, run_names
from etude.store.views import EVENTS, JOURNAL

_COLUMNS = ("run", "state", "steps", "val", "test", "calls", "cost", "disk", "last change")


class RunLine(Record):
    """What the list says about a run. What could not be read, or is not known yet, is None."""

    name: str
    path: str
    state: Literal["finished", "stopped", "running", "unfinished", "evaluations", "damaged"]
    """`stopped`: it ended early and said why; `unfinished`: it was killed; `evaluations`: skills were scored in the
    folder, no run was trained."""
    why: str = ""
    """Why it stopped, or what cannot be read."""
    steps: int = 0
    """Steps done."""
    planned_steps: int | None = None
    """None also when that depends on what happens."""
    val: float | None = None
    """Mean validation score of the best skill, in [0, 1]."""
    test: float | None = None
    """Mean test score of the best skill, in [0, 1]."""
    simulated: bool | None = None
    calls: int | None = None
    """Model requests sent, over all processes."""
    usd: float | None = None
    """US dollars billed; None when a price is unknown."""
    bytes: int
    """Disk use."""
    changed: float
    """When something happened in it last, in seconds since 1970."""
    resume: str | None = None
    """The command that resumes it."""
    raise_limit: str | None = None
    """The setting that `resume` needs a larger value of, as in `limits.calls`."""


def run(args: argparse.Namespace) -> int:
    """List the runs of a folder."""
    folder = Path(args.folder)
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}", hint="give the folder of your runs with --folder")
    found = (_line(folder / name) for name in run_names(folder))
    lines = sorted(found, key=lambda line: line.changed, reverse=True)
    _list(lines, folder, args.json)
    return 0


def _line(path: Path) -> RunLine:
    known = {"name": path.name, "path": str(path), "bytes": _disk_use(path), "changed": _changed(path)}
    try:
        view = read_run(path)
        summary = summary_of(view)
    except EtudeError as error:
        return RunLine.model_validate({**known, "state": "damaged", "why": error.message})
    spent, unreadable = _spent(path)
    stopped = None if summary is None or view.outdated else summary.stopped
    best = SkillScores(skill="", hash="") if summary is None else summary.best
    return RunLine.model_validate(
        {
            **known,
            "state": _state(view, stopped),
            "why": unreadable or ("" if view.running or stopped is None else stopped),
            "steps": sum(step.action is not None for step in view.steps),
            "planned_steps": planned(view),
            "val": None if best.val is None else best.val.mean,
            "test": None if best.test is None else best.test.mean,
            "simulated": None if summary is None else summary.simulated,
            "calls": None if spent is None else spent.total_calls,
            "usd": None if spent is None else spent.usd,
            "resume": resume_command(view),
            "raise_limit": None if view.running else reached_limit(stopped) or None,
        }
    )


def _state(view: RunView, stopped: str | None) -> str:
    if view.running:
        return "running"
    if view.evaluations_only:
        return "evaluations"
    if view.resumable:
        return "unfinished" if stopped is None else "stopped"
    return "finished"


def _spent(path: Path) -> tuple[SpendTotals | None, str]:
    """What the run used; else why it cannot be read."""
    try:
        journal = SqliteJournal(path / JOURNAL, read_only=True)
    except EtudeError as error:
        return None, error.message
    try:
        return SqliteSpend(journal, LimitsSection()).totals(), ""
    finally:
        journal.close()


def _disk_use(path: Path) -> int:
    """Bytes of all files, without following links."""
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_symlink() or file.is_file())


def _changed(path: Path) -> float:
    """Looking at a run can touch its lock and its journal, but not its events."""
    events = path / EVENTS
    return (events if events.exists() else path / JOURNAL).stat().st_mtime


def _list(lines: Sequence[RunLine], folder: Path, as_json: bool) -> None:
    if as_json:
        output.json_result([line.model_dump(mode="json") for line in lines])
        return
    if not lines:
        output.line(f"{str(folder)!r} holds no runs")
        return
    output.lines(text_lines([_COLUMNS, *map(_row, lines)]))
    if any(line.simulated for line in lines):
        output.line("* simulated models: the score says nothing about a real model")
    for line in lines:
        if line.why:
            output.line(f"{line.name}: {line.why}")
        if line.resume is not None:
            output.line(f"resume {line.name}{larger(line.why)}: {line.resume}")
    output.line(_total([line.bytes for line in lines]))


def _row(line: RunLine) -> tuple[str, ...]:
    steps = str(line.steps) if line.planned_steps is None else f"{line.steps}/{line.planned_steps}"
    star = "*" if line.simulated else ""
    val, test = ("-" if value is None else f"{value:.3f}{star}" for value in (line.val, line.test))
    calls = "-" if line.calls is None else f"{line.calls:,}"
    cost = "-" if line.calls is None else "unknown" if line.usd is None else money(line.usd)
    when = datetime.fromtimestamp(line.changed).strftime("%Y-%m-%d %H:%M")
    return line.name, line.state, steps, val, test, calls, cost, size(line.bytes), when


def _total(sizes: Collection[int]) -> str:
    return f"{counted(len(sizes), 'run')}, {size(sum(sizes))}"


def size(count: int) -> str:
    """As in `950 B`, `12 kB` or `3.4 MB`."""
    if count < 1_000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1e3:.0f} kB"
    return f"{count / 1e6:.1f} MB" if count < 1_000_000_000 else f"{count / 1e9:.1f} GB"
