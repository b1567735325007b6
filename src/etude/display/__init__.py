"""Progress for a person: lines in a terminal, a box in a notebook. Both draw the same story."""

import asyncio
import functools
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from etude.concurrency import synchronous
from etude.display.console import is_live, open_console
from etude.display.notebook import NotebookBox
from etude.protocols import Sink

P = ParamSpec("P")
R = TypeVar("R")

SECONDS = 0.25
"""Between two drawings of a box."""


def watched() -> bool:
    """A person sees what is shown: stderr is a terminal, or this is a notebook."""
    return _notebook() is not None or is_live(sys.stderr)


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
    notebook = _notebook()
    if not progress:
        yield ()
    elif notebook is None:
        with open_console() as console:
            yield (console,)
    else:
        box = NotebookBox(notebook)

        async def draw() -> None:
            while True:
                await asyncio.sleep(SECONDS)
                box.draw()

        drawing = asyncio.create_task(draw())
        try:
            yield (box,)
        finally:
            drawing.cancel()
            box.close()


def _notebook() -> Any | None:
    """What displays in the notebook that this runs in; None elsewhere."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else import_module("IPython.display")
