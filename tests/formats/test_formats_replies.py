"""What is read of the answers of many servers; how they end, and what they bill, is in files of their own."""

import json
from typing import Any

import pytest

from etude.formats import CHAT, MESSAGES, RESPONSES, Format
from rows import rows


def streamed(*events: Any) -> bytes:
    return b"".join(b"data: " + (e if isinstance(e, bytes) else json.dumps(e).encode()) + b"\n\n" for e in events)


def completion(**message: Any) -> Any:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}]}


def chunk(finish: str | None = None, **delta: Any) -> Any:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(name: str | None, arguments: Any, id: str | None = None) -> Any:
    return chunk(tool_calls=[{"id": id, "function": {"name": name, "arguments": arguments}}])


def response(*output: Any) -> Any:
    return {"status": "completed", "output": output}


def said(kind: str, text: str) -> Any:
    part = {"type": kind, "text" if kind == "output_text" else kind: text}
    return {"type": "message", "role": "assistant", "content": [part]}


def whole(finish: str | None = None, **message: Any) -> Any:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


TWO = [("1", "f", '{"a": 1}'), ("2", "g", '{"b": 2}')]
PIECES = (call("f", '{"a"', "1"), call(None, ": 1}"), call("g", {"b": 2}, "2"), call(None, None), chunk("stop"))
WHOLE_CALLS = [{"id": id, "function": {"name": name, "arguments": arguments}} for id, name, arguments in TWO]
OTHER = {"choices": [{"index": 1, "delta": {"content": "no"}}]}
CALLS = [
    {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": '{"x": 1}'},
    {"type": "function_call", "name": "g"},
]
READ: list[tuple[Format, Any, dict[str, Any]]] = [
    (CHAT, streamed(*PIECES), {"calls": TWO, "finish": "tool_calls"}),
    (CHAT, streamed(chunk(content="I"), chunk(content="I am"), chunk("stop", content="I am 7")), {"text": "I am 7"}),
    (CHAT, streamed(chunk(content="I am"), chunk(content=" 7"), chunk("stop", content="I am 7")), {"text": "I am 7"}),
    (CHAT, streamed(chunk(content="\n"), chunk(content="\n"), chunk("stop", content="\n7")), {"text": "\n7"}),
    (CHAT, streamed(*[chunk(content="ha")] * 3, chunk("stop")), {"text": "hahaha"}),
    *(
        (CHAT, streamed(*(chunk(content=piece) for piece in pieces.split("|")), chunk("stop")), {"text": text})
        for pieces, text in {
            "ha|ha|haha": "hahahaha",
            "ha|ha|ha|hahaha": "hahahahahaha",
            "7|7|77|77": "777777",
            "haha|haha|hahaha": "hahahahahahaha",
            "--|--|----|--": "----------",
            " | |  ": "    ",
            "ha|haha|hahaha": "hahaha",
            "a|ab|aba|abab": "abab",
            "So|So|So it|So it": "So it",
            "ab|cd|abcd": "abcd",
        }.items()
    ),
    (CHAT, streamed(chunk(content="1"), chunk(content="10"), chunk("stop", content="7")), {"text": "1107"}),
    (CHAT, streamed(chunk("length", content="cut")), {"text": "cut", "finish": "length"}),
    (CHAT, streamed(chunk(refusal="I "), chunk("stop", refusal="won't")), {"text": "I won't", "finish": "refusal"}),
    (CHAT, streamed(chunk(content="x"), chunk("content_filter")), {"text": "x", "finish": "refusal"}),
    (CHAT, streamed(chunk("stop", content="x"), b"[DONE]", b"junk behind the end"), {"text": "x"}),
    (CHAT, streamed(chunk("stop", content=[{"type": "text", "text": "x"}])), {"text": "x"}),
    (CHAT, b"event: error\n\n" + streamed(chunk("stop", content="x")), {"text": "x"}),
    (CHAT, streamed(OTHER, chunk("stop", content="x")), {"text": "x"}),
    (CHAT, streamed({"choices": [{"index": 0, "finish_reason": "stop"}]}), {"text": ""}),
    (CHAT, b": waiting\r\n\r\n" + streamed(chunk("stop", content="x")).replace(b"\n", b"\r\n"), {"text": "x"}),
    (CHAT, streamed(whole(content="Hel"), whole("stop", content="lo")), {"text": "Hello"}),
    (CHAT, streamed(whole(content="Hel"), chunk("stop", content="lo")), {"text": "Hello"}),
    (CHAT, streamed(whole(content="ha"), whole(content="ha"), whole("stop", content="")), {"text": "haha"}),
    (CHAT, streamed(chunk(content="Hello"), whole("stop", content="")), {"text": "Hello"}),
    (CHAT, streamed(chunk(content="Hel"), chunk(content="lo"), whole("stop", content="Hello")), {"text": "Hello"}),
    (CHAT, streamed(chunk(content="Hello"), whole(), whole("stop", content="Hello")), {"text": "Hello"}),
    (CHAT, streamed(*PIECES[:4], whole("tool_calls", role="assistant")), {"calls": TWO}),
    (CHAT, streamed(*PIECES[:4], whole("tool_calls", content="Hm.")), {"calls": TWO, "text": "Hm."}),
    (CHAT, streamed(*PIECES[:2], whole("tool_calls", tool_calls=WHOLE_CALLS)), {"calls": TWO}),
    (CHAT, streamed(chunk(refusal="No"), whole("stop", refusal="No.")), {"text": "No.", "finish": "refusal"}),
    (CHAT, streamed(chunk(reasoning="7"), whole("stop", reasoning="")), {"text_in": "reasoning"}),
    (CHAT, completion(content=None, reasoning_content="It is 7."), {"text_in": "reasoning_content"}),
    (CHAT, completion(content="", reasoning="It is 7."), {"text_in": "reasoning"}),
    (CHAT, completion(content=" \n", reasoning_content="7", reasoning="7"), {"text_in": "reasoning_content"}),
    (CHAT, completion(content="", thinking="It is 7."), {"text_in": "thinking"}),
    (CHAT, completion(content="", reasoning_details=[{"text": "7"}]), {"text_in": "reasoning_details"}),
    (CHAT, completion(content="7", reasoning_content="It is 7."), {"text": "7", "text_in": ""}),
    (CHAT, completion(content="", reasoning_content=""), {"text_in": ""}),
    (RESPONSES, response({"type": "reasoning", "summary": []}, said("output_text", "Hi")), {"text": "Hi"}),
    (RESPONSES, response(said("refusal", "No.")), {"text": "No.", "finish": "refusal"}),
    (RESPONSES, response(*CALLS), {"calls": [("a", "f", '{"x": 1}'), ("call_1", "g", "")], "finish": "tool_calls"}),
    (
        MESSAGES,
        {
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                {"type": "text", "text": "Hi"},
                {"type": "text", "text": " there"},
                {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
            ]
        },
        {"text": "Hi there", "calls": TWO[:1]},
    ),
]


@rows(("form", "body", "found"), READ)
def test_what_a_server_answered_is_read(form: Format, body: Any, found: dict[str, Any]) -> None:
    reply = form.read_reply(body if isinstance(body, bytes) else json.dumps(body).encode())
    read = {"calls": [(call.id, call.name, call.arguments) for call in reply.tool_calls]}
    read |= {"text": reply.text, "finish": reply.finish, "text_in": reply.text_in}
    assert {name: read[name] for name in found} == found


START = {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": {}}}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}


@rows(
    ("form", "body"),
    [
        (CHAT, b"<html>"),
        (CHAT, b""),
        (CHAT, b": nothing but a comment\n\n"),
        (CHAT, b'{"choices": ['),
        (CHAT, {"choices": []}),
        (CHAT, {"choices": [{}], "error": None}),
        (CHAT, streamed(chunk(content="half"), b'{"choices": [{"ind')),
        (CHAT, streamed({"choices": "?"}, chunk("stop"))),
        (CHAT, streamed(chunk("null", content="half"), chunk(""), b"[DONE]")),
        (CHAT, streamed(chunk(content="half"), chunk(False, content=" a"))),  # type: ignore[arg-type]
        (CHAT, streamed(chunk(content="half a"))),
        (RESPONSES, streamed({"type": "response.completed"})),
        (RESPONSES, streamed({"type": "response.output_text.delta", "delta": "half a"})),
        (RESPONSES, {"choices": []}),
        (RESPONSES, b'{"output": '),
        (MESSAGES, streamed(START, END)),
        (MESSAGES, streamed(START)),
        (MESSAGES, streamed(START, {"type": "message_stop"})),
        (MESSAGES, streamed(START, b'{"type": "mess')),
        (MESSAGES, streamed({"type": "content_block_start", "index": "?"})),
        (MESSAGES, streamed(b"[1]")),
        (MESSAGES, {"content": 1}),
    ],
)
def test_what_is_no_whole_answer_is_none(form: Format, body: Any) -> None:
    with pytest.raises(ValueError):
        form.read_reply(body if isinstance(body, bytes) else json.dumps(body).encode())
