"""Streamed chat completions, and what the streams of all interfaces have in common."""

from typing import Any

import pytest
from models_doubles import Server, events, http

from etude.config import ModelSection, load_config
from etude.errors import ConfigError, ModelError, RejectedRequest, RejectedRole, TransientError
from etude.models.openai import OpenAIModel
from etude.records import ChatRequest, user

HELLO = ChatRequest(messages=(user("Hello"),))
DONE = b"[DONE]"


def chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields}


def a_model(server: Server, **settings: Any) -> OpenAIModel:
    values: dict[str, Any] = {"model": "openai:m", "base_url": server.url, "api_key_env": "NO_SUCH_KEY"}
    return OpenAIModel("m", ModelSection(**{**values, "stream": True, "timeout": 30, **settings}))


async def answer(server: Server, *script: bytes, **settings: Any) -> Any:
    server.script = list(script)
    model = a_model(server, **settings)
    try:
        return await model.complete(HELLO)
    finally:
        await model.aclose()


async def test_calls_without_an_index_are_told_apart_by_their_ids(server: Server):
    def call(name: str | None, arguments: Any, id: str | None = None) -> dict[str, Any]:
        return chunk({"tool_calls": [{"id": id, "function": {"name": name, "arguments": arguments}}]})

    stream = events(
        call("f", '{"a"', "1"), call(None, ": 1}"), call("g", {"b": 2}, "2"), call(None, None), chunk({}, "stop")
    )
    reply = await answer(server, stream)
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("1", "f", '{"a": 1}'),
        ("2", "g", '{"b": 2}'),
    ]


@pytest.mark.parametrize(
    ("stream", "finish", "text"),
    [
        (events(chunk({"content": "cut"}, "length")), "length", "cut"),
        (events(chunk({"refusal": "I "}), chunk({"refusal": "won't"}, "stop")), "refusal", "I won't"),
        (events(chunk({"content": "x"}), chunk({}, "content_filter")), "refusal", "x"),
        (events(chunk({"content": "x"}, "stop"), DONE, b"junk behind the end"), "stop", "x"),
        (events(chunk({"content": [{"type": "text", "text": "x"}]}, "stop")), "stop", "x"),
        (
            events({"choices": [{"index": 1, "delta": {"content": "no"}}]}, chunk({"content": "x"}, "stop")),
            "stop",
            "x",
        ),
        (events({"choices": [{"index": 0, "finish_reason": "stop"}]}), "stop", ""),
        (http(200, {"choices": [{"message": {"content": "x"}}]}), "stop", "x"),
    ],
)
async def test_streams_of_many_servers_are_understood(server: Server, stream: bytes, finish: str, text: str):
    reply = await answer(server, stream)
    assert (reply.finish, reply.text) == (finish, text)


@pytest.mark.parametrize(
    "stream",
    [
        events(chunk({"content": "half"})),
        events(chunk({"content": "half"}), DONE),
        events(chunk({"content": "half"}, "null"), chunk({}, ""), DONE),
        events(chunk({"content": "half"}), b'{"choices": [{"ind'),
        events({"choices": "?"}, chunk({}, "stop")),
        http(200, b""),
        http(200, b": nothing but a comment\n\n"),
    ],
)
async def test_a_stream_that_breaks_off_is_transient(server: Server, stream: bytes):
    with pytest.raises(TransientError) as caught:
        await answer(server, stream)
    assert caught.value.message.startswith("the answer is not a chat completion: ")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        ({"message": "busy", "code": "rate_limit_exceeded"}, TransientError, "HTTP 429: busy"),
        ({"message": "busy", "code": 429}, TransientError, "HTTP 429: busy"),
        ({"message": "oops", "type": "server_error"}, TransientError, "HTTP 500: oops"),
        ({"message": "long", "type": "invalid_request_error"}, RejectedRequest, "HTTP 400: long"),
        ({"message": "pay", "code": "insufficient_quota"}, RejectedRole, "HTTP 402: pay"),
        ("lost", TransientError, "HTTP 500: lost"),
    ],
)
async def test_an_error_in_the_middle_means_what_it_would_have_meant_before(
    server: Server, error: Any, kind: type[ModelError], message: str
):
    with pytest.raises(kind) as caught:
        await answer(server, events(chunk({"content": "half"}), {"error": error}))
    assert caught.value.message == message
    assert getattr(caught.value, "rate_limited", False) == ("429" in message)


@pytest.mark.parametrize(("written", "meant"), [("on", "on"), ("off", "off"), ("'off'", "off")])
def test_the_switch_may_be_written_as_yaml_reads_it(written: str, meant: str):
    model = ("target.model", "openai:m")
    config = load_config(flags=[model, ("target.thinking", written)], environ={})
    assert config.target.thinking == meant
    with pytest.raises(ConfigError, match=r"target\.thinking = 'maybe'"):
        load_config(flags=[model, ("target.thinking", "maybe")], environ={})
