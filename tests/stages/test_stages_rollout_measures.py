"""What an attempt took and cost, and waiting for a place to make it."""

import asyncio
from dataclasses import replace

from pydantic_core import to_jsonable_python
from stages_doubles import AnswersEnv, CallsAgent, ToldAgent, knows, make_rollout, tasks

from etude.records import Skill, Trajectory, Usage
from memory_doubles import MemoryJournal

SKILL = Skill(text="Be exact.")
ONE = tasks(1)[0]
USED = Trajectory(answer="0", usage=Usage(input_tokens=30, output_tokens=12))


async def test_a_trajectory_says_how_long_it_took_and_what_it_cost() -> None:
    async def slowly() -> Trajectory:
        await asyncio.sleep(0.02)
        return USED

    rollout = replace(make_rollout(ToldAgent(lambda *_: slowly())), cost=lambda target, usage, _: usage.total / 100)
    trajectory = (await rollout.attempt(ONE, SKILL, 0)).trajectory
    assert trajectory.usd == 0.42
    assert trajectory.seconds is not None
    assert trajectory.seconds >= 0.02


async def test_views_and_scores_do_not_depend_on_the_clock() -> None:
    env, journal = AnswersEnv(), MemoryJournal()
    agent = CallsAgent(knows("t0"))  # attempted again each time: only its calls are facts
    attempts = [await make_rollout(agent, env, journal=journal).attempt(ONE, SKILL, 0) for _ in range(2)]
    assert len(env.scored) == 1
    shown = to_jsonable_python(attempts[0].trajectory, context={"view": True})
    assert {"seconds", "usd"}.isdisjoint(shown)
    assert attempts[0].trajectory.model_dump(mode="json", context={"view": True}, exclude={"seconds"}) == shown
    assert "seconds" in to_jsonable_python(attempts[0].trajectory)
