"""The Anthropic Messages format."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from etude.config import ModelSection, merge
from etude.formats.bills import as_bill, usage_of_anthropic
from etude.formats.endings import ending_of
from etude.formats.errors import error_within, typed_error_body
from etude.formats.events import dump, is_streamed, load, named_event, read_events
from etude.formats.message_events import call_deltas, deltas_of, gathered
from etude.formats.opaque import AssistantTurn, RawPart, data_of, put_back, read_turn
from etude.formats.prompt_cache import mark_first, system_blocks
from etude.formats.wire import (
    Format,
    SchemaForm,
    WireRequest,
    as_data,
    as_text,
    finish_of,
    forced_tool,
    image_part,
    maker,
    parse_body,
    read_schema,
    tool_call,
)
from etude.records import ChatRequest, ImagePart, Message, Reply, TextPart, Tool, ToolCall

_FORM = "messages"

Data = dict[str, Any]


class _Source(BaseModel):
    type: str = ""
    media_type: str = ""
    data: str = ""
    url: str = ""


class _Block(RawPart):
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
    input_schema: Data | None = None
    defer_loading: bool = False


class _Choice(BaseModel):
    type: str = "auto"
    name: str | None = None


class _Output(BaseModel):
    format: SchemaForm | None = None


class _Body(BaseModel):
    model: str
    max_tokens: int = Field(ge=1)
    messages: list[_Message] = Field(min_length=1)
    system: str | list[_Block] | None = None
    output_config: _Output | None = None
    output_format: SchemaForm | None = None
    tools: list[_Tool] | None = None
    tool_choice: _Choice | None = None
    stream: bool | None = None


def write_request(model: str, request: ChatRequest, settings: ModelSection) -> Data:
    """The body of a request."""
    body: Data = {
        "model": model,
        "max_tokens": settings.max_output_tokens,
        "messages": _write_turns(request),
        "temperature": settings.temperature,
        "top_p": settings.top_p,
    }
    body = {key: value for key, value in body.items() if value is not None}
    if blocks := system_blocks(request.messages):
        body["system"] = blocks
    if settings.reasoning_effort is not None:
        body["output_config"] = {"effort": settings.reasoning_effort}
    if request.response_schema is not None:
        form = {"type": "json_schema", "schema": _within(request.response_schema.body)}
        body["output_config"] = {**body.get("output_config", {}), "format": form}
    if settings.thinking is not None and "thinking" not in settings.extra_body:  # other kinds have other fields
        body["thinking"] = {"type": "adaptive" if settings.thinking == "on" else "disabled"}
    if request.tools:
        body["tools"] = [_write_tool(tool) for tool in request.tools]
    if request.forced_tool is not None:
        body["tool_choice"] = {"type": "tool", "name": request.forced_tool, "disable_parallel_tool_use": True}
    if settings.stream:
        body["stream"] = True
    return merge(body, settings.extra_body)


_TAKEN = {"$ref", "type", "enum", "const", "description", "title", "required", "additionalProperties"}
_INNER = {"$defs", "properties", "items", "anyOf", "allOf"}
"""What a JSON schema may have at the server; further keys, as limits of numbers, become words of the description."""
_FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]
_VALUES = {"minItems": [0, 1], "format": _FORMATS}
"""And what it may have with these values only."""


def _within(schema: Any) -> Any:
    """The schema as the server takes it: all objects are closed, and a reference has only `$defs` beside it."""
    if isinstance(schema, list):
        return [_within(one) for one in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    given: Data = {("anyOf" if name == "oneOf" else name): value for name, value in cast(Data, schema).items()}
    if "$ref" in given:
        given = {name: value for name, value in given.items() if name in ("$ref", "$defs")}
    elif "object" in (given.get("type") or ()):
        given = {"properties": {}, **given, "additionalProperties": False}
    made = {name: value for name, value in given.items() if _is_taken(name, value)}
    for name in _INNER & given.keys():
        of_names = name in ("$defs", "properties")
        made[name] = {key: _within(one) for key, one in given[name].items()} if of_names else _within(given[name])
    if more := {name: value for name, value in given.items() if name not in made}:
        limits = ", ".join(f"{name}: {value}" for name, value in more.items())
        made["description"] = f"{made.get('description', '')} {{{limits}}}".strip()
    return made


def _is_taken(name: str, value: Any) -> bool:
    return name in _TAKEN or value in _VALUES.get(name, ())


def _write_tool(tool: Tool) -> Data:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _write_turns(request: ChatRequest) -> list[Data]:
    """User and assistant by turns, results of tools among what the user says."""
    turns: list[Data] = []
    for message in request.messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
        turns[-1]["content"] += _write_blocks(message)
    mark_first(turns, sum(len(message.text) for message in request.messages if message.role == "system"))
    return turns


def _write_blocks(message: Message) -> list[Data]:
    """Blank texts are refused, and say nothing."""
    content = [
        _write_picture(part) if isinstance(part, ImagePart) else _write_text(part.text)
        for part in message.content
        if not isinstance(part, TextPart) or part.text.strip()
    ]
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content}]
    plain = [*content, *map(_write_call, message.tool_calls)]
    return put_back(message, data_of(message, _FORM), plain, _write_text, _write_call)


def _write_text(text: str) -> Data:
    return {"type": "text", "text": text}


def _write_picture(part: ImagePart) -> Data:
    head, _, data = part.url.partition(";base64,")
    if not head.startswith("data:") or not data:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": head.removeprefix("data:"), "data": data}}


def _write_call(call: ToolCall) -> Data:
    """Arguments that stop in the middle are not an object: nothing is left of them."""
    given = as_data(call.arguments)
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given if isinstance(given, dict) else {}}


def _read_request(body: bytes, seed: int | None) -> WireRequest:
    data = parse_body(_Body, body)
    first = [Message(role="system", content=_read_content(data.system))] if data.system else []
    form = data.output_format if data.output_config is None else data.output_config.format
    choice = data.tool_choice or _Choice()
    tools = () if choice.type == "none" else _read_tools(data)
    name = choice.name if choice.type == "tool" else None
    request = ChatRequest(
        messages=(*first, *(part for message in data.messages for part in _read_turn(message))),
        response_schema=read_schema(form),
        tools=tools,
        forced_tool=forced_tool(tools, name, any_tool=choice.type == "any"),
        seed=seed,
    )
    return WireRequest(named=data.model, request=request, most_tokens=data.max_tokens, stream=bool(data.stream))


def _read_tools(data: _Body) -> tuple[Tool, ...]:
    """Tools of the server have no schema. One that is loaded on demand counts once a result refers to it."""
    blocks = [block for message in data.messages for block in message.content if isinstance(block, _Block)]
    loaded = {inner.tool_name for block in blocks if block.type == "tool_result" for inner in _read_result(block)}
    return tuple(
        Tool(name=tool.name, description=tool.description or "", parameters=tool.input_schema)
        for tool in data.tools or ()
        if tool.input_schema is not None and (not tool.defer_loading or tool.name in loaded)
    )


def _read_result(result: _Block) -> list[_Block]:
    """What the result of a tool is made of."""
    if isinstance(result.content, str):
        return [_Block(type="text", text=result.content)]
    try:
        return _BLOCKS.validate_python(result.content or [])
    except ValidationError:
        return [_Block(type="text", text=json.dumps(result.content, ensure_ascii=False))]


def _read_turn(message: _Message) -> list[Message]:
    """Results of tools stand before the rest of a user message, and are messages of their own."""
    if isinstance(message.content, str):
        return [Message(role=message.role, content=_read_content(message.content))]
    results = [
        Message(role="tool", content=_read_content(_read_result(block)), tool_call_id=block.tool_use_id)
        for block in message.content
        if block.type == "tool_result"
    ]
    if message.role == "assistant":
        texts, calls, kept = _turn(message.content)
        content = tuple(TextPart(text=text) for text in texts)
        said = [Message(role="assistant", content=content, tool_calls=calls, opaque=kept)] if content or calls else []
    else:
        content = _read_content([block for block in message.content if block.type != "tool_result"])
        said = [Message(role=message.role, content=content)] if content else []
    return [*results, *said]


_KNOWN = {"type", "text", "citations", "id", "name", "input", "cache_control"}
"""Fields of texts and calls that have a place of their own, or are for one side only."""


def _turn(blocks: Sequence[_Block]) -> AssistantTurn:
    """With what the server wants back: thoughts with their signatures, what its own tools did."""
    return read_turn(_FORM, blocks, _KNOWN, _read_said)


def _read_said(block: _Block, at: int) -> str | ToolCall | None:
    if block.type == "tool_use":
        return tool_call(at, block.id, block.name, block.input)
    return block.text or "" if block.type == "text" else None


def _read_content(content: str | Sequence[_Block] | None) -> tuple[TextPart | ImagePart, ...]:
    if isinstance(content, str) or content is None:
        return as_text(content or "")
    return tuple(part for block in content for part in _read_block(block))


def _read_block(block: _Block) -> tuple[TextPart | ImagePart, ...]:
    """What was thought, and what the server's own tools said, has no text of its own and is left out."""
    source = block.source if isinstance(block.source, _Source) else None
    if block.type == "image" and source is not None:
        return image_part(f"data:{source.media_type};base64,{source.data}" if source.data else source.url)
    if block.type == "document" and source is not None:
        return as_text(source.data if source.type == "text" else f"[document: {source.url or source.media_type}]")
    if block.type == "tool_reference":
        return as_text(f"[tool: {block.tool_name}]")
    return as_text(block.text or "")


class _Answer(BaseModel):
    id: str = ""
    content: list[_Block]
    stop_reason: Any = None
    usage: Any = None
    error: Any = None


_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refusal": "refusal"}


def _head(call: WireRequest, reply: Reply) -> Data:
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
            "output_tokens": min(1, reply.usage.output_tokens),
        },
    }


def _write_reply(call: WireRequest, reply: Reply) -> bytes:
    head = _head(call, reply)
    head["usage"]["output_tokens"] = reply.usage.output_tokens
    return dump({**head, "content": _write_content(reply), "stop_reason": _STOPS[reply.finish]})


def _write_content(reply: Reply) -> list[Data]:
    plain = [_write_text(reply.text)] if reply.text else []
    plain += map(_write_call, reply.tool_calls)
    return put_back(reply.turn, data_of(reply.turn, _FORM), plain, _write_text, _write_call)


def _write_events(call: WireRequest, reply: Reply) -> Iterator[bytes]:
    yield named_event({"type": "message_start", "message": _head(call, reply)})
    calls = iter(reply.tool_calls)
    blocks = [
        call_deltas(block, next(calls)) if block["type"] == "tool_use" else deltas_of(block)
        for block in _write_content(reply)
    ]
    for index, (start, deltas) in enumerate(blocks):
        yield named_event({"type": "content_block_start", "index": index, "content_block": start})
        yield _PING
        for delta in deltas:
            yield named_event({"type": "content_block_delta", "index": index, "delta": delta})
        yield named_event({"type": "content_block_stop", "index": index})
    end = {"delta": {"stop_reason": _STOPS[reply.finish], "stop_sequence": None}}
    yield named_event({"type": "message_delta", **end, "usage": {"output_tokens": reply.usage.output_tokens}})
    yield named_event({"type": "message_stop"})


def _read_reply(body: bytes) -> Reply:
    streamed = is_streamed(body)
    answer = _read_answer(gathered(read_events(body)) if streamed else load(body))
    texts, calls, kept = _turn(answer.content)
    usage = usage_of_anthropic(answer.usage)
    return Reply(
        text="".join(texts),
        tool_calls=calls,
        finish=finish_of(calls, ending_of(answer.stop_reason, usage)),
        usage=usage,
        simulated=answer.id.startswith("msg_simulated"),
        opaque=kept,
    )


def _read_answer(body: Any) -> _Answer:
    if error := as_bill(body).get("error"):
        raise error_within(error)
    return _Answer.model_validate(body)


_PING = named_event({"type": "ping"})


def _write_broken(_: WireRequest, status: int, message: str) -> bytes:
    return b"event: error\ndata: " + typed_error_body(status, message) + b"\n\n"


MESSAGES = Format(
    path="/messages",
    answer="message",
    write_request=write_request,
    read_request=_read_request,
    write_reply=_write_reply,
    write_events=_write_events,
    read_reply=_read_reply,
    write_error=typed_error_body,
    write_broken=_write_broken,
    waiting=_PING,
    overloaded=529,
)
