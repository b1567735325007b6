"""The live part of the console: where the run is, below the lines that stay."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.text import Text

from etude.display.console import Printer
from etude.display.progress import Progress
from etude.readable import duration, fitted, visible

REFRESHES_PER_SECOND = 4
BAR_WIDTH = 30
_NARROWEST = 5


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

        def printer(text: str, style: str | None) -> None:
            for part in fitted(text, console.width):
                console.print(part, style=style)

        yield printer


def status(progress: Progress) -> RenderableType:
    """At most four lines: the stage with its bar; how training goes; time and spend; the last failed call, while it
    lasts. What does not fit the width is cut."""
    if progress.story.shown is None and not progress.story.name:
        return _line("checking data and settings ...", "dim")
    lines: list[RenderableType] = [_Head(progress)]
    for numbers in (progress.scores, _spend(progress)):
        lines += [_line(numbers, "dim")] if numbers else []
    if progress.story.last_failure:
        lines.append(_line(f"last call failed: {visible(progress.story.last_failure)}", "yellow"))
    return Group(*lines)


class _Head:
    """The name, the stage, its bar and its count; the bar has what room is left. It shows without colours too."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        story, width = self._progress.story, options.max_width
        name = Text(visible(story.name), style="bold")
        name.truncate(width // 3, overflow="ellipsis")
        parts: list[Text | str] = [name, story.place or "..."]
        stage = story.shown
        count = "" if stage is None else stage.so_far
        room = min(BAR_WIDTH, width - sum(cell_len(str(part)) + 2 for part in (*parts, count)))
        if stage is not None and stage.total and room >= _NARROWEST:
            full = room * min(stage.done, stage.total) // stage.total
            done, rest = ("#", ".") if options.ascii_only else ("█", "░")
            parts.append(Text.assemble((done * full, "green"), (rest * (room - full), "dim")))
        line = Text("  ", no_wrap=True, overflow="ellipsis").join(
            [Text.assemble(part) for part in (*parts, count) if part]
        )
        line.truncate(width, overflow="ellipsis")
        yield line


def _line(text: str, style: str) -> Text:
    return Text(" ".join(text.splitlines()), style=style, no_wrap=True, overflow="ellipsis")


def _spend(progress: Progress) -> str:
    return "  ".join(
        part for part in (f"{duration(progress.elapsed)} elapsed", progress.time_left, progress.spend) if part
    )
