"""A worker whose event loop something keeps."""

import asyncio

import pytest
from far_parts import SKILL, ProcessExecutor, echo, rollout_with, todo

pytestmark = pytest.mark.slow


async def test_a_worker_that_does_not_end_a_cancelled_attempt_is_replaced() -> None:
    told: list[str] = []
    async with rollout_with(ProcessExecutor(2, 1), echo, told=told, limits={"attempt_seconds": 1}) as rollout:
        blocking, next_one = todo("block 600", "answer x")
        stuck = asyncio.create_task(rollout.attempt(blocking, SKILL, 0))
        assert "limits.attempt_seconds" in (await asyncio.wait_for(stuck, 60)).reason
        made = await asyncio.wait_for(rollout.attempt(next_one, SKILL, 0), 60)
    assert made.outcome == "completed"
    assert told
