import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_time import in_virtual_time

from etude.errors import TransientError
from etude.models import Limited
from etude.records import ChatRequest, Reply, user
from etude.testing import ScriptedModel

BUSY = TransientError("HTTP 429", rate_limited=True)


class Desk:
    """Keeps requests until they are answered one by one, by text."""

    def __init__(self) -> None:
        self.open: dict[str, asyncio.Future[Reply | TransientError]] = {}

    async def __call__(self, request: ChatRequest) -> Reply | TransientError:
        text = request.messages[0].text
        self.open[text] = asyncio.get_running_loop().create_future()
        try:
            return await self.open[text]
        finally:
            del self.open[text]

    def answer(self, text: str, line: Reply | TransientError | None = None) -> None:
        if not self.open[text].done():
            self.open[text].set_result(Reply(text=text) if line is None else line)


def send(model: Limited, *texts: str) -> list[asyncio.Task[Reply]]:
    return [asyncio.ensure_future(model.complete(ChatRequest(messages=(user(text),)))) for text in texts]


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_requests_beyond_the_limit_wait_in_order():
    desk = Desk()
    model = Limited(ScriptedModel(desk), 2)
    tasks = send(model, "a", "b", "c", "d")
    await settle()
    assert (list(desk.open), model.limit, model.in_flight) == (["a", "b"], 2, 2)
    desk.answer("b")
    await settle()
    assert list(desk.open) == ["a", "c"]
    for text in ("a", "c"):
        desk.answer(text)
    await settle()
    desk.answer("d")
    assert [(await task).text for task in tasks] == ["a", "b", "c", "d"]
    assert model.in_flight == 0


async def test_a_run_begins_with_as_many_requests_as_it_may_have():
    desk = Desk()
    model = Limited(ScriptedModel(desk), 100)
    tasks = send(model, *map(str, range(101)))
    await settle()
    assert len(desk.open) == 100
    for task in tasks:
        task.cancel()


async def test_the_slot_of_a_refused_request_rests_before_it_is_used_again():
    desk = Desk()
    model = Limited(ScriptedModel(desk), 2)
    tasks = send(model, *"abc")
    await settle()
    desk.answer("a", BUSY)
    await settle()
    assert (list(desk.open), model.in_flight) == (["b"], 2)
    desk.answer("b")
    await settle()
    assert list(desk.open) == ["c"]
    desk.answer("c")
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_other_failures_leave_the_limit_as_it_is():
    model = Limited(ScriptedModel(lambda request: TransientError("HTTP 500")), 4)
    with pytest.raises(TransientError):
        await send(model, "x")[0]
    assert (model.limit, model.in_flight) == (4, 0)


@pytest.mark.parametrize(("asked", "pause"), [(5.0, 5.0), (9000.0, 60.0)])
def test_nothing_is_sent_before_the_server_wants_it(asked: float, pause: float):
    wait = TransientError("HTTP 429", rate_limited=True, retry_after=asked)

    async def play() -> None:
        model = Limited(ScriptedModel([wait, "fine"]), 4)
        with pytest.raises(TransientError):
            await send(model, "a")[0]
        assert (await send(model, "b")[0]).text == "fine"

    assert in_virtual_time(play())[1] == pause


async def test_a_cancelled_waiter_leaves_the_queue():
    desk = Desk()
    model = Limited(ScriptedModel(desk), 1)
    first, second, third = send(model, "a", "b", "c")
    await settle()
    second.cancel()
    desk.answer("a")
    await settle()
    assert list(desk.open) == ["c"]
    desk.answer("c")
    assert (await third).text == "c"
    assert (await first).text == "a"
    assert model.in_flight == 0


async def test_a_turn_that_comes_together_with_a_cancellation_is_passed_on():
    desk = Desk()
    model = Limited(ScriptedModel(desk), 1)
    first, second, third = send(model, "a", "b", "c")
    await settle()
    desk.answer("a")
    asyncio.get_running_loop().call_soon(second.cancel)  # after the turn was given, before the waiter knows
    await settle()
    assert first.done()
    assert second.cancelled()
    desk.answer("c")
    assert (await third).text == "c"
    assert model.in_flight == 0


async def test_a_request_that_is_cancelled_in_flight_makes_room():
    desk = Desk()
    model = Limited(ScriptedModel(desk), 1)
    first, second = send(model, "a", "b")
    await settle()
    first.cancel()
    await settle()
    desk.answer("b")
    assert (await second).text == "b"


@settings(max_examples=60, deadline=None)
@given(most=st.integers(1, 5), steps=st.lists(st.tuples(st.sampled_from("sbfc"), st.integers(0, 99)), max_size=60))
def test_whatever_happens_every_request_ends_and_the_limit_holds(most: int, steps: list[tuple[str, int]]):
    async def play() -> None:
        desk = Desk()
        model = Limited(ScriptedModel(desk), most)
        tasks: list[asyncio.Task[Reply]] = []
        for number, (step, at) in enumerate(steps):
            names = list(desk.open)
            if step == "s":
                tasks += send(model, str(number))
            elif step == "c" and tasks:
                tasks[at % len(tasks)].cancel()
            elif names:
                desk.answer(names[at % len(names)], BUSY if step == "b" else None)
            if at % 3:
                await settle()
            assert len(desk.open) <= model.in_flight <= most
            assert model.limit == most
        while not all(task.done() for task in tasks):
            await asyncio.sleep(60)  # slots rest
            for text in list(desk.open):
                desk.answer(text)
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(60)
        last = send(model, "last")
        await settle()
        assert (list(desk.open), model.in_flight) == (["last"], 1)
        desk.answer("last")
        await last[0]

    in_virtual_time(play())
