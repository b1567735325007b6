"""The OpenAI Chat Completions format."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import BaseModel, Field

from etude.config import ModelSection, merge
from etude.formats.base import (
    CacheDetails,
    Call,
    Format,
    SchemaForm,
    as_json,
    as_text,
    finish_of,
    forced_tool,
    has_picture,
    image_part,
    maker,
    parse_body,
    read_schema,
    tool_call,
    usage_of,
)
from etude.formats.errors import error_body, error_within
from etude.formats.events import WAITING, bare_event, dump, is_streamed, load, pieces, read_events
from etude.records import ChatRequest, ImagePart, Message, Reply, TextPart, Tool, ToolCall, Usage


class _Part(BaseModel):
    type: str = "text"
    text: str | None = None
    refusal: str | None = None
    image_url: str | dict[str, Any] | None = None


class _Function(BaseModel):
    name: str | None = None
    arguments: Any = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Custom(BaseModel):
    name: str
    input: str = ""


class _Call(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    custom: _Custom | None = None


class _Said(BaseModel):
    """A message, or a piece of one in a stream."""

    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Message(_Said):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    tool_call_id: str | None = None


class _Tool(BaseModel):
    function: _Function | None = None


class _Format(BaseModel):
    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: SchemaForm | None = None


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


def write_request(
    model: str, request: ChatRequest, settings: ModelSection, *, limit: str = "max_tokens"
) -> dict[str, Any]:
    """The body of a request; `limit` is the field that bounds the reply: `max_tokens` or `max_completion_tokens`."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_write_message(message) for message in request.messages],
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "reasoning_effort": settings.reasoning_effort,
        "seed": request.seed if settings.send_seed else None,
    }
    body = {key: value for key, value in body.items() if value is not None}
    if not settings.extra_body.keys() & {"max_tokens", "max_completion_tokens"}:
        body[limit] = settings.max_output_tokens
    if request.response_schema is not None:
        schema = {"name": request.response_schema.name, "schema": request.response_schema.body, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.tools:
        body["tools"] = [{"type": "function", "function": tool.model_dump()} for tool in request.tools]
    if request.forced_tool is not None:
        body["tool_choice"] = {"type": "function", "function": {"name": request.forced_tool}}
    if settings.thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": settings.thinking == "on"}
    if settings.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return merge(body, settings.extra_body)


def _write_message(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role, "content": message.text}
    if has_picture(message):
        written["content"] = [
            {"type": "image_url", "image_url": {"url": part.url}}
            if isinstance(part, ImagePart)
            else {"type": "text", "text": part.text}
            for part in message.content
        ]
    if message.role == "tool":
        written["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        written["content"] = written["content"] or None
        written["tool_calls"] = _write_calls(message.tool_calls)
    return written


def _write_calls(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]


def _read_request(body: bytes, seed: int | None) -> Call:
    data = parse_body(_Body, body)
    functions = [tool.function for tool in data.tools or () if tool.function is not None]
    tools = tuple(
        Tool(name=one.name, description=one.description or "", parameters=one.parameters or {})
        for one in functions
        if one.name and data.tool_choice != "none"
    )
    form = data.response_format or _Format()
    request = ChatRequest(
        messages=tuple(_read_message(message) for message in data.messages),
        response_schema=read_schema(form.json_schema),
        tools=tools,
        forced_tool=_forced(data, tools),
        seed=seed if data.seed is None else data.seed,
    )
    limits = [limit for limit in (data.max_tokens, data.max_completion_tokens) if limit is not None]
    return Call(
        named=data.model,
        request=request,
        most_tokens=min(limits, default=None),
        stream=bool(data.stream),
        stream_usage=bool((data.stream_options or {}).get("include_usage")),
    )


def _read_message(message: _Message) -> Message:
    roles: dict[str, Any] = {"developer": "system", "function": "tool"}
    content = message.content
    parts = [_Part(text=content)] if isinstance(content, str) else content or []
    return Message(
        role=roles.get(message.role, message.role),
        content=tuple(shown for part in parts for shown in _read_part(part)),
        tool_calls=tuple(called for call in message.tool_calls or () for called in _read_call(call)),
        tool_call_id=message.tool_call_id,
    )


def _read_part(part: _Part) -> tuple[TextPart | ImagePart, ...]:
    if part.image_url is not None:
        return image_part(part.image_url if isinstance(part.image_url, str) else part.image_url.get("url"))
    return as_text(part.text or part.refusal)


def _read_call(call: _Call) -> tuple[ToolCall, ...]:
    if call.function is not None:
        arguments = as_json(call.function.arguments)
        return (ToolCall(id=call.id or "", name=call.function.name or "", arguments=arguments),)
    if call.custom is not None:
        arguments = json.dumps({"input": call.custom.input})
        return (ToolCall(id=call.id or "", name=call.custom.name, arguments=arguments),)
    return ()


def _forced(data: _Body, tools: tuple[Tool, ...]) -> str | None:
    name: Any = None
    if isinstance(data.tool_choice, Mapping):
        function: Any = data.tool_choice.get("function", data.tool_choice)
        name = cast(Mapping[str, Any], function).get("name") if isinstance(function, Mapping) else None
    return forced_tool(tools, name, any_tool=data.tool_choice == "required")


class _Choice(BaseModel):
    index: int = 0
    message: _Said | None = None
    delta: _Said | None = None
    """What a stream adds to the message."""
    finish_reason: str | None = None


class _Bill(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: CacheDetails | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = []
    usage: _Bill | None = None
    system_fingerprint: str | None = None


def _head(call: Call, reply: Reply, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{maker(reply)}-{call.id}",
        "object": kind,
        "created": 0,
        "model": call.named,
        "system_fingerprint": maker(reply),
    }


def _write_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def _finish(reply: Reply) -> str:
    return "content_filter" if reply.finish == "refusal" else reply.finish


def _write_reply(call: Call, reply: Reply) -> bytes:
    content = None if reply.tool_calls and not reply.text else reply.text
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if reply.tool_calls:
        message["tool_calls"] = _write_calls(reply.tool_calls)
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
    return dump({**_head(call, reply, "chat.completion"), "choices": [choice], "usage": _write_usage(reply.usage)})


def _write_events(call: Call, reply: Reply) -> Iterator[bytes]:
    head = _head(call, reply, "chat.completion.chunk")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces(reply.text)]
    if reply.tool_calls:
        calls = _write_calls(reply.tool_calls)
        deltas.append({"tool_calls": [{"index": place, **one} for place, one in enumerate(calls)]})
    for delta in deltas:
        yield bare_event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield bare_event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]})
    if call.stream_usage:
        yield bare_event({**head, "choices": [], "usage": _write_usage(reply.usage)})
    yield b"data: [DONE]\n\n"


def _read_reply(body: bytes) -> Reply:
    streamed = is_streamed(body)
    completion = _gathered(read_events(body)) if streamed else _Completion.model_validate(load(body))
    choice = completion.choices[0] if completion.choices else _Choice()
    if choice.message is None:
        raise ValueError("no choice with a message")
    calls = tuple(
        tool_call(at, call.id, function.name, function.arguments)
        for at, call in enumerate(choice.message.tool_calls or ())
        for function in [call.function or _Function()]
    )
    bill = completion.usage or _Bill()
    cached = (bill.prompt_tokens_details or CacheDetails()).cached_tokens
    refused = bool(choice.message.refusal) or choice.finish_reason == "content_filter"
    cut = choice.finish_reason == "length"
    return Reply(
        text=choice.message.refusal or _text(choice.message.content),
        tool_calls=calls,
        finish=finish_of(calls, refused=refused, cut=cut),
        usage=usage_of(bill.prompt_tokens, bill.completion_tokens, cached),
        simulated=(completion.system_fingerprint or "").startswith("simulated"),
    )


def _text(content: str | list[_Part] | None) -> str:
    return "".join(part.text or "" for part in content) if isinstance(content, list) else content or ""


def _gathered(events: Sequence[dict[str, Any]]) -> _Completion:
    """The completion that a stream builds up."""
    said = _Said()
    calls: dict[int, _Call] = {}
    whole = _Completion(choices=[_Choice(message=said)])
    for event in events:
        if event.get("error") is not None:
            raise error_within(event["error"])
        chunk = _Completion.model_validate(event)
        whole.usage = chunk.usage or whole.usage
        whole.system_fingerprint = chunk.system_fingerprint or whole.system_fingerprint
        for choice in chunk.choices:
            if choice.index != 0:
                continue
            whole.choices[0].finish_reason = choice.finish_reason or whole.choices[0].finish_reason
            delta = choice.delta or _Said()
            said.content = _text(said.content) + _text(delta.content)
            said.refusal = (said.refusal or "") + (delta.refusal or "") or None
            for piece in delta.tool_calls or ():
                _extend(calls, piece)
    if whole.choices[0].finish_reason is None and {} not in events:
        raise ValueError("a stream without an end")
    said.tool_calls = [calls[at] for at in sorted(calls)]
    return whole


def _extend(calls: dict[int, _Call], piece: _Call) -> None:
    """Some servers leave the index out: then an id begins a new call, and what has none belongs to the last."""
    place = len(calls) - (piece.id is None and bool(calls)) if piece.index is None else piece.index
    whole = _Function(name="", arguments="")
    call = calls.setdefault(place, _Call(function=whole))
    call.id = piece.id or call.id
    whole, more = call.function or whole, piece.function or _Function()
    whole.name = f"{whole.name}{more.name or ''}"
    if more.arguments is not None:
        whole.arguments += as_json(more.arguments)


def _write_broken(_: Call, status: int, message: str) -> bytes:
    return b"data: " + error_body(status, message) + b"\n\n"


CHAT = Format(
    path="/chat/completions",
    answer="chat completion",
    write_request=write_request,
    read_request=_read_request,
    write_reply=_write_reply,
    write_events=_write_events,
    read_reply=_read_reply,
    write_error=error_body,
    write_broken=_write_broken,
    waiting=WAITING,
    overloaded=503,
)
