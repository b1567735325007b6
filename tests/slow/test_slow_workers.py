"""Workers that are lost, or whose event loop something keeps."""

import asyncio
import os
import random
import signal

import pytest
from far_parts import SKILL, ProcessExecutor, echo, rollout_with, todo

from etude.stages.shared.rollout import PlannedAttempt
from etude.store.journal import SqliteJournal

pytestmark = pytest.mark.slow


async def test_a_worker_that_does_not_end_a_cancelled_attempt_is_replaced(tmp_path) -> None:
    told: list[str] = []
    async with rollout_with(ProcessExecutor(2, 1), echo, told=told) as rollout:
        blocking, next_one = todo(f"block {tmp_path / 'blocks'}", "answer x")
        stuck = asyncio.create_task(rollout.attempt(blocking, SKILL, 0))
        while not (tmp_path / "blocks").exists():
            await asyncio.sleep(0.01)
        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)
        made = await rollout.attempt(next_one, SKILL, 0)
    assert made.outcome == "completed"
    assert told


async def test_killed_at_random_moments_nothing_is_lost(tmp_path) -> None:
    asked: list[str] = []
    executor = ProcessExecutor(8, 3)
    journal = SqliteJournal(tmp_path / "journal.db")

    async def answer(name: str, text: str) -> str:
        async def work() -> str:
            asked.append(text)
            await asyncio.sleep(0.05)
            return text

        return await journal.once("reply", text, str, work)

    async def kill(moments: random.Random) -> None:
        for _ in range(4):
            await asyncio.sleep(moments.uniform(0.1, 0.5))
            if executor.running:
                os.kill(moments.choice(executor.running).pid, signal.SIGKILL)

    async with rollout_with(executor, answer) as rollout:
        killing = asyncio.create_task(kill(random.Random(1)))
        inputs = [f"ask {number}" for number in range(150)]
        planned = [PlannedAttempt(task, SKILL) for task in todo(*inputs)]
        made = {index: attempt async for index, attempt in rollout.stream(planned, "train")}
        await killing
    journal.close()
    assert [made[number].trajectory.answer for number in range(150)] == [*map(str, range(150))]
    assert len(asked) == len(set(asked))
