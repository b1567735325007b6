"""The Anthropic Messages format: bodies to requests, replies to bodies."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from skillgrad.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, TextPart, Tool, ToolCall
from skillgrad.simulation.wire import FINGERPRINT, Call, Wire, named_event, parse_body, pieces


class _Text(BaseModel):
    type: Literal["text"]
    text: str


class _Source(BaseModel):
    type: Literal["base64", "url"]
    media_type: str = ""
    data: str = ""
    url: str = ""


class _Image(BaseModel):
    type: Literal["image"]
    source: _Source


class _ToolUse(BaseModel):
    type: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, Any]


class _ToolResult(BaseModel):
    type: Literal["tool_result"]
    tool_use_id: str
    content: str | list[_Text | _Image] = ""


class _Thought(BaseModel):
    type: Literal["thinking", "redacted_thinking"]


_Block = Annotated[_Text | _Image | _ToolUse | _ToolResult | _Thought, Field(discriminator="type")]


class _Message(BaseModel):
    role: Literal["user", "assistant"]
    content: str | list[_Block]


class _Tool(BaseModel):
    name: str
    description: str = ""
    input_schema: dict[str, Any]


class _Choice(BaseModel):
    type: Literal["auto", "any", "tool", "none"]
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
    system: str | list[_Text] = ""
    output_config: _Output = _Output()
    tools: list[_Tool] = []
    tool_choice: _Choice = _Choice(type="auto")
    stream: bool = False


def _read(body: bytes, trial: int | None) -> Call:
    data = parse_body(_Body, body)
    told = [Message(role="system", content=_parts(data.system))] if data.system else []
    form = data.output_config.format
    forced = data.tool_choice.name if data.tool_choice.type == "tool" else None
    if data.tool_choice.type == "any" and data.tools:
        forced = data.tools[0].name
    request = ChatRequest(
        messages=(*told, *(part for message in data.messages for part in _messages(message))),
        response_schema=ResponseSchema(name="reply", body=form.body) if form is not None else None,
        tools=tuple(
            Tool(name=tool.name, description=tool.description, parameters=tool.input_schema) for tool in data.tools
        ),
        forced_tool=forced,
        seed=trial,
    )
    return Call(named=data.model, request=request, most_tokens=data.max_tokens, stream=data.stream)


def _messages(message: _Message) -> list[Message]:
    """Results of tools stand before the rest of a user message, and are messages of their own."""
    if isinstance(message.content, str):
        return [Message(role=message.role, content=_parts(message.content))]
    results = [
        Message(role="tool", content=_parts(block.content), tool_call_id=block.tool_use_id)
        for block in message.content
        if isinstance(block, _ToolResult)
    ]
    calls = tuple(
        ToolCall(id=block.id, name=block.name, arguments=json.dumps(block.input, ensure_ascii=False))
        for block in message.content
        if isinstance(block, _ToolUse)
    )
    content = _parts([block for block in message.content if isinstance(block, _Text | _Image)])
    said = Message(role=message.role, content=content, tool_calls=calls)
    return [*results, said] if content or calls else results


def _parts(content: str | Sequence[_Text | _Image]) -> tuple[TextPart | ImagePart, ...]:
    if isinstance(content, str):
        return (TextPart(text=content),)
    return tuple(TextPart(text=one.text) if isinstance(one, _Text) else ImagePart(url=_url(one)) for one in content)


def _url(image: _Image) -> str:
    source = image.source
    return source.url if source.type == "url" else f"data:{source.media_type};base64,{source.data}"


_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refusal": "refusal"}


def _head(call: Call, reply: Reply) -> dict[str, Any]:
    return {
        "id": f"msg_{FINGERPRINT}_{call.id}",
        "type": "message",
        "role": "assistant",
        "model": call.named,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": reply.usage.input_tokens - reply.usage.cached_tokens,
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
    return json.dumps(body, ensure_ascii=False).encode()


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
        yield named_event({"type": "ping"})
        for delta in deltas:
            yield named_event({"type": "content_block_delta", "index": index, "delta": delta})
        yield named_event({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": _STOPS[reply.finish], "stop_sequence": None}
    usage = {"output_tokens": reply.usage.output_tokens}
    yield named_event({"type": "message_delta", "delta": delta, "usage": usage})
    yield named_event({"type": "message_stop"})


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


MESSAGES = Wire(read=_read, plain=_plain, events=_events, error=_error, overloaded=529)
