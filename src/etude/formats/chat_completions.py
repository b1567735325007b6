"""The OpenAI Chat Completions format."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import BaseModel, Field

from etude.config import ModelSection, merge
from etude.formats.bills import usage_of_openai
from etude.formats.chat_parts import (
    MESSAGE,
    PART,
    TOLD,
    Completion,
    CompletionCall,
    CompletionChoice,
    CompletionMessage,
    ContentPart,
    Function,
    gathered,
    more_of_call,
    text_of,
)
from etude.formats.endings import ending_of
from etude.formats.errors import error_body, error_within
from etude.formats.events import WAITING, bare_event, dump, is_streamed, load, pieces, read_events
from etude.formats.opaque import data_of, is_thought, opaque, put_back, read_turn
from etude.formats.wire import (
    Format,
    SchemaForm,
    WireRequest,
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
)
from etude.records import ChatRequest, ImagePart, Message, Opaque, Reply, TextPart, Tool, ToolCall, Usage

_FORM = "chat"


class _Message(CompletionMessage):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    tool_call_id: str | None = None


class _Tool(BaseModel):
    function: Function | None = None


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


def write_request(model: str, request: ChatRequest, settings: ModelSection) -> dict[str, Any]:
    """The body of a request. The reply is bounded by `max_tokens`, or by another limit of `extra_body`."""
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
        body["max_tokens"] = settings.max_output_tokens
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
    kept = _kept_of(message)
    if "content" in kept:
        said = message.model_copy(update={"tool_calls": ()})
        written["content"] = put_back(said, kept["content"], [_write_text(message.text)], _write_text, _write_call)
    if message.tool_calls:
        written["content"] = written["content"] or None
        written["tool_calls"] = _write_calls(message.tool_calls, kept)
    return written | kept.get("fields", {})


def _write_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _write_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _write_calls(calls: Sequence[ToolCall], kept: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was kept belongs to the calls in their order, if they are all there."""
    more: list[dict[str, Any]] = kept.get("calls", [])
    more = more if len(more) == len(calls) else [{} for _ in calls]
    return [merge(_write_call(call), added) for call, added in zip(calls, more, strict=True)]


def _kept(message: CompletionMessage) -> Opaque | None:
    """What the server wants back with a turn, as reasoning or signatures of calls: all that has no other place."""
    parts = message.content if isinstance(message.content, list) else []
    content = read_turn(_FORM, parts, PART, lambda part, _: _said_in(part)).opaque
    calls = list(map(more_of_call, message.tool_calls or ()))
    kept: dict[str, Any] = {"fields": message.more(MESSAGE | TOLD)}
    kept |= {"calls": calls} if any(calls) else {}
    kept |= {"content": content.data} if content is not None else {}
    return opaque(_FORM, kept) if kept["fields"] or len(kept) > 1 else None


def _kept_of(message: Message) -> dict[str, Any]:
    return cast(dict[str, Any], data_of(message, _FORM) or {})


def _read_request(body: bytes, seed: int | None) -> WireRequest:
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
    return WireRequest(
        named=data.model,
        request=request,
        most_tokens=min(limits, default=None),
        stream=bool(data.stream),
        stream_usage=bool((data.stream_options or {}).get("include_usage")),
    )


def _read_message(message: _Message) -> Message:
    roles: dict[str, Any] = {"developer": "system", "function": "tool"}
    content = message.content
    parts = [ContentPart(text=content)] if isinstance(content, str) else content or []
    return Message(
        role=roles.get(message.role, message.role),
        content=tuple(shown for part in parts for shown in _read_part(part)),
        tool_calls=tuple(called for call in message.tool_calls or () for called in _read_call(call)),
        tool_call_id=message.tool_call_id,
        opaque=_kept(message) if message.role == "assistant" else None,
    )


def _said_in(part: ContentPart) -> str | None:
    """The text of a part; None where it has none of its own."""
    if is_thought(part.type) or (part.text is None and part.refusal is None and part.image_url is None):
        return None
    return part.text or part.refusal or ""


def _read_part(part: ContentPart) -> tuple[TextPart | ImagePart, ...]:
    if part.image_url is not None:
        return image_part(part.image_url if isinstance(part.image_url, str) else part.image_url.get("url"))
    return as_text(_said_in(part))


def _read_call(call: CompletionCall) -> tuple[ToolCall, ...]:
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


def _head(call: WireRequest, reply: Reply, kind: str) -> dict[str, Any]:
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


def _write_reply(call: WireRequest, reply: Reply) -> bytes:
    content = None if reply.tool_calls and not reply.text else reply.text
    message: dict[str, Any] = {"role": "assistant", "content": content}
    kept = _kept_of(reply.turn)
    if reply.tool_calls:
        message["tool_calls"] = _write_calls(reply.tool_calls, kept)
    message |= kept.get("fields", {})
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
    return dump({**_head(call, reply, "chat.completion"), "choices": [choice], "usage": _write_usage(reply.usage)})


def _write_events(call: WireRequest, reply: Reply) -> Iterator[bytes]:
    head = _head(call, reply, "chat.completion.chunk")
    kept = _kept_of(reply.turn)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", **kept.get("fields", {})}]
    deltas += [{"content": piece} for piece in pieces(reply.text)]
    if reply.tool_calls:
        calls = _write_calls(reply.tool_calls, kept)
        deltas.append({"tool_calls": [{"index": place, **one} for place, one in enumerate(calls)]})
    for delta in deltas:
        yield bare_event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield bare_event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]})
    if call.stream_usage:
        yield bare_event({**head, "choices": [], "usage": _write_usage(reply.usage)})
    yield b"data: [DONE]\n\n"


def _read_reply(body: bytes) -> Reply:
    streamed = is_streamed(body)
    completion = gathered(read_events(body)) if streamed else Completion.model_validate(load(body))
    choice = min(completion.choices or (), key=lambda choice: choice.index, default=CompletionChoice())
    if error := completion.error or choice.error:
        raise error_within(error)
    usage = usage_of_openai(completion.usage)
    ending = ending_of(choice.finish_reason, usage)
    if choice.message is None and ending == "stop":
        raise ValueError("no choice with a message")
    said = choice.message or CompletionMessage()
    calls = tuple(
        tool_call(at, call.id, function.name, function.arguments)
        for at, call in enumerate(said.tool_calls or ())
        for function in [call.function or Function()]
    )
    text = said.refusal or text_of(said.content)
    silent = not text.strip() and not calls
    apart = [name for name, value in said.raw.items() if silent and value and is_thought(name)]
    return Reply(
        text=text,
        text_in=next(iter(apart), ""),
        tool_calls=calls,
        finish=finish_of(calls, "refusal" if said.refusal else ending),
        usage=usage,
        simulated=(completion.system_fingerprint or "").startswith("simulated"),
        opaque=_kept(said),
    )


def _write_broken(_: WireRequest, status: int, message: str) -> bytes:
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
