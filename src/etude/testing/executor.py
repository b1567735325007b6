"""The contract of executors. Inherit it in a test class and say how to make one."""

import asyncio
from abc import abstractmethod
from collections import Counter
from contextlib import aclosing
from typing import Any, cast

import pytest

from etude.concurrency import Threads
from etude.protocols import Agent, Ask, Environment, Executor, Here, Recipe
from etude.records import Score, Skill, Split, Task, Trajectory


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
        await first_of(executor, work, 50)
        await executor.drain()
        assert sorted(finished) == sorted(started)
        assert len(started) < 10

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
        await first_of(executor, work, 2)
        await asyncio.wait_for(executor.cancel(), 60)
        assert ended == [1]

    async def test_attempts_where_it_places_them_are_those_of_this_process(self) -> None:
        asked: list[str] = []

        async def answer(name: str, text: str) -> str:
            asked.append(f"{name} {text}")
            if text == "wait for ever":
                waits.set()
                await asyncio.Event().wait()
            return f"{text}!"

        waits, (agent, env) = asyncio.Event(), _build("", answer)
        recipe = Recipe(
            builder=f"{__name__}:_build",
            order="",
            answer=answer,
            fingerprints=(agent.fingerprint(), env.fingerprint()),
            secret_variables=(),
        )
        skill, executor = Skill(text="be brief"), self.make_executor(4)

        async with executor.placed(Here(agent, env, Threads(1)), lambda: recipe) as place:

            async def made(text: str) -> tuple[str, float]:
                task = Task(id="a", input=text, gold="")
                async with place.room():
                    trajectory = await place.attempt(task, skill, 3)
                return trajectory.answer, (await place.score(task, trajectory)).hard

            assert await asyncio.gather(made("one"), made("two")) == [
                ("one, be brief, 3!", 0.17),
                ("two, be brief, 3!", 0.17),
            ]
            with pytest.raises(Exception, match="it is broken") as broken:
                await made("broken")
            assert type(broken.value).__name__ == "ValueError"
            race = asyncio.create_task(made("for ever"))
            await asyncio.wait_for(waits.wait(), 60)
            race.cancel()
            with pytest.raises(asyncio.CancelledError):
                await race
            assert await made("three") == ("three, be brief, 3!", 0.19)
        assert sorted(asked) == [
            "target one, be brief, 3", "target three, be brief, 3", "target two, be brief, 3", "target wait for ever",
        ]  # fmt: skip


class _Asks(Agent):
    name = "asks"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        if task.input == "broken":
            raise ValueError("it is broken")
        words = "wait for ever" if task.input == "for ever" else f"{task.input}, {skill.text}, {trial}"
        return Trajectory(answer=await self._ask("target", words))


class _Lengths(Environment):
    name = "lengths"

    def tasks(self, split: Split) -> tuple[Task, ...]:
        del split
        return ()

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        del task
        return Score(hard=len(trajectory.answer) / 100, soft=0)


def _build(order: str, ask: Ask) -> tuple[Agent, Environment]:
    """Agent and environment in whatever process makes the attempts."""
    del order
    return _Asks(ask), _Lengths()


async def first_of(executor: Executor, work: Any, items: int) -> None:
    """Take one result of a stream and close it."""
    stream = cast(Any, executor.stream(work, range(items)))
    async with aclosing(stream) as results:
        async for _ in results:
            break
