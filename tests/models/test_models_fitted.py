"""Servers that refuse parameters: what is sent next, what is told, and what is remembered."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from models_doubles import Heard, Server, events, http
from pydantic import BaseModel

from etude.config import ModelSection
from etude.errors import RejectedRequest, TransientError
from etude.models import Fitted, Retrying, Structured, build_model
from etude.models.openai import OpenAIInterface
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


class Sum(BaseModel):
    answer: int


def refusing(*fields: str, status: int = 400, answer: bytes = TEXT) -> Callable[[Heard], bytes]:
    """A server that refuses the first of these fields of the body that a request has."""

    def answered(heard: Heard) -> bytes:
        found = next((field for field in fields if field in heard.body), None)
        said = {"error": {"message": f"Unsupported parameter: '{found}' is not supported here.", "param": found}}
        return answer if found is None else http(status, said)

    return answered


def without_system(heard: Heard) -> bytes:
    roles = [message["role"] for message in heard.body["messages"]]
    return http(400, {"message": "System role not supported"}) if "system" in roles else TEXT


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


ONE_FIELD: list[tuple[str, str, dict[str, Any], str]] = [
    ("seed", "seed", {}, "set target.send_seed: false"),
    ("temperature", "temperature", {"temperature": 0.2}, "leave target.temperature unset"),
    ("top_p", "top_p", {"top_p": 0.5}, "leave target.top_p unset"),
    ("reasoning_effort", "reasoning_effort", {"reasoning_effort": "low"}, "leave target.reasoning_effort unset"),
    ("chat_template_kwargs", "thinking", {"thinking": "off"}, "leave target.thinking unset"),
]


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize(("field", "told", "settings", "hint"), ONE_FIELD)
async def test_what_is_refused_is_left_out_of_this_and_all_later_requests_and_told_once(
    server: Server,
    sent: Callable[[str], list[Any]],
    field: str,
    told: str,
    settings: dict[str, Any],
    hint: str,
    status: int,
) -> None:
    server.script = [refusing(field, status=status)]
    asked = Asked(server, **settings)
    for _ in range(3):
        assert (await asked.model.complete(ASKED)).text
    first, *later = sent(field)
    assert first is not None
    assert later == [None] * 3
    ((text, setting),) = asked.told
    assert text.startswith(f"openai:m does not take {told}")
    assert f"HTTP {status}: Unsupported parameter" in text
    assert setting.startswith(hint)


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
    server: Server, sent: Callable[[str], list[Any]], known: str, other: str
) -> None:
    server.script = [refusing(other)]
    provider = "azure" if other == "max_completion_tokens" else "openai"
    asked = Asked(server, model=f"{provider}:m", max_output_tokens=77)
    for _ in range(2):
        assert (await asked.model.complete(ASKED)).text
    assert sent(other) == [77, None, None]
    assert sent(known) == [None, 77, 77]
    assert len(asked.told) == 1


async def test_a_server_that_knows_no_limit_is_not_asked_without_one(server: Server) -> None:
    server.script = [refusing("max_tokens", "max_completion_tokens")]
    asked = Asked(server)
    with pytest.raises(RejectedRequest) as caught:
        await asked.model.complete(ASKED)
    assert "target.extra_body" in caught.value.hint
    assert len(server.heard) == 2


async def test_system_messages_stand_in_the_first_user_message_where_there_is_no_such_role(server: Server) -> None:
    server.script = [without_system]
    asked = Asked(server)
    for _ in range(2):
        assert (await asked.model.complete(ASKED)).text
    assert [heard.body["messages"] for heard in server.heard[1:]] == [
        [{"role": "user", "content": "Be brief.\n\n2 + 3?"}]
    ] * 2
    ((text, setting),) = asked.told
    assert "system messages stand at the beginning of the first user message" in text
    assert setting == ""


async def test_a_server_that_only_streams_is_asked_to(server: Server, sent: Callable[[str], list[Any]]) -> None:
    server.script = [only_streamed]
    asked = Asked(server)
    for _ in range(2):
        assert (await asked.model.complete(ASKED)).text == "5"
    assert sent("stream") == [None, True, True]
    assert asked.told[0][1] == "set target.stream: true"


@pytest.mark.parametrize(
    ("settings", "fields", "answer"),
    [
        (
            {"model": "openai:m", "api": "responses", "reasoning_effort": "low"},
            ("temperature", "reasoning"),
            RESPONSE,
        ),
        ({"model": "anthropic:m"}, ("temperature", "top_p"), MESSAGE),
        ({"model": "adapter:openai-chat:m"}, ("temperature", "seed"), TEXT),
    ],
)
async def test_other_interfaces_leave_out_what_is_refused_as_well(
    server: Server, sent: Callable[[str], list[Any]], settings: dict[str, Any], fields: tuple[str, ...], answer: bytes
) -> None:
    server.script = [refusing(*fields, answer=answer)]
    asked = Asked(server, temperature=0.2, top_p=0.5, **settings)
    for _ in range(2):
        await asked.model.complete(ASKED)
    assert len(asked.told) == len(fields)
    for field in fields:
        assert sent(field)[0] is not None
        assert sent(field)[-2:] == [None, None]


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("max_tokens must be <= 512", "set target.max_output_tokens to what the server takes"),
        (
            "`temperature` and `top_p` cannot both be specified for this model.",
            "leave target.temperature unset, or leave target.top_p unset",
        ),
        ("temperature must be between 0 and 0.1", "leave target.temperature unset"),
    ],
)
async def test_what_cannot_be_left_out_is_an_error_that_names_its_setting(
    server: Server, said: str, hint: str
) -> None:
    server.script = [http(400, {"error": {"message": said}})]
    asked = Asked(server, temperature=0.2, top_p=0.5)
    with pytest.raises(RejectedRequest, match="HTTP 400") as caught:
        await asked.model.complete(ASKED)
    assert caught.value.hint.startswith(hint)
    assert (len(server.heard), asked.told) == (1, [])


async def test_a_target_at_temperature_0_is_not_asked_at_another_one(server: Server) -> None:
    server.script = [refusing("temperature")]
    asked = Asked(server, temperature=0, kept=kept_of("targets.1", ModelSection(model="openai:m", temperature=0)))
    with pytest.raises(RejectedRequest) as caught:
        await asked.model.complete(ASKED)
    assert caught.value.hint == "leave target.temperature unset"
    assert kept_of("judge", asked.section) == kept_of("target", ModelSection(model="m", temperature=0.2)) == set()


async def test_a_refused_parameter_says_nothing_about_the_form_of_an_answer(server: Server) -> None:
    server.script = [refusing("seed")]
    asked = Asked(server)
    structured = Structured(asked.model)
    assert await structured.ask(ASKED.messages, Sum, seed=7) == Sum(answer=5)
    assert structured.rung == "json_schema"
    assert all("response_format" in heard.body for heard in server.heard)


async def test_a_complaint_about_a_value_is_not_asked_again_in_another_form(server: Server) -> None:
    server.script = [http(400, {"error": {"message": "max_tokens must be <= 512"}})]
    with pytest.raises(RejectedRequest, match="must be <= 512"):
        await Structured(Asked(server).model).ask(ASKED.messages, Sum)
    assert len(server.heard) == 1


@pytest.mark.parametrize("status", [408, 409, 420, 421, 423, 424, 425, 429, 449, 460, 499, 502, 520, 524, 529, 530])
async def test_a_temporary_status_is_tried_again_in_the_same_form(server: Server, status: int) -> None:
    server.script = [TEXT, http(status, {"error": {"message": "later"}}), TEXT]
    asked = Asked(server)
    structured = Structured(asked.model)
    for _ in range(2):
        assert await structured.ask(ASKED.messages, Sum) == Sum(answer=5)
    assert structured.rung == "json_schema"
    assert all("response_format" in heard.body for heard in server.heard)


async def test_a_server_that_asks_for_calm_is_asked_less(server: Server) -> None:
    server.script = [http(420, {"error": {"message": "enhance your calm"}})]
    with pytest.raises(TransientError) as caught:
        await Asked(server).inner.complete(ASKED)
    assert caught.value.rate_limited


@pytest.mark.parametrize("status", [404, 405, 410])
async def test_an_address_that_is_wrong_or_gone_ends_the_run(server: Server, status: int) -> None:
    server.script = [http(status, {"error": {"message": "nothing here"}})]
    inner = Asked(server).inner
    assert isinstance(inner, OpenAIInterface)
    with pytest.raises(Exception, match="nothing here") as caught:
        await inner.complete(ASKED)
    assert type(caught.value).__name__ == "RejectedRole"


async def test_what_the_server_behind_the_server_said_is_read_and_shown(server: Server) -> None:
    raw = '{"error": {"message": "seed is not supported by this model"}}'
    passed_on = http(400, {"error": {"message": "Provider returned error", "metadata": {"raw": raw}}})
    server.script = [lambda heard: passed_on if "seed" in heard.body else TEXT]
    asked = Asked(server)
    assert (await asked.model.complete(ASKED)).text
    assert "seed is not supported by this model" in asked.told[0][0]
