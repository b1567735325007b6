"""A request that takes long is sent once more: the first answer counts, both are billed. In virtual time."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest
from virtual_time import in_virtual_time

from etude.config import Price
from etude.errors import BudgetStop, ModelError, RejectedRequest, TransientError
from etude.models import Limited, Metered, Resending
from etude.protocols import ChatModel
from etude.records import ChatRequest, Reply, Role, Usage, user
from memory_doubles import FreeSpend
from rows import rows

BROKEN = TransientError("HTTP 500: boom")
USAGE = Usage(input_tokens=10, output_tokens=4, cached_tokens=5)
UNCACHED = Usage(input_tokens=10, output_tokens=4)


@dataclass
class Server(ChatModel):
    """Answers after a second, or as many as the request says; one named `slow` as told: each time (seconds, error or
    none)."""

    slow: list[tuple[float, ModelError | None]]
    sent: list[str] = field(default_factory=list[str])
    cancelled: int = 0
    most: int = 0
    under_way: int = 0
    name = "server"

    async def complete(self, request: ChatRequest) -> Reply:
        text = request.messages[0].text
        seconds, error = self.slow[self.sent.count(text)] if text == "slow" else (float(text), None)
        self.sent.append(text)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.under_way -= 1
        if error is not None:
            raise error
        return Reply(text=f"{text} {seconds:g}", usage=USAGE)


class OneMore(FreeSpend):
    """Has room for so many requests."""

    room = 10_000

    async def reserve(self, role: Role, tokens: int, usd: float | None) -> int:
        if len(self.reserved) >= self.room:
            raise BudgetStop("limits.calls is reached")
        return await super().reserve(role, tokens, usd)


def resending(server: Server, spend: FreeSpend, slots: int = 64) -> Resending:
    return Resending(Limited(Metered(server, "target", spend, Price(input=1, output=1), lambda event: None), slots))


def ask(model: Resending, text: str) -> Coroutine[Any, Any, Reply]:
    return model.complete(ChatRequest(messages=(user(text),)))


async def with_times(model: Resending, requests: int = 20) -> None:
    await asyncio.gather(*(ask(model, "1") for _ in range(requests)))


def slow_one(server: Server, spend: FreeSpend, slots: int = 64) -> tuple[str, float]:
    """The answer to a slow request, and the seconds it took."""

    async def play() -> tuple[str, float]:
        loop, model = asyncio.get_running_loop(), resending(server, spend, slots)
        await with_times(model)
        began = loop.time()
        return (await ask(model, "slow")).text, loop.time() - began

    return in_virtual_time(play())[0]


@rows(
    ("tries", "found", "billed"),
    [
        ([(60, None), (2, None)], ("slow 2", 4.0), [USAGE, UNCACHED]),
        ([(3, None), (60, None)], ("slow 3", 3.0), [USAGE, UNCACHED]),
        ([(1, None)], ("slow 1", 1.0), [USAGE]),  # in time
        ([(5, None), (1, BROKEN)], ("slow 5", 5.0), [None, USAGE]),
        ([(3, BROKEN), (4, None)], ("slow 4", 6.0), [None, USAGE]),
        ([(5, None), (1, RejectedRequest("HTTP 400"))], ("slow 5", 5.0), [None, USAGE]),
    ],
)
def test_the_first_answer_counts_and_all_requests_are_billed(
    tries: list[tuple[float, ModelError | None]], found: tuple[str, float], billed: list[Usage | None]
):
    server, spend = Server(tries), FreeSpend()
    assert slow_one(server, spend) == found
    assert server.sent.count("slow") == len(tries)
    assert server.cancelled == billed.count(UNCACHED)
    assert [each.usage for each in spend.settled[20:]] == billed
    assert (spend.abandoned, spend.withdrawn) == ([], [])


@rows(("others", "seconds"), [(0, 5.0), (2, 5.0), (3, 11.0)])
def test_the_last_few_are_sent_again_sooner(others: int, seconds: float):
    async def play() -> float:
        loop, model = asyncio.get_running_loop(), resending(Server([(60, None), (1, None)]), FreeSpend())
        await asyncio.gather(*(ask(model, text) for text in [*16 * ["1"], *2 * ["4"], *2 * ["10"]]))
        more = [asyncio.ensure_future(ask(model, "40")) for _ in range(others)]
        began = loop.time()
        await ask(model, "slow")
        found = loop.time() - began
        await asyncio.gather(*more)
        return found

    assert in_virtual_time(play())[0] == seconds


@rows(
    "tries",
    [[(3, BROKEN), (4, TransientError("HTTP 503"))], [(4, BROKEN), (1, TransientError("HTTP 503"))], [(0.5, BROKEN)]],
)
def test_without_an_answer_it_is_the_first_failure_that_is_raised(tries: list[tuple[float, ModelError | None]]):
    with pytest.raises(TransientError, match="boom"):
        slow_one(Server(tries), FreeSpend())


def test_a_request_that_is_refused_for_good_does_not_wait_for_the_second():
    server = Server([(3, RejectedRequest("HTTP 400")), (60, None)])
    with pytest.raises(RejectedRequest):
        slow_one(server, FreeSpend())
    assert server.cancelled == 1


def test_a_budget_that_is_used_up_by_then_does_not_end_the_first_request():
    server, spend = Server([(9, None)]), OneMore()
    spend.room = 21
    assert slow_one(server, spend) == ("slow 9", 9.0)
    assert server.sent.count("slow") == 1


def test_it_waits_for_its_turn_like_any_other():
    server = Server([(60, None)])
    assert slow_one(server, FreeSpend(), slots=1) == ("slow 60", 60.0)
    assert server.most == 1


def test_the_time_in_the_queue_is_not_counted():
    server = Server([])

    async def play() -> None:
        await with_times(resending(server, FreeSpend(), slots=1), 60)

    assert in_virtual_time(play())[1] == 60
    assert len(server.sent) == 60


def test_nothing_is_sent_again_before_it_is_known_what_is_slow():
    server = Server([(60, None)])

    async def play() -> str:
        model = resending(server, FreeSpend())
        await with_times(model, 7)
        return (await ask(model, "slow")).text

    assert in_virtual_time(play())[0] == "slow 60"
    assert server.sent.count("slow") == 1


def test_a_request_that_waits_already_is_sent_again_once_it_is_known():
    server = Server([(60, None), (1, None)])

    async def play() -> str:
        model = resending(server, FreeSpend())
        return (await asyncio.gather(ask(model, "slow"), with_times(model)))[0].text

    assert in_virtual_time(play()) == ("slow 1", 3.0)


def test_who_is_cancelled_cancels_both_and_their_bounds_stay():
    server, spend = Server([(60, None), (60, None)]), FreeSpend()

    async def play() -> None:
        model = resending(server, spend)
        await with_times(model)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask(model, "slow"), 10)

    in_virtual_time(play())
    assert server.cancelled == 2
    assert len(spend.abandoned) == 2


def test_a_tail_of_slow_requests_is_cut_off_for_one_more_in_twenty():
    server = Server([(60.0, None), (1.0, None)] * 20)

    async def play() -> None:
        model = resending(server, FreeSpend())
        for _ in range(20):
            await with_times(model, 19)
            await ask(model, "slow")

    _, seconds = in_virtual_time(play())
    assert seconds < 60 + 20 * 5
    assert len(server.sent) <= 20 * 21
