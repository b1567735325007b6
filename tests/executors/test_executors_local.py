"""The local executor: bounded, in arrival order, and nothing paid for is thrown away."""

import asyncio
from contextlib import aclosing

import pytest

from etude.executors.local import LocalExecutor


async def test_cancel_ends_the_work_of_streams_that_are_still_open() -> None:
    begun = asyncio.Event()
    ended: list[int] = []
    read: list[int] = []

    async def work(index: int) -> int:
        if index == 0:
            return index
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)  # to end takes a while, and cancel waits for it
            ended.append(index)
        return index

    async def consume(executor: LocalExecutor) -> None:
        async with aclosing(executor.stream(work, range(9))) as results:
            async for index, _ in results:
                read.append(index)

    executor = LocalExecutor(3)
    consumer = asyncio.create_task(consume(executor))
    await asyncio.wait_for(begun.wait(), 60)
    await asyncio.wait_for(executor.cancel(), 60)
    assert {1, 2} <= set(ended)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(consumer, 60)
    assert read == [0]


async def test_what_was_left_running_and_what_is_open_are_both_ended_by_cancel() -> None:
    started = 0
    ended: list[str] = []

    async def work(name: str) -> str:
        nonlocal started
        if name == "quick":
            return name
        started += 1
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)
        return name

    executor = LocalExecutor(3)
    async with aclosing(executor.stream(work, ["quick", "left"])) as results:
        async for _ in results:
            break
    still_open = executor.stream(work, ["open"])
    waiting = asyncio.ensure_future(anext(still_open))
    while started < 2:
        await asyncio.sleep(0)
    await asyncio.wait_for(executor.cancel(), 60)
    assert sorted(ended) == ["left", "open"]
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await executor.drain()


async def test_nothing_to_do_is_done_at_once() -> None:
    async def work(index: int) -> int:
        return index

    assert [pair async for pair in LocalExecutor(2).stream(work, [])] == []
