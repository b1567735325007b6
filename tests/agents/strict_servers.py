"""A server of each format whose model thinks between the calls of tools. It refuses a conversation in which what it
wrote is not there, in its order and as it was."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from etude.config import ModelSection
from etude.models.anthropic import AnthropicModel
from etude.models.openai import OpenAIModel
from etude.protocols import ChatModel

Data = dict[str, Any]
STEPS = 2
"""Calls of a tool before the answer."""
SEVEN = "seven"


class Kind(NamedTuple):
    """How a server speaks."""

    path: str
    opaque: Callable[[int], list[Data]]
    """What the server writes at a step, and wants back."""
    answer: Callable[[list[Data], int | None], Data]
    """A body with these parts and the call of a step, or the answer at the end."""
    found: Callable[[Data], list[Data]]
    """What a request brings back."""
    events: Callable[[Data], list[Data]]
    """The body as a stream."""


def _arguments(step: int) -> Data:
    return {"command": f"echo {step}"}


def _chat_call(step: int, more: Data) -> Data:
    function = {"name": "bash", "arguments": json.dumps(_arguments(step))}
    return {"id": f"c{step}", "type": "function", "function": function, **more}


def _chat_answer(message: Data, calls: list[Data]) -> Data:
    said = {"role": "assistant", "content": None if calls else SEVEN, **message}
    said |= {"tool_calls": calls} if calls else {}
    return {"choices": [{"index": 0, "message": said, "finish_reason": "tool_calls" if calls else "stop"}]}


def _chat_events(body: Data) -> list[Data]:
    """Thoughts in two pieces, calls in two."""
    message = dict(body["choices"][0]["message"])
    deltas: list[Data] = []
    for name in ("reasoning_content", "reasoning"):
        if name in message:
            text = message.pop(name)
            deltas += [{name: text[:3]}, {name: text[3:]}]
    for detail in message.pop("reasoning_details", ()):
        half = {**detail, "signature": None, "text": detail["text"][:3]}
        deltas += [{"reasoning_details": [half]}, {"reasoning_details": [{**detail, "text": detail["text"][3:]}]}]
    calls = message.pop("tool_calls", ())
    deltas.append(message)
    for at, call in enumerate(calls):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        deltas.append({"tool_calls": [{**call, "index": at, "function": {"name": name, "arguments": ""}}]})
        deltas.append({"tool_calls": [{"index": at, "function": {"arguments": arguments}}]})
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": body["choices"][0]["finish_reason"]}]}]


def _reasoning(step: int) -> list[Data]:
    return [{"reasoning_content": f"I think of {step}."}]


def _details(step: int) -> list[Data]:
    detail = {"type": "reasoning.text", "text": f"So {step}.", "signature": f"sig{step}", "index": 0, "id": "r"}
    return [{"reasoning": f"So {step}.", "reasoning_details": [detail]}]


def _chat_fields(*names: str) -> Callable[[Data], list[Data]]:
    def found(body: Data) -> list[Data]:
        turns = [message for message in body["messages"] if message["role"] == "assistant"]
        return [{name: turn[name] for name in names if name in turn} for turn in turns]

    return found


def _signature(step: int) -> list[Data]:
    return [{"extra_content": {"google": {"thought_signature": f"sig{step}"}}}]


def _signed(body: Data) -> list[Data]:
    calls = [call for message in body["messages"] for call in message.get("tool_calls") or ()]
    return [{"extra_content": call.get("extra_content")} for call in calls]


def _items(step: int) -> list[Data]:
    summary = [{"type": "summary_text", "text": f"Of {step}."}]
    return [{"type": "reasoning", "id": f"rs_{step}", "summary": summary, "encrypted_content": f"gAAA{step}"}]


def _responses_answer(parts: list[Data], step: int | None) -> Data:
    last: Data = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SEVEN}]}
    if step is not None:
        call = {"call_id": f"c{step}", "name": "bash", "arguments": json.dumps(_arguments(step))}
        last = {"type": "function_call", "id": f"fc_{step}", "status": "completed", **call}
    return {"id": "resp_1", "status": "completed", "error": None, "output": [*parts, last]}


def _kept_items(body: Data) -> list[Data]:
    assert body["include"] == ["reasoning.encrypted_content"]
    items = [item for item in body["input"] if item.get("type") in ("reasoning", "function_call")]
    for thought, call in zip(items[::2], items[1::2], strict=True):
        assert (thought["type"], call["type"]) == ("reasoning", "function_call")
    return items[::2]


def _blocks(step: int) -> list[Data]:
    hidden = [{"type": "redacted_thinking", "data": f"x{step}"}] if step else []
    return [{"type": "thinking", "thinking": f"Of {step}.", "signature": f"sig{step}"}, *hidden]


def _messages_answer(parts: list[Data], step: int | None) -> Data:
    last: Data = {"type": "text", "text": SEVEN}
    if step is not None:
        last = {"type": "tool_use", "id": f"toolu_{step}", "name": "bash", "input": _arguments(step)}
    stop = "end_turn" if step is None else "tool_use"
    return {"id": "msg_1", "content": [*parts, last], "stop_reason": stop, "usage": {}}


def _kept_blocks(body: Data) -> list[Data]:
    turns = [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"]
    assert all(turn[0]["type"] == "thinking" and turn[-1]["type"] == "tool_use" for turn in turns)
    return [block for turn in turns for block in turn if block["type"].endswith("thinking")]


_PIECES = {"thinking": ("thinking", "signature"), "text": ("text",)}


def _block_events(body: Data) -> list[Data]:
    events: list[Data] = [{"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}]
    for at, block in enumerate(body["content"]):
        names = _PIECES.get(block["type"], ())
        deltas = [
            {"type": f"{name}_delta", name: text} for name in names for text in (block[name][:2], block[name][2:])
        ]
        begun = {**block, **dict.fromkeys(names, "")}
        if block["type"] == "tool_use":
            begun["input"] = {}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        events.append({"type": "content_block_start", "index": at, "content_block": begun})
        events += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": at})
    return [
        *events,
        {"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}},
        {"type": "message_stop"},
    ]


def _second_call(step: int) -> Data:
    function = {"name": "bash", "arguments": json.dumps(_arguments(step), separators=(",", ":"))}
    return {"id": f"d{step}", "type": "function", "function": function}


def _whole_turn(step: int) -> list[Data]:
    signed = _chat_call(step, _signature(step)[0])
    more = {**_reasoning(step)[0], "position": 0, "extra_content": {"google": {"thought_signature": f"m{step}"}}}
    turn = {"role": "assistant", "content": f" I look {step}.\n", "tool_calls": [signed, _second_call(step)]}
    return [{**turn, **more}]


def _whole_turn_answer(parts: list[Data], step: int | None) -> Data:
    body = _chat_answer(parts[0] if parts else {}, [])
    return body if step is None else {"choices": [{**body["choices"][0], "finish_reason": "tool_calls"}]}


def _whole_blocks(step: int) -> list[Data]:
    use = {"type": "tool_use", "name": "bash", "input": _arguments(step)}
    said = {"type": "text", "text": f" I look {step}.\n"}
    hidden = {"type": "thinking", "thinking": "", "signature": f"sig{step}b"}
    return [
        {
            "turn": [
                *_blocks(step),
                said,
                hidden,
                {**use, "id": f"a{step}"},
                *_blocks(step + 1),
                {**use, "id": f"b{step}"},
            ]
        }
    ]


def _whole_blocks_answer(parts: list[Data], step: int | None) -> Data:
    return _messages_answer([], step) | ({"content": parts[0]["turn"]} if parts else {})


def _fields_answer(parts: list[Data], step: int | None) -> Data:
    return _chat_answer(parts[0] if parts else {}, [] if step is None else [_chat_call(step, {})])


KINDS = {
    "reasoning_content": Kind(
        "/chat/completions", _reasoning, _fields_answer, _chat_fields("reasoning_content"), _chat_events
    ),
    "reasoning_details": Kind(
        "/chat/completions", _details, _fields_answer, _chat_fields("reasoning", "reasoning_details"), _chat_events
    ),
    "thought_signature": Kind(
        "/chat/completions",
        _signature,
        lambda parts, step: _chat_answer({}, [] if step is None else [_chat_call(step, parts[0])]),
        _signed,
        _chat_events,
    ),
    "responses": Kind(
        "/responses",
        _items,
        _responses_answer,
        _kept_items,
        lambda body: [{"type": "response.completed", "response": body}],
    ),
    "messages": Kind("/messages", _blocks, _messages_answer, _kept_blocks, _block_events),
    "whole turns": Kind(
        "/chat/completions",
        _whole_turn,
        _whole_turn_answer,
        lambda body: [message for message in body["messages"] if message["role"] == "assistant"],
        _chat_events,
    ),
    "whole blocks": Kind(
        "/messages",
        _whole_blocks,
        _whole_blocks_answer,
        lambda body: [{"turn": turn["content"]} for turn in body["messages"] if turn["role"] == "assistant"],
        _block_events,
    ),
}


@dataclass
class StrictServer:
    """Answers with calls for `STEPS` requests, then with a text; a 400 to what is not whole."""

    kind: Kind
    stream: bool
    url: str = ""
    heard: list[Data] = field(default_factory=list[Data])

    def respond(self, body: Data) -> tuple[int, bytes]:
        step = len(self.heard)
        self.heard.append(body)
        wanted = [part for before in range(step) for part in self.kind.opaque(before)]
        if self.kind.found(body) != wanted:
            return 400, json.dumps({"error": {"message": "a part of a turn is missing", "type": "x"}}).encode()
        parts = self.kind.opaque(step) if step < STEPS else []
        answer = self.kind.answer(parts, step if step < STEPS else None)
        if not self.stream:
            return 200, json.dumps(answer).encode()
        events = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in self.kind.events(answer)]
        return 200, b"".join(events)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length: ")[1].split("\r\n")[0])
            status, content = self.respond(json.loads(await reader.readexactly(length)))
            lines = [f"HTTP/1.1 {status} x", "Content-Type: application/json", f"Content-Length: {len(content)}"]
            writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode() + content)
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def strict_server(kind: str, stream: bool = False) -> AsyncIterator[tuple[ChatModel, StrictServer]]:
    """A model at a strict server, and the server."""
    server = StrictServer(KINDS[kind], stream)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    name = "anthropic" if server.kind.path == "/messages" else "openai"
    settings: Data = {"base_url": url, "stream": stream, "api_key_env": "NO_SUCH_KEY", "timeout": 30}
    section = ModelSection(model=f"{name}:m", api="responses" if kind == "responses" else "chat", **settings)
    model = AnthropicModel("m", section) if name == "anthropic" else OpenAIModel("m", section)
    try:
        yield model, server
    finally:
        await model.aclose()
        listener.close()
        await listener.wait_closed()
