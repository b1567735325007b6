"""The OpenAI Chat Completions format: bodies to requests, replies to bodies."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from skillgrad.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, TextPart, Tool, ToolCall
from skillgrad.simulation.wire import FINGERPRINT, Call, Wire, bare_event, parse_body, pieces, with_usual_json


class _Part(BaseModel):
    type: str
    text: str = ""
    image_url: dict[str, Any] = {}


class _Function(BaseModel):
    name: str
    arguments: str = ""
    description: str | None = None
    parameters: dict[str, Any] = {}


class _Call(BaseModel):
    id: str = ""
    function: _Function


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Tool(BaseModel):
    type: Literal["function"] = "function"
    function: _Function


class _Schema(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    name: str = "reply"
    body: dict[str, Any] = Field(default={}, alias="schema")


class _Format(BaseModel):
    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: _Schema | None = None


class _Body(BaseModel):
    model: str
    messages: list[_Message] = Field(min_length=1)
    response_format: _Format | None = None
    tools: list[_Tool] = []
    tool_choice: str | dict[str, Any] | None = None
    seed: int | None = None
    n: Literal[1] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None


def _read(body: bytes, trial: int | None) -> Call:
    data = parse_body(_Body, body)
    request = ChatRequest(
        messages=tuple(_message(message) for message in data.messages),
        response_schema=_schema(data.response_format),
        tools=tuple(_tool(tool) for tool in data.tools),
        forced_tool=_forced(data),
        seed=trial if data.seed is None else data.seed,
    )
    if data.response_format is not None and data.response_format.type == "json_object":
        request = with_usual_json(data.model, request)
    limits = [limit for limit in (data.max_tokens, data.max_completion_tokens) if limit is not None]
    return Call(
        named=data.model,
        request=request,
        most_tokens=min(limits, default=None),
        stream=bool(data.stream),
        stream_usage=bool((data.stream_options or {}).get("include_usage")),
    )


def _message(message: _Message) -> Message:
    roles: dict[str, Any] = {"developer": "system", "function": "tool"}
    content = message.content
    parts = [_Part(type="text", text=content)] if isinstance(content, str) else content or []
    calls = message.tool_calls or []
    return Message(
        role=roles.get(message.role, message.role),
        content=tuple(_part(part) for part in parts),
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments) for call in calls
        ),
        tool_call_id=message.tool_call_id,
    )


def _part(part: _Part) -> TextPart | ImagePart:
    if part.type == "image_url":
        return ImagePart(url=str(part.image_url.get("url", "")))
    return TextPart(text=part.text)


def _tool(tool: _Tool) -> Tool:
    function = tool.function
    return Tool(name=function.name, description=function.description or "", parameters=function.parameters)


def _schema(form: _Format | None) -> ResponseSchema | None:
    if form is None or form.json_schema is None:
        return None
    return ResponseSchema(name=form.json_schema.name, body=form.json_schema.body)


def _forced(data: _Body) -> str | None:
    if isinstance(data.tool_choice, Mapping):
        function = data.tool_choice.get("function", data.tool_choice)
        return str(cast(Mapping[str, Any], function).get("name"))
    if data.tool_choice == "required" and data.tools:
        return data.tools[0].function.name
    return None


def _head(call: Call, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{FINGERPRINT}-{call.id}",
        "object": kind,
        "created": 0,
        "model": call.named,
        "system_fingerprint": FINGERPRINT,
    }


def _usage(reply: Reply) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.usage.input_tokens,
        "completion_tokens": reply.usage.output_tokens,
        "total_tokens": reply.usage.total,
        "prompt_tokens_details": {"cached_tokens": reply.usage.cached_tokens},
    }


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.tool_calls
    ]


def _plain(call: Call, reply: Reply) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": None if reply.tool_calls else reply.text}
    if reply.tool_calls:
        message["tool_calls"] = _calls(reply)
    choice = {"index": 0, "message": message, "finish_reason": reply.finish, "logprobs": None}
    body = {**_head(call, "chat.completion"), "choices": [choice], "usage": _usage(reply)}
    return json.dumps(body, ensure_ascii=False).encode()


def _events(call: Call, reply: Reply) -> Iterator[bytes]:
    head = _head(call, "chat.completion.chunk")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces(reply.text)]
    if reply.tool_calls:
        deltas.append({"tool_calls": [{"index": place, **one} for place, one in enumerate(_calls(reply))]})
    for delta in deltas:
        yield bare_event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield bare_event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]})
    if call.stream_usage:
        yield bare_event({**head, "choices": [], "usage": _usage(reply)})
    yield b"data: [DONE]\n\n"


_KINDS = {429: ("rate_limit_error", "rate_limit_exceeded"), 401: ("invalid_request_error", "invalid_api_key")}


def error_body(status: int, message: str) -> bytes:
    """An error as OpenAI words it."""
    kind, code = _KINDS.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    code = "model_not_found" if status == 404 else code
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


CHAT = Wire(read=_read, plain=_plain, events=_events, error=error_body, overloaded=503)
