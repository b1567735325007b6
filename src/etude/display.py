"""Progress for a person who works from Python: lines at the foot of a terminal, or a box in a notebook."""

import asyncio
import functools
import os
import shutil
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ParamSpec, TextIO, TypeVar

from etude.concurrency import synchronous
from etude.events import Event
from etude.figures import duration
from etude.progress import Progress, told
from etude.protocols import Sink
from etude.records.html import plain, progress_html

P = ParamSpec("P")
R = TypeVar("R")

SECONDS = 0.25
"""Between two drawings."""
KEPT = 8
"""Lines that a box shows."""
_CLEAR = "\r\x1b[K"


def watched() -> bool:
    """A person sees what is shown: stderr is a terminal, or this is a notebook."""
    return _notebook() is not None or _terminal(sys.stderr)


def seen(work: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """A function like `work` for synchronous code, with progress where a person watches unless it is said."""

    @functools.wraps(work)
    def asked(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        kwargs.setdefault("progress", watched())
        return work(*args, **kwargs)

    return synchronous(asked)


@contextmanager
def shown(progress: bool) -> Generator[tuple[Sink, ...]]:
    """What shows a run while it is under way: one sink, or none without `progress`. Called in the event loop."""
    if not progress:
        yield ()
        return
    notebook = _notebook()
    display = NotebookBox(notebook) if notebook is not None else TerminalLines(sys.stderr)

    async def draw() -> None:
        while True:
            await asyncio.sleep(SECONDS)
            display.draw()

    drawing = asyncio.create_task(draw())
    try:
        yield (display,)
    finally:
        drawing.cancel()
        display.close()


class Watcher:
    """A sink that gathers what a person wants to know."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.told: list[str] = []
        """What was decided, and what a person should know, as lines."""

    def emit(self, event: Event) -> None:
        """Take one event."""
        self.progress.take(event)
        text = told(event, self.progress.story)
        line = f"{duration(self.progress.elapsed):>7}  {plain(' '.join(text.split()))}"
        if text and (not self.told or self.told[-1][9:] != line[9:]):
            self.told.append(line)

    @property
    def place(self) -> str:
        """In which stage it is and how far; empty between two."""
        story = self.progress.story
        count = "" if story.shown is None else story.shown.count
        return "  ".join(part for part in (story.place, count) if part)

    @property
    def numbers(self) -> str:
        """How training goes, what was used, how long it takes."""
        state = self.progress
        parts = (state.scores, f"{duration(state.elapsed)} elapsed", state.time_left, state.spend)
        return "  ".join(part for part in parts if part)


class TerminalLines(Watcher):
    """In a terminal: what was told stays, the last line says where the run is. Cut to the width, as it must not wrap.
    Nothing more is written once the reader is gone."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._written = 0

    def draw(self) -> None:
        """Write what is new, and the last line again."""
        columns = shutil.get_terminal_size().columns - 1
        place = "  ".join(part for part in (plain(self.progress.story.name), self.place) if part)
        self._write(f"{place or 'checking data and settings ...'}  {self.numbers}"[:columns])

    def close(self) -> None:
        """Leave what was told."""
        self._write("")

    def _write(self, last: str) -> None:
        new = "".join(f"{line}\n" for line in self.told[self._written :])
        self._written = len(self.told)
        try:
            self._stream.write(f"{_CLEAR}{new}{last}")
            self._stream.flush()
        except (OSError, ValueError):
            pass


class NotebookBox(Watcher):
    """In a notebook: one output that is replaced."""

    def __init__(self, notebook: Any) -> None:
        super().__init__()
        self._notebook = notebook
        self._handle = notebook.display(notebook.HTML(self._html("checking data and settings ...")), display_id=True)

    def draw(self, otherwise: str = "...") -> None:
        """Show how it stands: in which stage, otherwise what is given."""
        self._handle.update(self._notebook.HTML(self._html(otherwise)))

    def close(self) -> None:
        """Show how it ended."""
        self.draw("ended")

    def _html(self, otherwise: str) -> str:
        story = self.progress.story
        share = story.shown.done / story.shown.total if story.shown is not None and story.shown.total else None
        return progress_html(story.name, self.place or otherwise, share, self.numbers, self.told[-KEPT:])


def _terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _notebook() -> Any | None:
    """What displays in the notebook that this runs in; None elsewhere."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else import_module("IPython.display")
