"""Progress for a person: live in a terminal, as lines elsewhere, as in a notebook."""

import functools
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from etude.concurrency import synchronous
from etude.display.console import is_live, open_console
from etude.protocols import Sink

P = ParamSpec("P")
R = TypeVar("R")


def watched() -> bool:
    """A person sees what is shown: stderr is a terminal, or this is a notebook."""
    return _in_notebook() or is_live(sys.stderr)


def seen(work: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """A function like `work` for synchronous code, with progress where a person watches unless it is said."""

    @functools.wraps(work)
    def asked(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        kwargs.setdefault("progress", watched())
        return work(*args, **kwargs)

    return synchronous(asked)


@contextmanager
def shown(progress: bool) -> Generator[tuple[Sink, ...]]:
    """What shows a run while it is under way: one sink, or none without `progress`."""
    if not progress:
        yield ()
        return
    with open_console() as console:
        yield (console,)


def _in_notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
