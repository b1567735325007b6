import asyncio
import itertools
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models_doubles import FakeTime

from etude.errors import TransientError
from etude.models import Limited
from etude.models.wrappers import limited
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


async def answer_all(desk: Desk, tasks: list[asyncio.Task[Reply]]) -> None:
    while not all(task.done() for task in tasks):
        await settle()
        for text in list(desk.open):
            desk.answer(text)


async def test_a_run_begins_with_as_many_requests_as_it_may_have_and_finds_its_limit_after_the_first_429():
    desk = Desk()
    model = Limited(ScriptedModel(desk), 100)
    first = send(model, *map(str, range(100)))
    await settle()
    assert len(desk.open) == 100
    for text in list(desk.open)[10:]:
        desk.answer(text, BUSY)
    await settle()
    assert model.limit == 16
    await answer_all(desk, first)
    await answer_all(desk, send(model, *map(str, range(16 + 32))))
    assert model.limit > 32
    busy = send(model, *map(str, range(50)))
    await settle()
    before = model.limit
    desk.answer("0", BUSY)
    await settle()
    assert model.limit == before // 2
    await answer_all(desk, busy)
    assert model.limit <= before // 2 + 2
    await asyncio.gather(*first, *busy, return_exceptions=True)


async def test_a_rate_limit_halves_the_limit_once_for_all_requests_in_flight():
    desk = Desk()
    model = Limited(ScriptedModel(desk), 8)
    tasks = send(model, *"abcdefgh", "i")
    await settle()
    for text in "abc":
        desk.answer(text, BUSY)
    await settle()
    assert model.limit == 4
    for text in "defgh":
        desk.answer(text)
    await settle()
    assert list(desk.open) == ["i"]
    desk.answer("i", BUSY)
    await settle()
    assert model.limit == 2
    assert sum(isinstance(result, TransientError) for result in await asyncio.gather(*tasks, return_exceptions=True))


async def test_after_a_rate_limit_the_limit_grows_by_one_with_each_round():
    desk = Desk()
    model = Limited(ScriptedModel(desk), 8)
    tasks = send(model, *map(str, range(40)))
    await settle()
    desk.answer("0", BUSY)
    await settle()
    limits = [model.limit]
    while desk.open:
        for text in list(desk.open):
            desk.answer(text)
        await settle()
        limits.append(model.limit)
    assert limits[0] == 4
    assert all(after - before in (0, 1) for before, after in itertools.pairwise(limits))
    assert limits[-1] > 4
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_limit_never_falls_below_one():
    model = Limited(ScriptedModel(lambda request: BUSY), 4)
    for _ in range(5):
        with pytest.raises(TransientError):
            await send(model, "x")[0]
    assert (model.limit, model.in_flight) == (1, 0)


async def test_other_failures_leave_the_limit_as_it_is():
    model = Limited(ScriptedModel(lambda request: TransientError("HTTP 500")), 4)
    with pytest.raises(TransientError):
        await send(model, "x")[0]
    assert (model.limit, model.in_flight) == (4, 0)


@pytest.mark.parametrize(("asked", "pause"), [(5.0, 5.0), (9000.0, 60.0)])
async def test_nothing_is_sent_before_the_server_wants_it(
    fake_time: FakeTime, asked: float, pause: float, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(limited, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": fake_time.sleep}))
    monkeypatch.setattr(limited, "time", SimpleNamespace(monotonic=fake_time.clock))
    wait = TransientError("HTTP 429", rate_limited=True, retry_after=asked)
    model = Limited(ScriptedModel([wait, "fine"]), 4)
    with pytest.raises(TransientError):
        await send(model, "a")[0]
    assert (await send(model, "b")[0]).text == "fine"
    assert fake_time.slept == [pause]


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
            assert len(desk.open) <= most
            assert 1 <= model.limit <= most
        while not all(task.done() for task in tasks):
            await settle()
            for text in list(desk.open):
                desk.answer(text)
        assert model.in_flight == 0
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(asyncio.wait_for(play(), 30))
