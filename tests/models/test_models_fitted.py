"""Servers that refuse parameters: what is sent next, what is told, and what is remembered."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from models_doubles import Heard, Server, events, http

from etude.config import ModelSection
from etude.errors import RejectedRequest
from etude.models import Fitted, Retrying, build_model
from etude.models.openai import OpenAIModel
from etude.models.wrappers.fitted import kept_of
from etude.protocols import ChatModel
from etude.records import ChatRequest, system, user
from memory_doubles import MemoryJournal

ASKED = ChatRequest(messages=(system("Be brief."), user("2 + 3?")), seed=7)
COMPLETION = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": '{"answer": 5}'}, "finish_reason": "stop"}],
}
TEXT = http(200, COMPLETION)
MESSAGE = http(200, {"type": "message", "content": [{"type": "text", "text": "5"}], "stop_reason": "end_turn"})
STREAM = events({"choices": [{"delta": {"content": "5"}, "finish_reason": "stop"}]}, b"[DONE]")
SAID = {"type": "message", "content": [{"type": "output_text", "text": "5"}]}
RESPONSE = http(200, {"status": "completed", "output": [SAID]})


def refusing(*fields: str, status: int = 400, answer: bytes = TEXT) -> Callable[[Heard], bytes]:
    """A server that refuses the first of these fields of the body that a request has."""

    def answered(heard: Heard) -> bytes:
        found = next((field for field in fields if field in heard.body), None)
        said = {"error": {"message": f"Unsupported parameter: '{found}' is not supported here.", "param": found}}
        return answer if found is None else http(status, said)

    return answered


def only_streamed(heard: Heard) -> bytes:
    return STREAM if heard.body.get("stream") else http(400, {"message": "Only stream mode is supported"})


async def at_once(_: float) -> None:
    await asyncio.sleep(0)


class Asked:
    """A model of a server, and what was told of it."""

    def __init__(self, server: Server, *, kept: frozenset[str] = frozenset(), **settings: Any) -> None:
        given: dict[str, Any] = {"model": "openai:m", "api_key_env": "TEST_KEY", "base_url": server.url, **settings}
        self.section = ModelSection(**given)
        self.inner = build_model(self.section)
        self.told: list[tuple[str, str]] = []
        self.journal = MemoryJournal()
        self.kept = kept
        self.model = self.again()

    def again(self) -> ChatModel:
        """As another process has it."""
        model = Retrying(build_model(self.section), "target", 300, sleep=at_once)
        return Fitted(model, "target", lambda *said: self.told.append(said), self.journal, self.kept)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "k")


@pytest.fixture
def sent(server: Server) -> Callable[[str], list[Any]]:
    """What each request had in a field."""
    return lambda field: [heard.body.get(field) for heard in server.heard]


async def test_another_process_of_the_run_knows_it_and_says_nothing(
    server: Server, sent: Callable[[str], list[Any]]
) -> None:
    server.script = [refusing("seed", "temperature")]
    asked = Asked(server, temperature=0.2)
    await asked.model.complete(ASKED)
    await asked.again().complete(ASKED)
    assert sent("seed") == [7, None, None, None]
    assert sent("temperature") == [0.2, 0.2, None, None]
    assert len(asked.told) == 2


async def test_requests_in_flight_are_each_sent_again_and_it_is_told_once(server: Server) -> None:
    server.script = [refusing("seed")]
    asked = Asked(server)
    replies = await asyncio.gather(*(asked.model.complete(ASKED) for _ in range(8)))
    assert all(reply.text for reply in replies)
    assert len(server.heard) <= 16
    assert len(asked.told) == 1


@pytest.mark.parametrize(
    ("known", "other"), [("max_completion_tokens", "max_tokens"), ("max_tokens", "max_completion_tokens")]
)
async def test_the_limit_of_a_reply_is_sent_under_its_other_name(
    server: Server, sent: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch, known: str, other: str
) -> None:
    server.script = [refusing(other)]
    at = {}
    if other == "max_completion_tokens":  # what OpenAI's own models take, asked through a proxy
        monkeypatch.setenv("http_proxy", server.url)
        at = {"base_url": "http://api.openai.com/v1"}
    asked = Asked(server, max_output_tokens=77, **at)
    for _ in range(2):
        assert (await asked.model.complete(ASKED)).text
    assert sent(other) == [77, None, None]
    assert sent(known) == [None, 77, 77]
    assert len(asked.told) == 1


async def test_a_server_that_only_streams_is_asked_to(server: Server, sent: Callable[[str], list[Any]]) -> None:
    server.script = [only_streamed]
    asked = Asked(server)
    for _ in range(2):
        assert (await asked.model.complete(ASKED)).text == "5"
    assert sent("stream") == [None, True, True]
    assert asked.told[0][1] == "set target.stream: true"


@pytest.mark.parametrize(
    ("settings", "fields", "more"),
    [
        (
            {"model": "openai:m", "api": "responses", "reasoning_effort": "low"},
            ("temperature", "reasoning"),
            {"answer": RESPONSE},
        ),
        ({"model": "anthropic:m"}, ("temperature", "top_p"), {"answer": MESSAGE}),
        ({}, ("seed", "top_p"), {"status": 404}),
        ({}, ("seed", "top_p"), {"status": 405}),
        ({}, ("seed", "top_p"), {"status": 501}),
    ],
)
async def test_other_interfaces_and_statuses_leave_out_what_is_refused_as_well(
    server: Server,
    sent: Callable[[str], list[Any]],
    settings: dict[str, Any],
    fields: tuple[str, ...],
    more: dict[str, Any],
) -> None:
    server.script = [refusing(*fields, **more)]
    asked = Asked(server, temperature=0.2, top_p=0.5, **settings)
    for _ in range(2):
        await asked.model.complete(ASKED)
    assert len(asked.told) == len(fields)
    for field in fields:
        assert sent(field)[0] is not None
        assert sent(field)[-2:] == [None, None]


async def test_a_target_at_temperature_0_is_not_asked_at_another_one(server: Server) -> None:
    server.script = [refusing("temperature")]
    asked = Asked(server, temperature=0, kept=kept_of("targets.1", ModelSection(model="openai:m", temperature=0)))
    with pytest.raises(RejectedRequest) as caught:
        await asked.model.complete(ASKED)
    assert caught.value.hint == "leave target.temperature unset"
    assert kept_of("judge", asked.section) == kept_of("target", ModelSection(model="m", temperature=0.2)) == set()


@pytest.mark.parametrize("status", [404, 405, 410])
async def test_an_address_that_is_wrong_or_gone_ends_the_run(server: Server, status: int) -> None:
    server.script = [http(status, {"error": {"message": "nothing here: seed-oss does not exist"}})]
    inner = Asked(server, model="openai:seed-oss").inner
    assert isinstance(inner, OpenAIModel)
    with pytest.raises(Exception, match="nothing here") as caught:
        await inner.complete(ASKED)
    assert type(caught.value).__name__ == "RejectedRole"
