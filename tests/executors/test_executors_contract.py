"""The contract of executors, and what the built-in one does in addition."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from etude.executors.local import LocalExecutor
from etude.protocols import Executor
from etude.testing.executor import ExecutorContract, first_of


class TestLocalExecutor(ExecutorContract):
    def make_executor(self, concurrency: int) -> Executor:
        return LocalExecutor(concurrency)

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

    async def test_errors_of_work_left_running_do_not_come_up_again(self) -> None:
        async def work(number: int) -> None:
            await asyncio.sleep(number / 1000)
            raise ValueError(f"broken {number}")

        executor = self.make_executor(3)
        with pytest.raises(ValueError, match="broken 0"):
            await first_of(executor, work, 3)
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
                await first_of(executor, fail, 5)
            await executor.cancel()
            assert len([pair async for pair in executor.stream(work, range(5))]) == 5
