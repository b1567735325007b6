"""Virtual time: a clock that jumps to the next event, so that waiting takes none and the clock counts what waited.

If every request takes one unit and all that may run side by side does, the time at the end is the longest chain of
requests that waited for each other. While a thread of etude works, the clock stands still.
"""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from etude import ChatModel, ChatRequest, Reply
from etude.protocols import Wrapper

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Where nothing can go on before the next timer, its clock is at that timer."""

    def __init__(self) -> None:
        super().__init__()
        self._at = 0.0
        look: Any = self._selector.select  # type: ignore[attr-defined]

        def select(timeout: float | None = None) -> Any:
            if not timeout or timeout < 0:
                return look(timeout)
            found = look(0)
            while not found and any(thread.name.startswith("etude-") for thread in threading.enumerate()):
                found = look(0.001)
            if not found:
                self._at += timeout
            return found

        self._selector.select = select  # type: ignore[attr-defined]

    def time(self) -> float:
        return self._at


class Timed(Wrapper):
    """A model of which each answer takes one unit of time."""

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model)
        self.calls = 0

    async def complete(self, request: ChatRequest) -> Reply:
        self.calls += 1
        await asyncio.sleep(1)
        return await super().complete(request)


def in_virtual_time(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """The result of the work, and the time that it took."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(work), loop.time()
    finally:
        loop.close()
