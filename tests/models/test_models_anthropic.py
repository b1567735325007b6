from collections.abc import Iterator
from typing import Any

import pytest
from models_doubles import Server, events, http

from etude.config import ModelSection
from etude.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError
from etude.models import Structured
from etude.models.anthropic import AnthropicModel
from etude.prompts import Prompts
from etude.records import (
    ChatRequest,
    Edit,
    ImagePart,
    LedgerEntry,
    Message,
    ResponseSchema,
    Skill,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    system,
    user,
)
from etude.simulation.endpoint import running_endpoint
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import PatchReply
from etude.stages.shared.render import ledger_block, skill_block
from etude.testing.chat_model import ChatModelContract

HELLO = ChatRequest(messages=(system("Be brief."), user("Hello")))
EPHEMERAL = {"type": "ephemeral"}


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def message(*content: dict[str, Any], stop: str | None = "end_turn", **fields: Any) -> bytes:
    usage = {"input_tokens": 5, "output_tokens": 2}
    body = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": stop}
    return http(200, {**body, "usage": usage, **fields})


def a_model(server: Server, **settings: Any) -> AnthropicModel:
    values: dict[str, Any] = {"model": "anthropic:m", "base_url": server.url, "api_key_env": "NO_SUCH_KEY"}
    return AnthropicModel("m", ModelSection(**{**values, "timeout": 30, **settings}))


async def answer(server: Server, *script: bytes | str, request: ChatRequest = HELLO, **settings: Any) -> Any:
    server.script = list(script)
    model = a_model(server, **settings)
    try:
        return await model.complete(request)
    finally:
        await model.aclose()


async def failure(server: Server, *script: bytes | str, **settings: Any) -> Any:
    with pytest.raises(ModelError) as caught:
        await answer(server, *script, **settings)
    return caught.value


async def test_a_text_answer_comes_with_its_usage_and_what_was_cached(server: Server):
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 3}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    reply = await answer(server, message(thought, text("Hi"), text(" there"), usage=usage))
    assert (reply.text, reply.finish, reply.simulated) == ("Hi there", "stop", False)
    assert reply.usage == Usage(input_tokens=114, output_tokens=3, cached_tokens=100, written_tokens=10)


async def test_thinking_is_adaptive_unless_a_budget_is_given(server: Server):
    await answer(server, message(text("Hi")), thinking="on")
    assert server.heard[0].body["thinking"] == {"type": "adaptive"}
    budget = {"type": "enabled", "budget_tokens": 2000}
    await answer(server, message(text("Hi")), thinking="on", extra_body={"thinking": budget})
    assert server.heard[1].body["thinking"] == budget


def marks(body: dict[str, Any]) -> list[bool]:
    blocks = [block for turn in body["messages"] for block in turn["content"]]
    return ["cache_control" in block for block in [*body.get("system", []), *blocks]]


async def test_minibatches_of_a_step_begin_with_the_same_marked_text(server: Server):
    server.script = [message(text('{"reasoning": "r", "edits": []}'))]
    model = a_model(server)
    optimizer = Optimizer(Structured(model), Prompts(), lambda event: None)
    entry = LedgerEntry(step=1, edit=Edit(op="append", content="Be brief."), fate="applied", accepted=False)
    shared = [skill_block(Skill(text="Sort the words. " * 300)), ledger_block([entry], 5)]
    for attempts in ("first", "second"):
        await optimizer.ask("reflect_failures", [*shared, attempts], PatchReply)
    await model.aclose()
    first, second = (heard.body for heard in server.heard)
    assert marks(first) == marks(second) == [True, True, True, False]
    assert first["system"] == second["system"]
    blocks = [body["messages"][0]["content"] for body in (first, second)]
    assert blocks[0][:2] == blocks[1][:2]
    assert [block[2]["text"] for block in blocks] == ["first", "second"]


async def test_pictures_tool_calls_and_tool_results_are_sent_by_turns(server: Server):
    data, link = ImagePart(url="data:image/png;base64,AA"), ImagePart(url="https://host/a.png")
    calls = (ToolCall(id="c1", name="look", arguments='{"at": 1}'), ToolCall(id="c2", name="look", arguments="[1"))
    request = ChatRequest(
        messages=(
            system("One."),
            Message(role="user", content=(TextPart(text="What?"), TextPart(text=" "), data, link)),
            Message(role="assistant", content=(TextPart(text=""),), tool_calls=calls),
            Message(role="tool", content=(TextPart(text="a cat"),), tool_call_id="c1"),
            Message(role="tool", tool_call_id="c2"),
            user("So?"),
            system("Two."),
        ),
        tools=(Tool(name="look", description="Looks.", parameters={"type": "object", "properties": {}}),),
        forced_tool="look",
    )
    await answer(server, message(text("Hi")), request=request)
    body = server.heard[0].body
    assert body["system"] == [text("One."), {**text("Two."), "cache_control": EPHEMERAL}]
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    linked = {"type": "image", "source": {"type": "url", "url": "https://host/a.png"}}
    assert body["messages"] == [
        {"role": "user", "content": [text("What?"), picture, linked]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [text("a cat")]},
                {"type": "tool_result", "tool_use_id": "c2", "content": []},
                text("So?"),
            ],
        },
    ]
    schema = {"type": "object", "properties": {}}
    assert body["tools"] == [{"name": "look", "description": "Looks.", "input_schema": schema}]
    assert body["tool_choice"] == {"type": "tool", "name": "look", "disable_parallel_tool_use": True}


START = {
    "type": "message_start",
    "message": {"id": "msg_1", "content": [], "usage": {"input_tokens": 4, "cache_read_input_tokens": 6}},
}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {"type": "content_block_start", "index": index, "content_block": start}
    changes = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [begun, {"type": "ping"}, *changes, {"type": "content_block_stop", "index": index}]


def end(stop: str, output: int = 9) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": output}}


@pytest.mark.parametrize(
    ("kind", "error", "limited"),
    [
        ("overloaded_error", TransientError, False),
        ("api_error", TransientError, False),
        ("rate_limit_error", TransientError, True),
        ("something_new", TransientError, False),
        ("invalid_request_error", RejectedRequest, False),
        ("authentication_error", RejectedRole, False),
        ("not_found_error", RejectedRole, False),
    ],
)
async def test_an_error_in_the_middle_of_a_stream_means_what_it_would_have_meant_before(
    server: Server, kind: str, error: type[Exception], limited: bool
):
    said = {"type": "error", "error": {"type": kind, "message": "no more"}}
    caught = await failure(server, events(START, said), stream=True)
    assert type(caught) is error
    assert caught.message.endswith(": no more")
    assert getattr(caught, "rate_limited", False) == limited


@pytest.mark.parametrize(
    "body",
    [
        events(START, end("end_turn")),
        events(START, b'{"type": "mess'),
        events({"type": "content_block_start", "index": "?"}),
        events(b"[1]"),
        http(200, b"<html>"),
        http(200, {"content": 1}),
    ],
)
async def test_a_body_that_is_no_whole_message_is_transient(server: Server, body: bytes):
    error = await failure(server, body, stream=True)
    assert isinstance(error, TransientError)
    assert error.message.startswith("the answer is not a message: ")


def test_at_anthropic_a_key_is_needed(monkeypatch: pytest.MonkeyPatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="environment variable 'ANTHROPIC_API_KEY' is not set"):
        AnthropicModel("m", ModelSection(model="anthropic:m"))
    monkeypatch.setenv("MY_KEY", "k")
    model = AnthropicModel("m", ModelSection(model="anthropic:m", api_key_env="MY_KEY"))
    assert model.endpoint == "https://api.anthropic.com/v1"


async def test_limits_of_a_schema_become_words_of_its_descriptions(server: Server):
    score = {"type": "number", "description": "How good.", "minimum": 0, "maximum": 1}
    names = {"type": "array", "items": {"oneOf": [{"type": "string", "pattern": "a+"}, {"type": "null"}]}}
    body: Any = {"type": "object", "properties": {"score": score, "minimum": names}, "additionalProperties": False}
    request = HELLO.model_copy(update={"response_schema": ResponseSchema(name="a", body=body)})
    await answer(server, message(text("Hi")), request=request)
    assert server.heard[0].body["output_config"]["format"]["schema"] == {
        "type": "object",
        "properties": {
            "score": {"type": "number", "description": "How good. {minimum: 0, maximum: 1}"},
            "minimum": {
                "type": "array",
                "items": {"anyOf": [{"type": "string", "description": "{pattern: a+}"}, {"type": "null"}]},
            },
        },
        "additionalProperties": False,
    }


def test_an_interface_of_openai_is_refused():
    with pytest.raises(ConfigError, match="api = 'responses' is an interface of OpenAI"):
        a_model(Server([], "http://a"), api="responses")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_endpoint() as endpoint:
        yield endpoint.url


@pytest.mark.parametrize("stream", [False, True])
class TestContract(ChatModelContract):
    """Over real HTTP, against the simulated world."""

    @pytest.fixture(autouse=True)
    def _endpoint(self, url: str, stream: bool) -> None:
        self.settings = {"model": "anthropic:target", "base_url": url, "api_key_env": "NO_SUCH_KEY", "stream": stream}

    def make_model(self) -> AnthropicModel:
        return AnthropicModel("target", ModelSection(**self.settings))

    def make_other_model(self) -> AnthropicModel:
        return AnthropicModel("target-steady", ModelSection(**self.settings))
