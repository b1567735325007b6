"""Chat Completions on the wire: a request as its body, a body as a reply."""

import json
from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel, Field

from etude.config import ModelSection, merge
from etude.models.server_errors import error_within
from etude.models.server_events import encodable, is_streamed, read_events
from etude.records import ChatRequest, ImagePart, Message, Reply, Tool, ToolCall, Usage


def request_body(request: ChatRequest, settings: ModelSection, *, limit: str) -> dict[str, Any]:
    """All fields of the body but `model` and `messages`.

    Args:
        limit: the field that bounds the reply: `max_tokens` or `max_completion_tokens`.
    """
    body: dict[str, Any] = {
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
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.forced_tool is not None:
        body["tool_choice"] = {"type": "function", "function": {"name": request.forced_tool}}
    if settings.thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": settings.thinking == "on"}
    if settings.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return merge(body, settings.extra_body)


def wire_messages(request: ChatRequest) -> list[dict[str, Any]]:
    """The `messages` of the body."""
    return [_message(message) for message in request.messages]


def _message(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": _content(message)}
    if message.role == "tool":
        wire["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        wire["content"] = wire["content"] or None
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return wire


def _content(message: Message) -> str | list[dict[str, Any]]:
    """Plain text where there is no picture: some servers take nothing else."""
    if not any(isinstance(part, ImagePart) for part in message.content):
        return message.text
    return [
        {"type": "image_url", "image_url": {"url": part.url}}
        if isinstance(part, ImagePart)
        else {"type": "text", "text": part.text}
        for part in message.content
    ]


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


class _Function(BaseModel):
    name: str
    arguments: Any = None


class _Call(BaseModel):
    id: str | None = None
    function: _Function


class _Answer(BaseModel):
    content: Any = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Answer
    finish_reason: str | None = None


class _CacheDetails(BaseModel):
    cached_tokens: int | None = None


class _Bill(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _CacheDetails | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Bill | None = None
    system_fingerprint: str | None = None


class _DeltaFunction(BaseModel):
    name: str | None = None
    arguments: Any = None


class _DeltaCall(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _DeltaFunction = _DeltaFunction()


class _Delta(BaseModel):
    content: Any = None
    refusal: str | None = None
    tool_calls: list[_DeltaCall] | None = None


class _ChunkChoice(BaseModel):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(BaseModel):
    choices: list[_ChunkChoice] = []
    usage: _Bill | None = None
    system_fingerprint: str | None = None


def read_reply(body: bytes) -> Reply:
    """The first choice of a completion, streamed or not. Missing token counts stay 0.

    Raises:
        ValueError: the body is no JSON, has no choice with a message, or is a stream without an end.
        ServerError: the stream ends with an error.
    """
    streamed = is_streamed(body)
    completion = _gathered(read_events(body)) if streamed else _Completion.model_validate(json.loads(body))
    choice = completion.choices[0]
    calls = tuple(_call(at, call) for at, call in enumerate(choice.message.tool_calls or ()))
    refused = choice.message.refusal or choice.finish_reason == "content_filter"
    finish = "tool_calls" if calls else "stop"
    return Reply(
        text=encodable(choice.message.refusal or _text(choice.message.content)),
        tool_calls=calls,
        finish="refusal" if refused else "length" if choice.finish_reason == "length" else finish,
        usage=_usage(completion.usage),
        simulated=(completion.system_fingerprint or "").startswith("simulated"),
    )


def _gathered(events: Sequence[dict[str, Any]]) -> _Completion:
    answer = _Answer(content="")
    calls: dict[int, _Call] = {}
    finish = bill = fingerprint = None
    for event in events:
        if event.get("error") is not None:
            raise error_within(event["error"])
        chunk = _Chunk.model_validate(event)
        bill = chunk.usage or bill
        fingerprint = chunk.system_fingerprint or fingerprint
        for choice in chunk.choices:
            if choice.index != 0:
                continue
            finish = choice.finish_reason or finish
            delta = choice.delta or _Delta()
            answer.content += _text(delta.content)
            answer.refusal = (answer.refusal or "") + (delta.refusal or "") or None
            for piece in delta.tool_calls or ():
                _extend(calls, piece)
    if finish is None and {} not in events:
        raise ValueError("a stream without an end")
    answer.tool_calls = [calls[at] for at in sorted(calls)]
    choice = _Choice(message=answer, finish_reason=finish)
    return _Completion(choices=[choice], usage=bill, system_fingerprint=fingerprint)


def _extend(calls: dict[int, _Call], piece: _DeltaCall) -> None:
    """Some servers leave the index out: then an id begins a new call, and what has none belongs to the last."""
    place = len(calls) - (piece.id is None and bool(calls)) if piece.index is None else piece.index
    call = calls.setdefault(place, _Call(function=_Function(name="", arguments="")))
    call.id = piece.id or call.id
    call.function.name += piece.function.name or ""
    arguments = piece.function.arguments
    if arguments is not None:
        call.function.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)


def _call(at: int, call: _Call) -> ToolCall:
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return ToolCall(id=call.id or f"call_{at}", name=encodable(call.function.name), arguments=encodable(text))


def _text(content: Any) -> str:
    """Content is text, nothing, or a list of parts."""
    if isinstance(content, list):
        parts = (cast(dict[str, Any], part) for part in cast(list[Any], content) if isinstance(part, dict))
        return "".join(_text(part.get("text")) for part in parts)
    return content if isinstance(content, str) else ""


def _usage(bill: _Bill | None) -> Usage:
    if bill is None:
        return Usage()
    details = bill.prompt_tokens_details
    return Usage(
        input_tokens=_count(bill.prompt_tokens),
        output_tokens=_count(bill.completion_tokens),
        cached_tokens=_count(details.cached_tokens if details is not None else None),
    )


def _count(tokens: int | None) -> int:
    return 0 if tokens is None else max(0, tokens)
