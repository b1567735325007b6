from collections.abc import Iterator
from typing import Any

import pytest
from models_doubles import Server, events, http

from etude.config import ModelSection
from etude.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError
from etude.models.openai import OpenAIModel
from etude.records import (
    ChatRequest,
    ImagePart,
    Message,
    ResponseSchema,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    system,
    user,
)
from etude.simulation.endpoint import running_endpoint
from etude.testing.chat_model import ChatModelContract

HELLO = ChatRequest(messages=(system("Be brief."), user("Hello")))


def said(text: str, kind: str = "output_text") -> dict[str, Any]:
    part = {"type": kind, "text" if kind == "output_text" else "refusal": text}
    return {"type": "message", "role": "assistant", "content": [part]}


def body(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "resp_1", "status": "completed", "error": None, "output": output, **fields}


def response(*output: dict[str, Any], **fields: Any) -> bytes:
    return http(200, body(*output, **fields))


def a_model(server: Server, **settings: Any) -> OpenAIModel:
    values: dict[str, Any] = {"model": "openai:m", "base_url": server.url, "api_key_env": "NO_SUCH_KEY"}
    return OpenAIModel("m", ModelSection(**{**values, "api": "responses", "timeout": 30, **settings}))


async def answer(server: Server, *script: bytes, request: ChatRequest = HELLO, **settings: Any) -> Any:
    server.script = list(script)
    model = a_model(server, **settings)
    try:
        return await model.complete(request)
    finally:
        await model.aclose()


async def test_a_text_answer_comes_with_its_usage(server: Server):
    usage = {"input_tokens": 12, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 8}}
    thought = {"type": "reasoning", "summary": [], "content": None}
    reply = await answer(server, response(thought, said("Hi"), usage=usage))
    assert (reply.text, reply.finish, reply.simulated) == ("Hi", "stop", False)
    assert reply.usage == Usage(input_tokens=12, output_tokens=3, cached_tokens=8)


async def test_every_setting_reaches_the_server(server: Server):
    request = HELLO.model_copy(
        update={"seed": 7, "response_schema": ResponseSchema(name="A", body={"type": "object"})}
    )
    await answer(
        server,
        response(said("{}")),
        request=request,
        temperature=0,
        top_p=0.5,
        reasoning_effort="low",
        max_output_tokens=9,
        extra_body={"text": {"verbosity": "low"}, "store": True},
        headers={"X-Team": "red"},
        stream=True,
    )
    heard = server.heard[0]
    assert (heard.body["temperature"], heard.body["top_p"], heard.body["max_output_tokens"]) == (0, 0.5, 9)
    assert (heard.body["reasoning"], heard.body["stream"], heard.body["store"]) == ({"effort": "low"}, True, True)
    form = {"type": "json_schema", "name": "A", "schema": {"type": "object"}, "strict": True}
    assert heard.body["text"] == {"format": form, "verbosity": "low"}
    assert (heard.headers["x-team"], heard.headers["x-etude-seed"]) == ("red", "7")


async def test_pictures_tool_calls_and_tool_results_are_items_side_by_side(server: Server):
    call = ToolCall(id="c1", name="look", arguments='{"at": 1}')
    request = ChatRequest(
        messages=(
            Message(role="user", content=(TextPart(text="What?"), ImagePart(url="data:image/png;base64,AA"))),
            Message(role="assistant", content=(TextPart(text="I look."),), tool_calls=(call,)),
            Message(role="tool", content=(TextPart(text="a cat"),), tool_call_id="c1"),
        ),
        tools=(Tool(name="look", description="Looks.", parameters={"type": "object", "properties": {}}),),
        forced_tool="look",
    )
    await answer(server, response(said("Hi")), request=request)
    sent = server.heard[0].body
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    assert sent["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "What?"}, picture]},
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a cat"},
    ]
    tool = {"type": "function", "name": "look", "description": "Looks.", "strict": False}
    assert sent["tools"] == [{**tool, "parameters": {"type": "object", "properties": {}}}]
    assert sent["tool_choice"] == {"type": "function", "name": "look"}


async def test_tool_calls_come_back(server: Server):
    calls = [
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": '{"x": 1}'},
        {"type": "function_call", "name": "g"},
    ]
    reply = await answer(server, response(*calls))
    assert reply.finish == "tool_calls"
    found = [(call.id, call.name, call.arguments) for call in reply.tool_calls]
    assert found == [("a", "f", '{"x": 1}'), ("call_1", "g", "")]


@pytest.mark.parametrize(
    ("answered", "finish"),
    [
        (response(said("x"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "length"),
        (response(said("x"), status="incomplete", incomplete_details={"reason": "content_filter"}), "refusal"),
        (response(said("No.", "refusal")), "refusal"),
        (response(said("x"), status=None, usage={"input_tokens_details": {"cached_tokens": -1}}), "stop"),
    ],
)
async def test_the_end_of_a_reply_is_reported(server: Server, answered: bytes, finish: str):
    assert (await answer(server, answered)).finish == finish


@pytest.mark.parametrize("end", ["completed", "incomplete"])
async def test_a_stream_gives_what_a_plain_answer_gives(server: Server, end: str):
    whole = body(said("Hi"), status=end)
    stream = events(
        {"type": "response.created", "response": body()},
        {"type": "response.output_text.delta", "delta": "Hi"},
        {"type": f"response.{end}", "response": whole},
    )
    assert await answer(server, stream, stream=True) == await answer(server, http(200, whole))


@pytest.mark.parametrize(
    ("answered", "kind", "message"),
    [
        (
            response(status="failed", error={"code": "server_error", "message": "oops"}),
            TransientError,
            "HTTP 500: oops",
        ),
        (
            events({"type": "response.failed", "response": body(error={"code": "invalid_prompt", "message": "no"})}),
            RejectedRequest,
            "HTTP 400: no",
        ),
        (
            events({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}),
            TransientError,
            "HTTP 429: slow",
        ),
        (
            events({"type": "error", "error": {"type": "authentication_error", "message": "who?"}}),
            RejectedRole,
            "HTTP 401: who?",
        ),
    ],
)
async def test_an_answer_that_failed_tells_why(server: Server, answered: bytes, kind: type[ModelError], message: str):
    with pytest.raises(kind) as caught:
        await answer(server, answered)
    assert caught.value.message == message


@pytest.mark.parametrize(
    "answered",
    [
        events({"type": "response.created", "response": body()}),
        events({"type": "response.completed"}),
        http(200, {"choices": []}),
        http(200, b'{"output": '),
    ],
)
async def test_a_body_that_is_no_whole_response_is_transient(server: Server, answered: bytes):
    with pytest.raises(TransientError, match=r"^the answer is not a response: "):
        await answer(server, answered)


def test_there_is_no_switch_for_thinking_here():
    with pytest.raises(ConfigError) as caught:
        a_model(Server([], "http://a/v1"), thinking="off")
    assert caught.value.message == "thinking = 'off': api = 'responses' has no such switch"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_endpoint() as endpoint:
        yield endpoint.url


@pytest.mark.parametrize("stream", [False, True])
class TestContract(ChatModelContract):
    """Over real HTTP, against the simulated world."""

    @pytest.fixture(autouse=True)
    def _endpoint(self, url: str, stream: bool) -> None:
        self.settings = {"base_url": url, "api_key_env": "NO_SUCH_KEY", "api": "responses", "stream": stream}

    def make_model(self) -> OpenAIModel:
        return OpenAIModel("target", ModelSection(model="openai:target", **self.settings))

    def make_other_model(self) -> OpenAIModel:
        return OpenAIModel("target-steady", ModelSection(model="openai:target-steady", **self.settings))
