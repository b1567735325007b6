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
