import asyncio

import pytest

from etude.errors import TransientError
from etude.records import ChatRequest, Reply, Usage, user
from etude.testing import ScriptedModel
from memory_doubles import FreeSpend, MemoryJournal, Reservation, Settlement

HELLO = ChatRequest(messages=(user("Hello"),))


async def test_a_script_is_followed_line_by_line_and_has_an_end():
    model = ScriptedModel(["text", Reply(text="reply"), TransientError("HTTP 500", retry_after=3)])
    assert (await model.complete(HELLO)).text == "text"
    assert (await model.complete(HELLO)).text == "reply"
    with pytest.raises(TransientError) as caught:
        await model.complete(HELLO)
    assert caught.value.retry_after == 3
    with pytest.raises(AssertionError, match="the script ends after 3 lines"):
        await model.complete(HELLO)
    assert model.requests == [HELLO] * 4


async def test_a_script_may_be_a_function_plain_or_async():
    async def slowly(request: ChatRequest) -> str:
        await asyncio.sleep(0)
        return request.messages[0].text

    assert (await ScriptedModel(slowly).complete(HELLO)).text == "Hello"
    assert (await ScriptedModel(lambda request: Reply(text="x")).complete(HELLO)).text == "x"


async def test_closing_is_written_down():
    model = ScriptedModel([], max_output_tokens=3)
    assert (model.closed, model.max_output_tokens, model.endpoint) == (False, 3, "the script")
    await model.aclose()
    assert model.closed


async def test_a_fact_is_made_once_even_when_asked_for_twice_at_once():
    journal, made = MemoryJournal(), list[int]()

    async def work() -> Usage:
        made.append(1)
        await asyncio.sleep(0)
        return Usage(input_tokens=len(made))

    facts = await asyncio.gather(*(journal.once("kind", {"a": 1}, Usage, work) for _ in range(3)))
    assert facts == [Usage(input_tokens=1)] * 3
    assert await journal.once("other", {"a": 1}, Usage, work) == Usage(input_tokens=2)
    assert journal.keys == [("kind", {"a": 1}), ("other", {"a": 1})]


async def test_work_that_raises_leaves_nothing_behind():
    journal = MemoryJournal()

    async def fail() -> int:
        raise TransientError("no")

    async def work() -> int:
        return 5

    with pytest.raises(TransientError):
        await journal.once("kind", 1, int, fail)
    assert await journal.once("kind", 1, int, work) == 5


async def test_the_account_writes_everything_down():
    spend = FreeSpend()
    first, second = await spend.reserve("target", 10, None), await spend.reserve("judge", 20, 0.5)
    await spend.settle(second, Usage(input_tokens=1), 0.1)
    await spend.settle(first, None, None)
    assert spend.reserved == [Reservation("target", 10, None), Reservation("judge", 20, 0.5)]
    assert spend.settled == [Settlement(second, Usage(input_tokens=1), 0.1), Settlement(first, None, None)]
