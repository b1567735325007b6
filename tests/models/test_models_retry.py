import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from models_doubles import FakeTime

from etude.errors import OutageStop, RejectedRequest, RejectedRole, TransientError
from etude.models import Retrying
from etude.protocols import Wrapper
from etude.records import ChatRequest, Reply, ToolCall, user
from etude.testing import ScriptedModel
from rows import rows

BUSY = TransientError("HTTP 429: slow down", rate_limited=True)
BROKEN = TransientError("HTTP 500: boom")
GONE = TransientError("no connection: refused", unreachable=True)


def ask(text: str) -> ChatRequest:
    return ChatRequest(messages=(user(text),))


def retrying(model: ScriptedModel, time: FakeTime, outage_seconds: float = 300, jitter: float = 1.0) -> Retrying:
    return Retrying(model, "target", outage_seconds, sleep=time.sleep, clock=time.clock, jitter=lambda: jitter)


def limited(seconds: float) -> TransientError:
    return TransientError("429", rate_limited=True, retry_after=seconds)


@rows(
    ("script", "jitter", "slept"),
    [
        ([BROKEN, BROKEN], 1.0, [0.1, 0.2]),
        ([BROKEN], 0.0, [0.05]),  # chance shortens a pause by at most half
        ([limited(7.0), limited(200.0)], 1.0, [7.0, 60.0]),
        ([Reply(text=" \n")], 1.0, [0.1]),
    ],
)
def test_what_can_pass_is_tried_again_after_a_pause(script: list[Any], jitter: float, slept: list[float]):
    time = FakeTime()
    retry = retrying(ScriptedModel(["first", *script, "second"]), time, jitter=jitter)
    assert asyncio.run(in_turn(retry, "a", "b")) == ["first", "second"]
    assert time.slept == slept


async def in_turn(model: Retrying, *texts: str) -> list[str]:
    return [(await model.complete(ask(text))).text for text in texts]


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


async def test_a_rejected_request_is_not_tried_again(fake_time: FakeTime):
    retry = retrying(ScriptedModel([RejectedRequest("HTTP 400: too long"), "fine"]), fake_time)
    with pytest.raises(RejectedRequest, match="too long"):
        await retry.complete(ask("a"))
    assert (await retry.complete(ask("b"))).text == "fine"
    assert fake_time.slept == []


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


@pytest.mark.parametrize("error", [GONE, BROKEN])
async def test_an_endpoint_that_never_answered_stops_the_run_after_three_seconds(
    fake_time: FakeTime, error: TransientError
):
    start = fake_time.now
    retry = retrying(ScriptedModel(lambda request: error), fake_time)
    with pytest.raises(OutageStop) as caught:
        await retry.complete(ask("a"))
    assert str(caught.value) == (
        f"target model 'scripted:model' at the script has not answered for 3 seconds: {error}\n"
        "hint: run the same command again once it answers"
    )
    assert fake_time.now - start == pytest.approx(3)


async def test_the_time_until_a_host_is_known_to_be_unreachable_counts(fake_time: FakeTime):
    def slow(request: ChatRequest) -> TransientError:
        fake_time.now += 3
        return GONE

    model = ScriptedModel(slow)
    with pytest.raises(OutageStop, match="has not answered for 3 seconds"):
        await retrying(model, fake_time).complete(ask("a"))
    assert len(model.requests) == 1


async def test_an_endpoint_that_comes_up_in_time_is_used_and_a_busy_one_is_given_longer(fake_time: FakeTime):
    assert await in_turn(retrying(ScriptedModel([GONE, GONE, "up"]), FakeTime()), "a") == ["up"]
    retry = retrying(ScriptedModel([*[BUSY] * 9, "at last"]), fake_time)
    assert (await retry.complete(ask("a"))).text == "at last"
    assert sum(fake_time.slept) > 10
    with pytest.raises(OutageStop, match="has not answered for 50 seconds: HTTP 429"):
        await retrying(ScriptedModel(lambda request: BUSY), FakeTime(), 50).complete(ask("a"))


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


@pytest.mark.parametrize(("before", "requests", "most"), [(("first",), 100, 1 + 16 + 10), ((), 10, 10 + 10)])
async def test_many_failures_of_different_requests_make_an_outage_with_one_probe(
    fake_time: FakeTime, before: tuple[str, ...], requests: int, most: int
):
    switch = Switch()
    model = ScriptedModel(switch)
    retry = retrying(model, fake_time, outage_seconds=5)
    await in_turn(retry, *before)
    switch.down = GONE
    results = await asyncio.gather(*(retry.complete(ask(str(n))) for n in range(requests)), return_exceptions=True)
    assert all(isinstance(result, OutageStop) for result in results)
    assert len(model.requests) < most


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


async def test_a_probe_that_is_cancelled_hands_over(fake_time: FakeTime):
    switch = Switch()
    retry = retrying(ScriptedModel(switch), fake_time)
    await retry.complete(ask("first"))
    switch.down = BROKEN
    one, two = (asyncio.ensure_future(retry.complete(ask(text))) for text in ("one", "two"))
    for _ in range(40):
        await asyncio.sleep(0)
    one.cancel()
    await asyncio.sleep(0)
    switch.down = None
    assert (await two).text == "re: two"
    with pytest.raises(asyncio.CancelledError):
        await one


async def test_a_rejection_shows_that_the_server_works_again(fake_time: FakeTime):
    model = ScriptedModel(["first", BROKEN, BROKEN, BROKEN, RejectedRequest("HTTP 400: no"), "fine"])
    retry = retrying(model, fake_time)
    await retry.complete(ask("a"))
    with pytest.raises(RejectedRequest):
        await retry.complete(ask("b"))
    assert (await retry.complete(ask("c"))).text == "fine"


@pytest.mark.parametrize(("failure", "least", "most"), [(BROKEN, 8, 20), (BUSY, 32, 40)])
async def test_one_request_that_keeps_failing_is_given_up_while_others_succeed(
    fake_time: FakeTime, failure: TransientError, least: int, most: int
):
    model = ScriptedModel(lambda request: failure if request.messages[0].text == "poison" else Reply(text="ok"))
    retry = retrying(model, fake_time)
    poison = asyncio.ensure_future(retry.complete(ask("poison")))
    while not poison.done():
        await retry.complete(ask("fine"))
        await asyncio.sleep(0)
    with pytest.raises(TransientError, match=failure.message):
        await poison
    assert least <= sum(request.messages[0].text == "poison" for request in model.requests) <= most


async def test_a_poisonous_request_does_not_keep_others_from_probing(fake_time: FakeTime):
    model = ScriptedModel(Switch())
    retry = retrying(model, fake_time, outage_seconds=60)
    await retry.complete(ask("first"))
    poison = asyncio.ensure_future(retry.complete(ask("poison")))
    while len(model.requests) < 5:  # it has begun an outage
        await asyncio.sleep(0)
    assert (await retry.complete(ask("fine"))).text == "re: fine"
    poison.cancel()


async def test_the_third_empty_answer_is_returned_as_it_is(fake_time: FakeTime):
    model = ScriptedModel([Reply()] * 3)
    assert await retrying(model, fake_time).complete(ask("a")) == Reply()
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    "reply",
    [
        Reply(finish="length"),
        Reply(finish="refusal"),
        Reply(tool_calls=(ToolCall(id="1", name="f", arguments="{}"),), finish="tool_calls"),
    ],
)
async def test_answers_without_text_that_say_why_are_not_empty(fake_time: FakeTime, reply: Reply):
    assert await retrying(ScriptedModel([reply]), fake_time).complete(ask("a")) == reply


def test_another_event_loop_starts_afresh(fake_time: FakeTime):
    model = ScriptedModel([RejectedRole("no key"), "fine"])
    retry = retrying(model, fake_time)

    def run(work: Callable[[], Any]) -> Any:
        return asyncio.run(work())

    with pytest.raises(OutageStop):
        run(lambda: retry.complete(ask("a")))
    assert run(lambda: retry.complete(ask("a"))).text == "fine"
