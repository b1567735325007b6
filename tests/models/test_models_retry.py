import asyncio

import pytest
from models_doubles import FakeTime

from etude.errors import OutageStop, RejectedRole, TransientError
from etude.models import Retrying
from etude.protocols import Wrapper
from etude.records import ChatRequest, Reply, user
from etude.testing import ScriptedModel

BUSY = TransientError("HTTP 429: slow down", rate_limited=True)
BROKEN = TransientError("HTTP 500: boom")
GONE = TransientError("no connection: refused", unreachable=True)


def ask(text: str) -> ChatRequest:
    return ChatRequest(messages=(user(text),))


def retrying(model: ScriptedModel, time: FakeTime, outage_seconds: float = 300, jitter: float = 1.0) -> Retrying:
    return Retrying(model, "target", outage_seconds, sleep=time.sleep, clock=time.clock, jitter=lambda: jitter)


async def test_while_a_request_is_tried_again_its_last_failure_is_known(fake_time: FakeTime):
    seen: list[str] = []

    async def sleep(seconds: float) -> None:
        seen.append(retry.trouble)
        await fake_time.sleep(seconds)

    model = ScriptedModel(["first", BROKEN, BUSY, "second"])
    retry = Retrying(model, "target", 300, sleep=sleep, clock=fake_time.clock)
    outer = Wrapper(retry)
    await outer.complete(ask("a"))
    assert outer.trouble == ""
    await outer.complete(ask("b"))
    assert seen == [BROKEN.message, BUSY.message]
    assert outer.trouble == ""


async def test_a_wait_longer_than_an_outage_may_be_stops_the_run_at_once(fake_time: FakeTime):
    later = TransientError("429: plan used up", rate_limited=True, retry_after=10_800.0)
    model = ScriptedModel(["first", later])
    retry = retrying(model, fake_time)
    await retry.complete(ask("a"))
    for name in ("b", "c"):
        with pytest.raises(OutageStop, match="wants no request for 10,800 seconds: 429: plan used up") as caught:
            await retry.complete(ask(name))
        assert caught.value.hint == "run the same command again after that"
    assert (fake_time.slept, len(model.requests)) == ([], 2)


async def test_a_rejected_role_stops_the_run_at_once_with_the_words_of_the_provider(fake_time: FakeTime):
    model = ScriptedModel([RejectedRole("HTTP 401: bad key", hint="check the key")])
    retry = retrying(model, fake_time)
    for _ in range(2):
        with pytest.raises(OutageStop) as caught:
            await retry.complete(ask("a"))
        assert str(caught.value) == (
            "target model 'scripted:model' at the script refuses every request: HTTP 401: bad key\n"
            "hint: check the key"
        )
    assert len(model.requests) == 1


async def test_the_time_until_a_host_is_known_to_be_unreachable_counts(fake_time: FakeTime):
    def slow(request: ChatRequest) -> TransientError:
        fake_time.now += 3
        return GONE

    model = ScriptedModel(slow)
    with pytest.raises(OutageStop, match="has not answered for 3 seconds"):
        await retrying(model, fake_time).complete(ask("a"))
    assert len(model.requests) == 1


async def test_a_role_that_is_rejected_during_an_outage_stops_the_probe_too(fake_time: FakeTime):
    release = asyncio.Event()

    async def line(request: ChatRequest) -> Reply | Exception:
        if request.messages[0].text == "slow":
            await release.wait()
            return RejectedRole("HTTP 401: expired")
        return BROKEN

    async def sleep(seconds: float) -> None:
        release.set()
        await asyncio.sleep(0.02)

    model = ScriptedModel(line)
    retry = Retrying(model, "judge", 300, sleep=sleep, clock=fake_time.clock)
    results = await asyncio.gather(*(retry.complete(ask(t)) for t in ("slow", "fast")), return_exceptions=True)
    assert all("HTTP 401: expired" in str(result) for result in results)
    assert len(model.requests) == 2


class Switch:
    """An endpoint that can be broken and mended; `poison` never works."""

    def __init__(self) -> None:
        self.down: TransientError | None = None

    def __call__(self, request: ChatRequest) -> Reply | TransientError:
        text = request.messages[0].text
        if text == "poison":
            return BROKEN
        return self.down or Reply(text=f"re: {text}")


async def test_in_an_outage_one_request_probes_and_the_others_wait(fake_time: FakeTime):
    switch = Switch()
    model = ScriptedModel(switch)
    retry = retrying(model, fake_time)
    await retry.complete(ask("first"))
    switch.down = GONE
    waiting = [asyncio.ensure_future(retry.complete(ask(str(n)))) for n in range(20)]
    while fake_time.now < 150:
        await asyncio.sleep(0)
    probes = len(model.requests)
    assert probes < 1 + 20 * 3 + 20
    switch.down = None
    replies = await asyncio.gather(*waiting)
    assert [reply.text for reply in replies] == [f"re: {n}" for n in range(20)]


async def test_many_failures_of_different_requests_make_an_outage_too(fake_time: FakeTime):
    switch = Switch()
    model = ScriptedModel(switch)
    retry = retrying(model, fake_time, outage_seconds=5)
    await retry.complete(ask("first"))
    switch.down = GONE
    results = await asyncio.gather(*(retry.complete(ask(str(n))) for n in range(100)), return_exceptions=True)
    assert all(isinstance(result, OutageStop) for result in results)
    assert len(model.requests) < 1 + 16 + 10


async def test_an_outage_that_lasts_stops_every_waiter_and_every_later_request(fake_time: FakeTime):
    switch = Switch()
    model = ScriptedModel(switch)
    retry = retrying(model, fake_time, outage_seconds=30)
    await retry.complete(ask("first"))
    switch.down = BROKEN
    results = await asyncio.gather(*(retry.complete(ask(str(n))) for n in range(5)), return_exceptions=True)
    message = "target model 'scripted:model' at the script has not answered for 30 seconds: HTTP 500: boom"
    assert {str(result) for result in results} == {f"{message}\nhint: run the same command again once it answers"}
    assert len({id(result) for result in results}) == 5
    sent = len(model.requests)
    with pytest.raises(OutageStop):
        await retry.complete(ask("later"))
    assert len(model.requests) == sent


async def test_an_answer_to_a_request_sent_before_the_outage_ends_it(fake_time: FakeTime):
    release = asyncio.Event()
    down = [True]

    async def line(request: ChatRequest) -> Reply | TransientError:
        if request.messages[0].text == "slow":
            await release.wait()
            down[0] = False
        elif request.messages[0].text == "fast" and down[0]:
            return BROKEN
        return Reply(text="ok")

    async def never(seconds: float) -> None:
        fake_time.slept.append(seconds)
        if len(fake_time.slept) > 2:  # the pause of the probe
            await asyncio.Event().wait()

    model = ScriptedModel(line)
    retry = Retrying(model, "target", 300, sleep=never, clock=fake_time.clock)
    await retry.complete(ask("first"))
    slow = asyncio.ensure_future(retry.complete(ask("slow")))
    fast: list[asyncio.Task[Reply]] = []
    for _ in range(2):
        fast.append(asyncio.ensure_future(retry.complete(ask("fast"))))
        for _ in range(50):
            await asyncio.sleep(0)
    assert not any(task.done() for task in fast)
    release.set()
    assert (await slow).text == "ok"
    assert [reply.text for reply in await asyncio.gather(*fast)] == ["ok", "ok"]


async def test_one_request_that_keeps_failing_is_given_up_while_others_succeed(fake_time: FakeTime):
    model = ScriptedModel(Switch())
    retry = retrying(model, fake_time)
    poison = asyncio.ensure_future(retry.complete(ask("poison")))
    while not poison.done():
        await retry.complete(ask("fine"))
        await asyncio.sleep(0)
    with pytest.raises(TransientError, match="boom"):
        await poison
    sent = sum(request.messages[0].text == "poison" for request in model.requests)
    assert 8 <= sent <= 20


async def test_an_empty_answer_is_asked_for_again(fake_time: FakeTime):
    retry = retrying(ScriptedModel([Reply(text=" \n"), "full"]), fake_time)
    assert (await retry.complete(ask("a"))).text == "full"
    assert fake_time.slept == [0.1]


async def test_the_third_empty_answer_is_returned_as_it_is(fake_time: FakeTime):
    model = ScriptedModel([Reply()] * 3)
    assert await retrying(model, fake_time).complete(ask("a")) == Reply()
    assert len(model.requests) == 3


async def test_a_busy_server_may_refuse_a_request_more_often_than_fail_it(fake_time: FakeTime):
    async def line(request: ChatRequest) -> Reply | TransientError:
        return BUSY if request.messages[0].text == "unlucky" else Reply(text="ok")

    model = ScriptedModel(line)
    retry = retrying(model, fake_time)
    unlucky = asyncio.ensure_future(retry.complete(ask("unlucky")))
    while not unlucky.done():
        await retry.complete(ask("fine"))
        await asyncio.sleep(0)
    with pytest.raises(TransientError, match="429"):
        await unlucky
    sent = sum(request.messages[0].text == "unlucky" for request in model.requests)
    assert 32 <= sent <= 40
