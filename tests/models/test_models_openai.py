from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from models_doubles import Server, http

from etude.config import ModelSection
from etude.errors import ConfigError, RejectedRequest, RejectedRole, TransientError
from etude.models.openai import OpenAIModel
from etude.records import (
    ChatRequest,
    ImagePart,
    Message,
    Opaque,
    TextPart,
    Tool,
    ToolCall,
    Usage,
    assistant,
    system,
    user,
)

HELLO = ChatRequest(messages=(system("Be brief."), user("Hello")))


def completion(message: dict[str, Any], **fields: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": fields.pop("finish", "stop")}
    return http(200, {"id": "1", "object": "chat.completion", "choices": [choice], **fields})


def a_model(server: Server, **settings: Any) -> OpenAIModel:
    values: dict[str, Any] = {
        "model": "openai:m",
        "base_url": server.url,
        "api_key_env": "NO_SUCH_KEY",
        "timeout": 30,
    }
    return OpenAIModel("m", ModelSection(**{**values, **settings}))


async def answer(server: Server, *script: bytes | str, request: ChatRequest = HELLO, **settings: Any) -> Any:
    server.script = list(script)
    model = a_model(server, **settings)
    try:
        return await model.complete(request)
    finally:
        await model.aclose()


async def failure(server: Server, *script: bytes | str, **settings: Any) -> Any:
    with pytest.raises((TransientError, RejectedRequest, RejectedRole)) as caught:
        await answer(server, *script, **settings)
    return caught.value


async def test_pictures_tool_calls_and_tool_results_are_sent(server: Server):
    picture = Message(role="user", content=(TextPart(text="What?"), ImagePart(url="data:image/png;base64,AA")))
    call = ToolCall(id="c1", name="look", arguments='{"at": 1}')
    request = ChatRequest(
        messages=(
            picture,
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content=(TextPart(text="a cat"),), tool_call_id="c1"),
            assistant("A cat."),
        ),
        tools=(Tool(name="look", description="Looks.", parameters={"type": "object", "properties": {}}),),
        forced_tool="look",
    )
    await answer(server, completion({"content": "Hi"}), request=request)
    body = server.heard[0].body
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}],
        },
        {"role": "tool", "content": "a cat", "tool_call_id": "c1"},
        {"role": "assistant", "content": "A cat."},
    ]
    function = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "look"}}


async def test_retry_after_may_be_a_date(server: Server):
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    error = await failure(server, http(429, {}, Retry_After=later))
    assert 3000 < error.retry_after <= 3600
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    assert (await failure(server, http(429, {}, Retry_After=past))).retry_after == 0


@pytest.mark.parametrize("header", ["soon", "inf", "nan"])
async def test_a_retry_after_that_says_nothing_is_left_out(server: Server, header: str):
    assert (await failure(server, http(503, {}, Retry_After=header))).retry_after is None


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"choices": [', b'{"choices": []}', b'{"choices": [{}]}', b'{"choices": [], "error": null}']
)
async def test_a_body_that_is_no_completion_is_transient(server: Server, body: bytes):
    error = await failure(server, http(200, body))
    assert isinstance(error, TransientError)
    assert str(error) == f"the answer is not a chat completion: {body.decode()}"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ({"message": "no credentials", "code": 401}, RejectedRole, "HTTP 401: no credentials"),
        ({"message": "too long", "code": "context_length_exceeded"}, RejectedRequest, "HTTP 400: too long"),
        ({"message": "overloaded", "code": 502}, TransientError, "HTTP 502: overloaded"),
        ("the runner has stopped", TransientError, "HTTP 500: the runner has stopped"),
    ],
)
async def test_an_error_with_status_200_is_what_it_says(server: Server, error: Any, kind: type[Exception], said: str):
    found = await failure(server, http(200, {"error": error}))
    assert (type(found), str(found).splitlines()[0]) == (kind, said)


def test_a_key_of_two_lines_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TEST_KEY", "one\ntwo")
    with pytest.raises(ConfigError) as caught:
        OpenAIModel("m", ModelSection(model="openai:m", api_key_env="TEST_KEY"))
    assert str(caught.value) == (
        "environment variable 'TEST_KEY' has characters that no key has\nhint: copy it again"
    )


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "http://", "ftp://x/v1", "http://[::1", "http://x:99999/v1"])
def test_an_address_that_is_none_is_refused(url: str):
    with pytest.raises(ConfigError, match="is not an address"):
        OpenAIModel("m", ModelSection(model="openai:m", base_url=url))


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ({"content": None, "reasoning_content": "It is 7."}, "reasoning_content"),
        ({"content": "", "reasoning": "It is 7."}, "reasoning"),
        ({"content": " \n", "reasoning_content": "It is 7.", "reasoning": "It is 7."}, "reasoning_content"),
        ({"content": "7", "reasoning_content": "It is 7."}, ""),
        ({"content": "", "reasoning_content": ""}, ""),
        ({"content": "", "reasoning_content": None}, ""),
    ],
)
async def test_a_text_that_stands_among_the_thoughts_only_is_named(
    server: Server, message: dict[str, Any], named: str
):
    assert (await answer(server, completion(message))).text_in == named


REFUSED = {
    "chat": ({"reasoning_content": "Hm."}, "Unsupported field: messages[1].reasoning_content"),
    "responses": ({"summary": []}, "Encrypted content is not supported with this model."),
}


def thoughtful(api: str) -> ChatRequest:
    more = REFUSED[api][0]
    data = {"fields": more} if api == "chat" else [{"item": {"type": "reasoning", **more}}, {"chars": 2}]
    kept = Opaque.model_validate({"format": api, "data": data})
    turn = Message(role="assistant", content=(TextPart(text="Hi"),), opaque=kept)
    tool = Tool(name="run", parameters={"type": "object"})
    return ChatRequest(messages=(user("Hello"), turn, user("Go on")), tools=(tool,))


def sent_back(body: dict[str, Any]) -> bool:
    """A thought is in the conversation, or is asked for in a form that could be sent back."""
    return "include" in body or "reasoning" in str(body.get("messages", body.get("input")))


@pytest.mark.parametrize("api", REFUSED)
async def test_what_a_server_refuses_to_be_sent_back_is_left_out_from_then_on(server: Server, api: str):
    done = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "output": []}
    server.script = [http(400, {"error": {"message": REFUSED[api][1]}}), http(200, done)]
    model = a_model(server, api=api)
    for _ in range(2):
        await model.complete(thoughtful(api))
    await model.aclose()
    assert [sent_back(heard.body) for heard in server.heard] == [True, False, False]


async def test_a_server_that_refuses_a_turn_either_way_is_told_in_its_first_words(server: Server):
    demand = http(400, {"error": {"message": "reasoning_content must be passed back"}})
    server.script = [demand, http(400, {"error": {"message": "other"}}), demand]
    model = a_model(server)
    for _ in range(2):
        with pytest.raises(RejectedRequest, match="must be passed back"):
            await model.complete(thoughtful("chat"))
    await model.aclose()
    assert [sent_back(heard.body) for heard in server.heard] == [True, False, True, False]


async def test_a_refusal_for_another_reason_is_not_sent_again(server: Server):
    server.script = [http(400, {"error": {"message": "too long"}})]
    model = a_model(server)
    with pytest.raises(RejectedRequest, match="too long"):
        await model.complete(thoughtful("chat"))
    await model.aclose()
    assert len(server.heard) == 1


async def test_a_reply_that_broke_off_is_transient_and_tells_what_it_cost(server: Server):
    choice = {"message": {"content": "half a"}, "finish_reason": "insufficient_system_resource"}
    error = await failure(server, http(200, {"choices": [choice], "usage": {"prompt_tokens": 5, "total_tokens": 9}}))
    assert isinstance(error, TransientError)
    assert str(error) == "the server broke the reply off: it ended with 'insufficient_system_resource'"
    assert error.usage == Usage(input_tokens=5, output_tokens=4)
