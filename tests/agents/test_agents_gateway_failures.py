"""What the gateway makes of a model that fails, and of limits."""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest
from gateway_clients import QUESTION, WIRES, chat, every_wire, messages, one_session, refusals

from etude.config import LimitsSection
from etude.errors import (
    BoundaryError,
    BudgetStop,
    EtudeError,
    OutageStop,
    RejectedRequest,
    RejectedRole,
    TransientError,
)
from etude.gateway import Gateway, GatewaySession
from etude.gateway import server as gateway_server
from etude.gateway import session as gateway_session
from etude.gateway.session import MOST_HELD, MOST_REJECTED
from etude.models.wrappers.metered import Metered
from etude.records import ChatRequest, Reply
from etude.store import SqliteJournal, SqliteSpend
from etude.testing import ScriptedModel
from later import anthropic, openai
from rows import few

FATAL = [
    BudgetStop("limits.calls = 3 are used up", hint="allow more"),
    OutageStop("target model 'm' has not answered for 300 seconds"),
    TransientError("429: slow down", rate_limited=True),
    RejectedRole("401: wrong key"),
]


async def post(session: GatewaySession, body: bytes) -> httpx2.Response:
    headers = {"authorization": f"Bearer {session.key}", "content-type": "application/json"}
    async with httpx2.AsyncClient(base_url=session.url, headers=headers, timeout=120) as client:
        return await client.post("/v1/chat/completions", content=body)


WAYS = [(wire, stream, failure) for wire in WIRES for stream in (False, True) for failure in FATAL]
EACH_WIRE = [("chat", False, failure) for failure in FATAL] + [(wire, True, FATAL[0]) for wire in WIRES]


@pytest.mark.parametrize(("wire", "stream", "failure"), few(WAYS, *EACH_WIRE))
async def test_a_failure_ends_the_session_with_the_words_of_the_failure(
    wire: str, stream: bool, failure: EtudeError
) -> None:
    model = ScriptedModel([failure])
    async with one_session(Gateway(model)) as session:
        # Clients ask again what can pass: they are told that this cannot.
        with pytest.raises(refusals()) as caught:
            await WIRES[wire](session, stream=stream, retries=5)
        assert failure.message in str(caught.value)
        assert caught.value.status_code == 400
        assert session.failed.is_set()
        assert type(session.error) is type(failure)
        assert session.error.message == failure.message
        with pytest.raises(refusals(), match=failure.message[:20]):
            await WIRES[wire](session)
        assert len(model.requests) == 1
        assert [(one.status, one.error) for one in session.log] == [(400, failure.message)]


@pytest.mark.parametrize("failure", [TimeoutError("too late"), KeyError("choices"), asyncio.CancelledError()])
async def test_whatever_else_a_model_raises_names_the_model(failure: BaseException) -> None:
    async def fail(request: ChatRequest) -> Reply:
        raise failure

    async with one_session(Gateway(ScriptedModel(fail))) as session:
        with pytest.raises(openai.BadRequestError):
            await chat(session)
        assert isinstance(session.error, BoundaryError)
        assert str(session.error) == f"model 'scripted:model': {type(failure).__name__}: {failure}"
        assert session.failed.is_set()


@every_wire
async def test_a_request_the_provider_rejects_is_the_programs_to_deal_with(wire: str) -> None:
    model = ScriptedModel([RejectedRequest("400: maximum context length exceeded"), "Shorter."])
    async with one_session(Gateway(model)) as session:
        with pytest.raises(refusals(), match="maximum context length"):
            await WIRES[wire](session)
        assert isinstance(session.error, RejectedRequest)
        assert not session.failed.is_set()
        assert (await WIRES[wire](session)).text == "Shorter."
        assert session.error is None
        assert [exchange.status for exchange in session.log] == [400, 200]


async def test_a_program_that_sends_nothing_but_what_is_rejected_is_ended() -> None:
    model = ScriptedModel(lambda request: RejectedRequest("400: maximum context length exceeded"))
    async with one_session(Gateway(model)) as session:
        for sent in range(1, MOST_REJECTED + 1):
            with pytest.raises(openai.BadRequestError):
                await chat(session)
            assert session.failed.is_set() == (sent == MOST_REJECTED)
        with pytest.raises(openai.BadRequestError, match="maximum context length"):
            await chat(session)
        assert len(model.requests) == MOST_REJECTED
        assert isinstance(session.error, RejectedRequest)


async def test_a_program_that_sends_nothing_but_garbage_is_ended() -> None:
    async with one_session(Gateway(ScriptedModel(["Blue."]))) as session:
        for sent in range(1, MOST_REJECTED + 1):
            await post(session, b"garbage")
            assert session.failed.is_set() == (sent == MOST_REJECTED)
        assert "Invalid JSON" in str(session.error)


class Slow:
    """A model that answers when it is let to, and counts what it is asked at the same time."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.now = self.most = 0
        self.model = ScriptedModel(self.answer)

    async def answer(self, request: ChatRequest) -> Reply:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.go.wait()
        self.now -= 1
        return Reply(text="Blue.")


def body_of(size: int) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * size}]}).encode()


async def pending(session: GatewaySession, count: int) -> None:
    while session.pending < count:
        await asyncio.sleep(0.005)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> int:
    """So many requests may be under way."""
    monkeypatch.setattr(gateway_session, "MOST_AT_ONCE", 6)
    return 6


@pytest.mark.parametrize("stream", [False, True])
async def test_requests_beyond_what_may_be_under_way_wait_for_their_turn(at_once: int, stream: bool) -> None:
    slow, sent = Slow(), at_once + 3
    async with one_session(Gateway(slow.model, keepalive=0.01)) as session:
        body = body_of(1)[:-1] + (b', "stream": true}' if stream else b"}")
        asking = [asyncio.create_task(post(session, body)) for _ in range(sent)]
        await pending(session, sent)
        while slow.now < at_once:  # they are pending before the model is asked
            await asyncio.sleep(0.005)
        slow.go.set()
        answers = await asyncio.gather(*asking)
        assert {answer.status_code for answer in answers} == {200}
        assert all(("[DONE]" if stream else "Blue.") in answer.text for answer in answers)
        assert (slow.most, len(slow.model.requests), len(session.log)) == (at_once, sent, sent)
        assert session.error is None


async def test_a_body_waits_for_the_room_that_others_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (gateway_session, gateway_server):
        monkeypatch.setattr(module, "MOST_BYTES", 64 * 2**10)
    slow = Slow()
    async with one_session(Gateway(slow.model)) as session:
        first = asyncio.create_task(post(session, body_of(40 * 2**10)))
        await pending(session, 1)
        second = asyncio.create_task(post(session, body_of(40 * 2**10)))
        while session.has_room():
            await asyncio.sleep(0.005)
        assert len(slow.model.requests) == 1
        slow.go.set()
        assert [answer.status_code for answer in await asyncio.gather(first, second)] == [200, 200]
        assert (await post(session, body_of(65 * 2**10))).status_code == 400


async def test_a_request_whose_program_hangs_up_before_its_turn_is_not_sent(at_once: int) -> None:
    slow = Slow()
    async with one_session(Gateway(slow.model), calls=at_once + 2) as session:
        asking = [asyncio.create_task(post(session, body_of(1))) for _ in range(at_once)]
        await pending(session, at_once)
        late = asyncio.create_task(post(session, body_of(1)))
        await pending(session, at_once + 1)
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        while session.pending > at_once:
            await asyncio.sleep(0.005)
        slow.go.set()
        await asyncio.gather(*asking)
        assert (await post(session, body_of(1))).status_code == 200
        assert len(slow.model.requests) == at_once + 1
        assert not session.failed.is_set()
        assert not session.exhausted


async def test_what_is_held_is_bounded_all_the_same() -> None:
    slow = Slow()
    async with one_session(Gateway(slow.model)) as session:
        for _ in range(MOST_HELD):
            session.ask(ChatRequest(messages=()))
        one_more = await post(session, body_of(1))
        assert (one_more.status_code, session.failed.is_set()) == (400, False)
        assert f"{MOST_HELD} model requests of the attempt are under way already" in one_more.text


async def test_the_first_failure_counts() -> None:
    both = asyncio.Barrier(2)

    async def fail(request: ChatRequest) -> Reply:
        place = await both.wait()
        await asyncio.sleep(0.02 * place)
        raise OutageStop(f"dead {place}")

    async with one_session(Gateway(ScriptedModel(fail))) as session:
        results = await asyncio.gather(chat(session), messages(session), return_exceptions=True)
        assert all(isinstance(result, openai.BadRequestError | anthropic.BadRequestError) for result in results)
        assert str(session.error) == "dead 0"


BROKEN = {
    "/v1/chat/completions": b'data: {"error": {"message": "429: slow down", "type": "invalid_request_error"',
    "/v1/responses": b'"error": {"code": "invalid_prompt", "message": "429: slow down"}',
    "/v1/messages": b'event: error\ndata: {"type": "error", "error": {"type": "invalid_request_error", "message"',
}


@pytest.mark.parametrize("path", list(BROKEN))
async def test_a_streamed_answer_that_was_begun_ends_with_the_error(path: str) -> None:
    async def fail(request: ChatRequest) -> Reply:
        await asyncio.sleep(0.05)
        raise TransientError("429: slow down")

    said = [{"role": "user", "content": QUESTION}]
    body = {"model": "m", "stream": True, "max_tokens": 9, "messages": said, "input": said}
    async with one_session(Gateway(ScriptedModel(fail), keepalive=0.01)) as session:
        async with httpx2.AsyncClient(base_url=session.url, headers={"api-key": session.key}) as client:
            answer = await client.post(path, json=body)
        assert answer.status_code == 200
        assert BROKEN[path] in answer.content
        assert session.failed.is_set()


async def test_one_request_more_than_a_session_may_make_ends_it() -> None:
    model = ScriptedModel(["one", "two"])
    async with one_session(Gateway(model), calls=2) as session:
        await chat(session)
        await messages(session)
        assert (session.exhausted, session.failed.is_set()) == (False, False)
        with pytest.raises(openai.BadRequestError, match="the attempt has used up its 2 model requests"):
            await chat(session, retries=5)
        assert (session.exhausted, session.failed.is_set(), session.error) == (True, True, None)
    assert len(model.requests) == 2


async def test_a_budget_of_calls_is_never_exceeded_though_programs_ask_again(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: "Blue.")
    journal = SqliteJournal(tmp_path / "journal.db")
    spend = SqliteSpend(journal, LimitsSection(calls=5))
    gateway = Gateway(Metered(model, "target", spend, None, lambda event: None))

    async def attempt(seed: int) -> EtudeError | None:
        async with gateway.session(seed=seed) as session:
            for _ in range(4):
                try:
                    await chat(session, retries=3)
                except openai.BadRequestError:
                    continue
            return session.error

    try:
        errors = await asyncio.gather(*map(attempt, range(4)))
        assert all(isinstance(error, BudgetStop) for error in errors)
        assert len(model.requests) == 5
        assert spend.totals().total_calls == 5
    finally:
        await gateway.aclose()
        journal.close()
