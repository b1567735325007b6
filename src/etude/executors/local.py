"""The default executor: asyncio tasks in this process."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Self

from etude.concurrency import give_up
from etude.config import Section, parse
from etude.protocols import Executor, R, T


class LocalOptions(Section):
    """Options of the local executor: none."""


class LocalExecutor(Executor):
    """Runs at most `concurrency` pieces of work at the same time, over all streams together."""

    def __init__(self, concurrency: int = 16) -> None:
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._running: set[asyncio.Task[Any]] = set()
        self._left: set[asyncio.Task[Any]] = set()

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, concurrency: int, where: str) -> Self:
        """The executor for the settings of the `executor` section. Raises ConfigError: an unknown option."""
        parse(LocalOptions, dict(options), where=where)
        return cls(concurrency)

    async def stream(
        self, work: Callable[[T], Awaitable[R]], items: Sequence[T]
    ) -> AsyncGenerator[tuple[int, R], None]:
        """Yield (index, result) as results arrive. An exception of `work` is raised here; what else is under way
        then continues in the background."""
        started: set[int] = set()

        async def one(index: int) -> R:
            async with self._slots:
                started.add(index)
                return await work(items[index])

        running: dict[asyncio.Task[R], int] = {}
        ended: asyncio.Queue[asyncio.Task[R]] = asyncio.Queue()
        waiting = iter(range(len(items)))
        try:
            while True:
                # Only as many tasks as can run: a hundred thousand items must not become as many tasks.
                while len(running) < self._concurrency and (index := next(waiting, None)) is not None:
                    task = asyncio.create_task(one(index))
                    running[task] = index
                    self._running.add(task)
                    task.add_done_callback(self._running.discard)
                    task.add_done_callback(ended.put_nowait)
                if not running:
                    return
                done = [await ended.get()]
                while not ended.empty():
                    done.append(ended.get_nowait())
                for task in sorted(done, key=running.__getitem__):
                    index = running.pop(task)
                    started.discard(index)
                    yield index, task.result()
        finally:
            for task, index in running.items():
                if index in started:
                    self._left.add(task)
                else:
                    task.cancel()

    async def drain(self) -> None:
        """Wait for what was left running. Its results are facts already; its errors were raised or do not matter."""
        left, self._left = self._left, set()
        await asyncio.gather(*left, return_exceptions=True)

    async def cancel(self) -> None:
        """End all work under way, of open streams as well."""
        ended, self._left = self._running | self._left, set()
        await give_up(*ended)
