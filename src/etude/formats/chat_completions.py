"""The OpenAI Chat Completions format: bodies to requests, replies to bodies."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from etude.formats.base import (
    COMMENT,
    Call,
    Wire,
    as_text,
    bare_event,
    forced_tool,
    image_part,
    maker,
    parse_body,
    pieces,
)
from etude.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, TextPart, Tool, ToolCall


class _Part(BaseModel):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | dict[str, Any] | None = None


class _Function(BaseModel):
    name: str
    arguments: Any = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Custom(BaseModel):
    name: str
    input: str = ""


class _Call(BaseModel):
    id: str = ""
    function: _Function | None = None
    custom: _Custom | None = None


class _Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Tool(BaseModel):
    type: str = "function"
    function: _Function | None = None


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
    tools: list[_Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    seed: int | None = None
    n: Literal[1] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None


def _read(body: bytes, trial: int | None) -> Call:
    data = parse_body(_Body, body)
    tools = tuple(_tool(tool.function) for tool in data.tools or () if tool.function is not None)
    tools = () if data.tool_choice == "none" else tools
    form = data.response_format
    request = ChatRequest(
        messages=tuple(_message(message) for message in data.messages),
        response_schema=_schema(form),
        tools=tools,
        forced_tool=_forced(data, tools),
        seed=trial if data.seed is None else data.seed,
    )
    limits = [limit for limit in (data.max_tokens, data.max_completion_tokens) if limit is not None]
    return Call(
        named=data.model,
        request=request,
        most_tokens=min(limits, default=None),
        stream=bool(data.stream),
        stream_usage=bool((data.stream_options or {}).get("include_usage")),
        any_json=form is not None and form.type == "json_object",
    )


def _message(message: _Message) -> Message:
    roles: dict[str, Any] = {"developer": "system", "function": "tool"}
    content = message.content
    parts = [_Part(type="text", text=content)] if isinstance(content, str) else content or []
    return Message(
        role=roles.get(message.role, message.role),
        content=tuple(shown for part in parts for shown in _shown(part)),
        tool_calls=tuple(called for call in message.tool_calls or () for called in _called(call)),
        tool_call_id=message.tool_call_id,
    )


def _shown(part: _Part) -> tuple[TextPart | ImagePart, ...]:
    if part.image_url is not None:
        return image_part(part.image_url if isinstance(part.image_url, str) else part.image_url.get("url"))
    return as_text(part.text or part.refusal or "")


def _called(call: _Call) -> tuple[ToolCall, ...]:
    if call.function is not None:
        given = call.function.arguments
        arguments = given if isinstance(given, str) else json.dumps({} if given is None else given)
        return (ToolCall(id=call.id, name=call.function.name, arguments=arguments),)
    if call.custom is not None:
        return (ToolCall(id=call.id, name=call.custom.name, arguments=json.dumps({"input": call.custom.input})),)
    return ()


def _tool(function: _Function) -> Tool:
    return Tool(name=function.name, description=function.description or "", parameters=function.parameters or {})


def _schema(form: _Format | None) -> ResponseSchema | None:
    if form is None or form.json_schema is None:
        return None
    return ResponseSchema(name=form.json_schema.name, body=form.json_schema.body)


def _forced(data: _Body, tools: tuple[Tool, ...]) -> str | None:
    name: Any = None
    if isinstance(data.tool_choice, Mapping):
        function: Any = data.tool_choice.get("function", data.tool_choice)
        name = cast(Mapping[str, Any], function).get("name") if isinstance(function, Mapping) else None
    return forced_tool(tools, name, any_tool=data.tool_choice == "required")


def _head(call: Call, reply: Reply, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{maker(reply)}-{call.id}",
        "object": kind,
        "created": 0,
        "model": call.named,
        "system_fingerprint": maker(reply),
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


def _finish(reply: Reply) -> str:
    return "content_filter" if reply.finish == "refusal" else reply.finish


def _plain(call: Call, reply: Reply) -> bytes:
    content = None if reply.tool_calls and not reply.text else reply.text
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if reply.tool_calls:
        message["tool_calls"] = _calls(reply)
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
    body = {**_head(call, reply, "chat.completion"), "choices": [choice], "usage": _usage(reply)}
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _events(call: Call, reply: Reply) -> Iterator[bytes]:
    head = _head(call, reply, "chat.completion.chunk")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces(reply.text)]
    if reply.tool_calls:
        deltas.append({"tool_calls": [{"index": place, **one} for place, one in enumerate(_calls(reply))]})
    for delta in deltas:
        yield bare_event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield bare_event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]})
    if call.stream_usage:
        yield bare_event({**head, "choices": [], "usage": _usage(reply)})
    yield b"data: [DONE]\n\n"


_KINDS = {429: ("rate_limit_error", "rate_limit_exceeded"), 401: ("invalid_request_error", "invalid_api_key")}


def error_body(status: int, message: str) -> bytes:
    """An error as OpenAI words it."""
    kind, code = _KINDS.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    code = "model_not_found" if status == 404 else code
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


def _broken(call: Call, status: int, message: str) -> bytes:
    del call
    return b"data: " + error_body(status, message) + b"\n\n"


CHAT = Wire(
    read=_read,
    plain=_plain,
    events=_events,
    error=error_body,
    broken=_broken,
    waiting=COMMENT,
    overloaded=503,
)
