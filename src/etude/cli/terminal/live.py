"""The live part of the console: where the run is, below the lines that stay."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from etude.cli.terminal.output import Printer
from etude.cli.terminal.progress import Progress, duration
from etude.cli.terminal.visible import visible

REFRESHES_PER_SECOND = 4
BAR_WIDTH = 30


@contextmanager
def open_live(progress: Progress, stream: TextIO) -> Generator[Printer]:
    """Show `progress` at the foot of a terminal, drawn again at a fixed rate whatever happens in between; yields what
    prints a line above it."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    with Live(
        console=console,
        get_renderable=lambda: status(progress),
        refresh_per_second=REFRESHES_PER_SECOND,
        transient=True,
        # What user code prints stands above the live lines, unless it goes elsewhere anyway.
        redirect_stdout=sys.stdout.isatty(),
    ):

        def printer(text: str, style: str | None = None) -> None:
            console.print(text, style=style)

        yield printer


def status(progress: Progress) -> RenderableType:
    """Two or three lines: the stage with its bar; scores, spend and time; the last failed call, while it lasts."""
    stage = progress.shown
    if stage is None and not progress.name:
        return Text("checking data and settings ...", style="dim")
    done, total = (0, 0) if stage is None else (stage.done, stage.total)
    row = Table.grid(padding=(0, 2))
    solved = f", {stage.solved} solved" if stage is not None and done else ""
    count = f"{done}/{total}{solved}" if total else ""
    bar = ProgressBar(total=total or None, completed=min(done, total), width=BAR_WIDTH)
    row.add_row(Text(visible(progress.name), style="bold"), progress.place or "...", bar, count)
    lines: list[RenderableType] = [row, Text(_numbers(progress), style="dim", no_wrap=True, overflow="ellipsis")]
    if progress.last_failure:
        lines.append(Text(f"last call failed: {visible(progress.last_failure)}", style="yellow", overflow="ellipsis"))
    return Group(*lines)


def _numbers(progress: Progress) -> str:
    parts = [progress.learnt]
    if progress.current is not None:
        parts.append(f"validation {progress.current:.3f}")
    if progress.best not in (None, progress.current):
        parts.append(f"best {progress.best:.3f}")
    parts += [progress.spend, f"{duration(progress.elapsed)} elapsed", progress.time_left]
    return "  ".join(part for part in parts if part)
