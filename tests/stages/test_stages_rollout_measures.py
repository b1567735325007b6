"""What an attempt took and cost, and waiting for a place to make it."""

import asyncio
from contextlib import AbstractAsyncContextManager
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


async def test_a_cost_is_unknown_without_a_price_and_for_calls_that_are_not_the_target_s() -> None:
    class Own(ToldAgent):
        @property
        def metered(self) -> bool:
            return False

    unpriced = make_rollout(ToldAgent(lambda *_: USED))
    unmetered = replace(make_rollout(Own(lambda *_: USED)), cost=lambda *_: 1.0)
    for rollout in (unpriced, unmetered):
        assert (await rollout.attempt(ONE, SKILL, 0)).trajectory.usd is None


async def test_an_attempt_that_is_known_keeps_what_it_took() -> None:
    journal = MemoryJournal()
    agent = ToldAgent(knows("t0"))
    first = await make_rollout(agent, journal=journal).attempt(ONE, SKILL, 0)
    again = await make_rollout(agent, journal=journal).attempt(ONE, SKILL, 0)
    assert again == first
    assert len(agent.attempts) == 1


async def test_views_and_scores_do_not_depend_on_the_clock() -> None:
    env, journal = AnswersEnv(), MemoryJournal()
    agent = CallsAgent(knows("t0"))  # attempted again each time: only its calls are facts
    attempts = [await make_rollout(agent, env, journal=journal).attempt(ONE, SKILL, 0) for _ in range(2)]
    assert len(env.scored) == 1
    shown = to_jsonable_python(attempts[0].trajectory, context={"view": True})
    assert {"seconds", "usd"}.isdisjoint(shown)
    assert attempts[0].trajectory.model_dump(mode="json", context={"view": True}, exclude={"seconds"}) == shown
    assert "seconds" in to_jsonable_python(attempts[0].trajectory)


async def test_waiting_for_a_place_takes_nothing_of_the_time_of_an_attempt() -> None:
    place = asyncio.Semaphore(1)

    class Narrow(ToldAgent):
        def room(self) -> AbstractAsyncContextManager[object]:
            return place

    agent = Narrow(knows("t0"))
    async with place:
        attempt = asyncio.ensure_future(make_rollout(agent, attempt_seconds=1).attempt(ONE, SKILL, 0))
        await asyncio.sleep(1.5)
        assert agent.attempts == []
    assert (await attempt).outcome == "completed"


async def test_the_place_is_free_again_while_the_attempt_is_scored() -> None:
    place = asyncio.Semaphore(1)
    free: list[bool] = []

    class Narrow(ToldAgent):
        def room(self) -> AbstractAsyncContextManager[object]:
            return place

    def score(*_: object) -> float:
        free.append(not place.locked())
        return 1.0

    attempt = await make_rollout(Narrow(knows("t0")), AnswersEnv(score)).attempt(ONE, SKILL, 0)
    assert (attempt.outcome, free) == ("completed", [True])
