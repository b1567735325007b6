"""The OpenAI chat completions format: bodies to requests, replies to bodies."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillgrad.errors import InputError
from skillgrad.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, TextPart, Tool, ToolCall, digest
from skillgrad.simulation.forms import wanted_form
from skillgrad.simulation.schemas import by_example
from skillgrad.simulation.text import CHARS_PER_TOKEN, tokens
from skillgrad.simulation.world import JUDGE, TARGETS

FINGERPRINT = "simulated"
CHUNKS = 5
"""Pieces a streamed text comes in."""


class BadBody(InputError):
    """The body is no chat completions request."""


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


@dataclass(frozen=True)
class Call:
    """A chat completions request."""

    model: str
    """Without the prefix `simulated:` or `simulated-`."""
    named: str
    """As the client wrote it."""
    request: ChatRequest
    most_tokens: int | None
    stream: bool
    stream_usage: bool
    wants_json: bool


def read_call(body: bytes) -> Call:
    """Read a request body.

    Raises:
        BadBody: no JSON, or not what a chat completions request has.
    """
    try:
        data = _Body.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadBody(f"{where}: {first['msg']}" if where else first["msg"]) from None
    model = data.model.removeprefix("simulated:").removeprefix("simulated-")
    request = ChatRequest(
        messages=tuple(_message(message) for message in data.messages),
        response_schema=_schema(data.response_format),
        tools=tuple(_tool(tool) for tool in data.tools),
        forced_tool=_forced(data),
        seed=data.seed,
    )
    request = _with_json_object(model, data.response_format, request)
    limits = [limit for limit in (data.max_tokens, data.max_completion_tokens) if limit is not None]
    return Call(
        model=model,
        named=data.model,
        request=request,
        most_tokens=min(limits, default=None),
        stream=bool(data.stream),
        stream_usage=bool((data.stream_options or {}).get("include_usage")),
        wants_json=request.response_schema is not None or wanted_form(request) is not None,
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


def _with_json_object(model: str, form: _Format | None, request: ChatRequest) -> ChatRequest:
    """`json_object` names no schema: the skeleton in the prompt is used, else what the role usually says."""
    if form is None or form.type != "json_object" or wanted_form(request) is not None:
        return request
    edit = {"op": "append|insert_after|replace|delete", "target": "", "content": "", "reason": "", "cites": [""]}
    usual: dict[str, Any] = {"reasoning": "", "edits": [edit]}
    if model in TARGETS:
        usual = {"reasoning": "", "answer": ""}
    elif model == JUDGE:
        usual = {"score": 0.5, "reason": ""}
    return request.model_copy(update={"response_schema": ResponseSchema(name="reply", body=by_example(usual))})


def clip(reply: Reply, most_tokens: int | None) -> Reply:
    """The reply, cut to so many tokens."""
    if most_tokens is None or reply.usage.output_tokens <= most_tokens:
        return reply
    most = most_tokens * CHARS_PER_TOKEN
    calls = tuple(call.model_copy(update={"arguments": call.arguments[:most]}) for call in reply.tool_calls)
    usage = reply.usage.model_copy(update={"output_tokens": most_tokens})
    return reply.model_copy(
        update={"text": reply.text[:most], "tool_calls": calls, "usage": usage, "finish": "length"}
    )


def cut(reply: Reply) -> Reply:
    """The reply with its content ending in the middle, though it does not say so."""
    calls = tuple(call.model_copy(update={"arguments": _half(call.arguments)}) for call in reply.tool_calls)
    return reply.model_copy(update={"text": _half(reply.text), "tool_calls": calls})


def _half(text: str) -> str:
    return text[: len(text) // 2]


def empty(reply: Reply) -> Reply:
    """The reply without its content."""
    usage = reply.usage.model_copy(update={"output_tokens": tokens("")})
    return reply.model_copy(update={"text": "", "tool_calls": (), "usage": usage, "finish": "stop"})


def _head(call: Call, kind: str) -> dict[str, Any]:
    name = digest([call.named, call.request.model_dump(mode="json")])[:24]
    return {
        "id": f"chatcmpl-{name}",
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


def completion(call: Call, reply: Reply) -> bytes:
    """The body of a plain answer."""
    message: dict[str, Any] = {"role": "assistant", "content": None if reply.tool_calls else reply.text}
    if reply.tool_calls:
        message["tool_calls"] = _calls(reply)
    choice = {"index": 0, "message": message, "finish_reason": reply.finish, "logprobs": None}
    body = {**_head(call, "chat.completion"), "choices": [choice], "usage": _usage(reply)}
    return json.dumps(body, ensure_ascii=False).encode()


def stream(call: Call, reply: Reply) -> Iterator[bytes]:
    """The events of a streamed answer."""
    head = _head(call, "chat.completion.chunk")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    size = max(1, -(-len(reply.text) // CHUNKS))
    deltas += [{"content": reply.text[start : start + size]} for start in range(0, len(reply.text), size)]
    if reply.tool_calls:
        deltas.append({"tool_calls": [{"index": place, **one} for place, one in enumerate(_calls(reply))]})
    for delta in deltas:
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]})
    if call.stream_usage:
        yield _event({**head, "choices": [], "usage": _usage(reply)})
    yield b"data: [DONE]\n\n"


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def error_body(message: str, kind: str, code: str | None = None) -> bytes:
    """An error as OpenAI words it."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()
