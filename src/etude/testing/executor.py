"""The contract of executors. Inherit it in a test class and say how to make one."""

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import pytest

from etude.protocols import Executor


class ExecutorContract:
    """What every executor must do.

    class TestMine(ExecutorContract):
        def make_executor(self, concurrency): return MyExecutor(concurrency)
    """

    pytestmark = pytest.mark.asyncio

    @abstractmethod
    def make_executor(self, concurrency: int) -> Executor:
        """A new executor that runs at most `concurrency` pieces of work at the same time."""
        raise NotImplementedError

    @pytest.mark.parametrize(("items", "concurrency"), [(0, 2), (7, 1), (200, 8)])
    async def test_every_item_is_worked_on_once_and_comes_back_with_its_index(
        self, items: int, concurrency: int
    ) -> None:
        done: Counter[int] = Counter()

        async def square(number: int) -> int:
            done[number] += 1
            await asyncio.sleep(0)
            return number * number

        results = [pair async for pair in self.make_executor(concurrency).stream(square, range(items))]
        assert sorted(results) == [(number, number * number) for number in range(items)]
        assert done == Counter(range(items))

    async def test_results_come_as_they_arrive_and_a_straggler_holds_up_no_other(self) -> None:
        others_are_out = asyncio.Event()

        async def work(number: int) -> int:
            if number == 0:
                await asyncio.wait_for(others_are_out.wait(), 60)
            return number

        order: list[int] = []
        async for index, _ in self.make_executor(2).stream(work, range(20)):
            order.append(index)
            if len(order) == 19:
                others_are_out.set()
        assert order[-1] == 0

    @pytest.mark.parametrize("concurrency", [1, 3])
    async def test_no_more_than_the_limit_run_at_once_over_all_streams(self, concurrency: int) -> None:
        running = most = 0

        async def work(_: int) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1

        executor = self.make_executor(concurrency)

        async def consume() -> None:
            async for _ in executor.stream(work, range(10)):
                pass

        await asyncio.gather(consume(), consume(), consume())
        assert most == concurrency

    async def test_an_error_is_raised_others_under_way_finish_and_nothing_new_starts(self) -> None:
        started: list[int] = []
        finished: list[int] = []

        async def work(number: int) -> None:
            started.append(number)
            if number == 0:
                raise ValueError("broken")
            await asyncio.sleep(0.01)
            finished.append(number)

        executor = self.make_executor(3)
        with pytest.raises(ValueError, match="broken"):
            async for _ in executor.stream(work, range(50)):
                pass
        await executor.drain()
        assert sorted(finished) == sorted(set(started) - {0})
        assert len(started) < 10

    async def test_closing_drops_what_has_not_started_and_drain_waits_for_what_has(self) -> None:
        started: list[int] = []
        finished: list[int] = []

        async def work(number: int) -> None:
            started.append(number)
            await asyncio.sleep(0 if number == 0 else 0.01)
            finished.append(number)

        executor = self.make_executor(3)
        await _first_of(executor, work, 50)
        await executor.drain()
        assert sorted(finished) == sorted(started)
        assert len(started) < 10

    async def test_when_the_reader_of_a_stream_is_cancelled_nothing_of_it_starts_any_more(self) -> None:
        free = asyncio.Event()
        begun = asyncio.Event()
        started: list[int] = []

        async def hold(_: int) -> None:
            begun.set()
            await asyncio.wait_for(free.wait(), 60)

        async def work(number: int) -> None:
            started.append(number)

        async def read(stream: AsyncIterator[tuple[int, None]]) -> None:
            async for _ in stream:
                pass

        executor = self.make_executor(1)
        first = asyncio.create_task(read(executor.stream(hold, range(1))))
        await asyncio.wait_for(begun.wait(), 60)
        second = asyncio.create_task(read(executor.stream(work, range(5))))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        free.set()
        await first
        await executor.drain()
        assert started == []

    async def test_cancel_ends_what_was_left_running_and_waits_for_its_end(self) -> None:
        begun = asyncio.Event()
        ended: list[int] = []

        async def work(number: int) -> None:
            if number == 0:
                await asyncio.wait_for(begun.wait(), 60)
                return
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                ended.append(number)

        executor = self.make_executor(2)
        await _first_of(executor, work, 2)
        await asyncio.wait_for(executor.cancel(), 60)
        assert ended == [1]

    async def test_errors_of_work_left_running_do_not_come_up_again(self) -> None:
        async def work(number: int) -> None:
            await asyncio.sleep(number / 1000)
            raise ValueError(f"broken {number}")

        executor = self.make_executor(3)
        with pytest.raises(ValueError, match="broken 0"):
            await _first_of(executor, work, 3)
        await executor.drain()
        await executor.drain()

    async def test_after_an_error_and_after_cancel_it_takes_new_work(self) -> None:
        async def fail(number: int) -> int:
            raise ValueError("broken")

        async def work(number: int) -> int:
            return number

        executor = self.make_executor(2)
        await asyncio.wait_for(executor.drain(), 60)  # there is nothing to wait for
        for _ in range(3):
            with pytest.raises(ValueError, match="broken"):
                await _first_of(executor, fail, 5)
            await executor.cancel()
            assert len([pair async for pair in executor.stream(work, range(5))]) == 5


async def _first_of(executor: Executor, work: Any, items: int) -> None:
    """Take one result of a stream and close it."""
    stream = cast(Any, executor.stream(work, range(items)))
    async with aclosing(stream) as results:
        async for _ in results:
            break
