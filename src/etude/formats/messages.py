"""The Anthropic Messages format: bodies to requests, replies to bodies."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from etude.formats.base import (
    Call,
    Wire,
    as_text,
    forced_tool,
    image_part,
    maker,
    named_event,
    parse_body,
    pieces,
)
from etude.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, TextPart, Tool, ToolCall


class _Source(BaseModel):
    type: str = ""
    media_type: str = ""
    data: str = ""
    url: str = ""


class _Block(BaseModel):
    """Each type of block uses some of the fields."""

    type: str
    text: str | None = None
    source: _Source | str | None = None
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    tool_name: str = ""
    content: Any = None


_BLOCKS = TypeAdapter(list[_Block])


class _Message(BaseModel):
    role: Literal["user", "assistant", "system"]
    content: str | list[_Block]


class _Tool(BaseModel):
    name: str = ""
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    defer_loading: bool = False


class _Choice(BaseModel):
    type: str = "auto"
    name: str | None = None


class _Format(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    type: Literal["json_schema"]
    body: dict[str, Any] = Field(alias="schema")


class _Output(BaseModel):
    format: _Format | None = None


class _Body(BaseModel):
    model: str
    max_tokens: int = Field(ge=1)
    messages: list[_Message] = Field(min_length=1)
    system: str | list[_Block] | None = None
    output_config: _Output | None = None
    output_format: _Format | None = None
    tools: list[_Tool] | None = None
    tool_choice: _Choice | None = None
    stream: bool | None = None


def _read(body: bytes, trial: int | None) -> Call:
    data = parse_body(_Body, body)
    told = [Message(role="system", content=_content(data.system))] if data.system else []
    form = data.output_format if data.output_config is None else data.output_config.format
    choice = data.tool_choice or _Choice()
    tools = () if choice.type == "none" else _tools(data)
    name = choice.name if choice.type == "tool" else None
    request = ChatRequest(
        messages=(*told, *(part for message in data.messages for part in _messages(message))),
        response_schema=ResponseSchema(name="reply", body=form.body) if form is not None else None,
        tools=tools,
        forced_tool=forced_tool(tools, name, any_tool=choice.type == "any"),
        seed=trial,
    )
    return Call(named=data.model, request=request, most_tokens=data.max_tokens, stream=bool(data.stream))


def _tools(data: _Body) -> tuple[Tool, ...]:
    """Tools of the server have no schema. One that is loaded on demand counts once a result refers to it."""
    blocks = [block for message in data.messages for block in message.content if isinstance(block, _Block)]
    loaded = {inner.tool_name for block in blocks if block.type == "tool_result" for inner in _inner(block)}
    return tuple(
        Tool(name=tool.name, description=tool.description or "", parameters=tool.input_schema)
        for tool in data.tools or ()
        if tool.input_schema is not None and (not tool.defer_loading or tool.name in loaded)
    )


def _inner(result: _Block) -> list[_Block]:
    """What the result of a tool is made of."""
    if isinstance(result.content, str):
        return [_Block(type="text", text=result.content)]
    try:
        return _BLOCKS.validate_python(result.content or [])
    except ValidationError:
        return [_Block(type="text", text=json.dumps(result.content, ensure_ascii=False))]


def _messages(message: _Message) -> list[Message]:
    """Results of tools stand before the rest of a user message, and are messages of their own."""
    if isinstance(message.content, str):
        return [Message(role=message.role, content=_content(message.content))]
    results = [
        Message(role="tool", content=_content(_inner(block)), tool_call_id=block.tool_use_id)
        for block in message.content
        if block.type == "tool_result"
    ]
    calls = tuple(
        ToolCall(id=block.id, name=block.name, arguments=json.dumps(block.input, ensure_ascii=False))
        for block in message.content
        if block.type == "tool_use"
    )
    content = _content([block for block in message.content if block.type not in ("tool_result", "tool_use")])
    said = Message(role=message.role, content=content, tool_calls=calls)
    return [*results, said] if content or calls else results


def _content(content: str | Sequence[_Block] | None) -> tuple[TextPart | ImagePart, ...]:
    if isinstance(content, str) or content is None:
        return as_text(content or "")
    return tuple(part for block in content for part in _parts(block))


def _parts(block: _Block) -> tuple[TextPart | ImagePart, ...]:
    """What was thought, and what the server's own tools said, has no text of its own and is left out."""
    source = block.source if isinstance(block.source, _Source) else None
    if block.type == "image" and source is not None:
        return image_part(f"data:{source.media_type};base64,{source.data}" if source.data else source.url)
    if block.type == "document" and source is not None:
        return as_text(source.data if source.type == "text" else f"[document: {source.url or source.media_type}]")
    if block.type == "tool_reference":
        return as_text(f"[tool: {block.tool_name}]")
    return as_text(block.text or "")


_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refusal": "refusal"}


def _head(call: Call, reply: Reply) -> dict[str, Any]:
    return {
        "id": f"msg_{maker(reply)}_{call.id}",
        "type": "message",
        "role": "assistant",
        "model": call.named,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": max(0, reply.usage.input_tokens - reply.usage.cached_tokens),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": reply.usage.cached_tokens,
            "output_tokens": 1,
        },
    }


def _plain(call: Call, reply: Reply) -> bytes:
    head = _head(call, reply)
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}
        for call in reply.tool_calls
    ]
    usage = {**head["usage"], "output_tokens": reply.usage.output_tokens}
    body = {**head, "content": content, "stop_reason": _STOPS[reply.finish], "usage": usage}
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _input(arguments: str) -> Any:
    """Arguments that stop in the middle are no object: nothing is left of them."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def _events(call: Call, reply: Reply) -> Iterator[bytes]:
    yield named_event({"type": "message_start", "message": _head(call, reply)})
    blocks: list[tuple[dict[str, Any], list[dict[str, str]]]] = []
    if reply.text:
        texts = [{"type": "text_delta", "text": piece} for piece in pieces(reply.text)]
        blocks.append(({"type": "text", "text": ""}, texts))
    for tool in reply.tool_calls:
        start: dict[str, Any] = {"type": "tool_use", "id": tool.id, "name": tool.name, "input": {}}
        parts = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(tool.arguments))]
        blocks.append((start, parts))
    for index, (start, deltas) in enumerate(blocks):
        yield named_event({"type": "content_block_start", "index": index, "content_block": start})
        yield _PING
        for delta in deltas:
            yield named_event({"type": "content_block_delta", "index": index, "delta": delta})
        yield named_event({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": _STOPS[reply.finish], "stop_sequence": None}
    usage = {"output_tokens": reply.usage.output_tokens}
    yield named_event({"type": "message_delta", "delta": delta, "usage": usage})
    yield named_event({"type": "message_stop"})


_PING = named_event({"type": "ping"})
_KINDS = {
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def _error(status: int, message: str) -> bytes:
    kind = _KINDS.get(status, "invalid_request_error")
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}, "request_id": None}).encode()


def _broken(call: Call, status: int, message: str) -> bytes:
    del call
    return b"event: error\ndata: " + _error(status, message) + b"\n\n"


MESSAGES = Wire(read=_read, plain=_plain, events=_events, error=_error, broken=_broken, waiting=_PING, overloaded=529)
