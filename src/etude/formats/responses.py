"""The OpenAI Responses format: bodies to requests, replies to bodies."""

import json
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from etude.formats.base import (
    COMMENT,
    Call,
    Wire,
    as_text,
    forced_tool,
    image_part,
    joined,
    maker,
    named_event,
    parse_body,
    pieces,
)
from etude.formats.chat_completions import error_body
from etude.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, TextPart, Tool, ToolCall


class _Part(BaseModel):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | None = None


class _Item(BaseModel):
    """A message, a call, a result or something else: each uses some of the fields."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] = "user"
    content: str | list[_Part] | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    input: str = ""
    output: Any = None


_PARTS = TypeAdapter(list[_Part])


class _Tool(BaseModel):
    type: str = ""
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Format(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    type: Literal["text", "json_object", "json_schema"] = "text"
    name: str = "reply"
    body: dict[str, Any] = Field(default={}, alias="schema")


class _Text(BaseModel):
    format: _Format | None = None


class _Choice(BaseModel):
    type: str = ""
    name: str | None = None


class _Body(BaseModel):
    model: str
    input: str | list[_Item] = Field(min_length=1)
    instructions: str | None = None
    tools: list[_Tool] | None = None
    tool_choice: str | _Choice | None = None
    text: _Text | None = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    stream: bool | None = None


def _read(body: bytes, trial: int | None) -> Call:
    data = parse_body(_Body, body)
    items = [_Item(role="user", content=data.input)] if isinstance(data.input, str) else data.input
    if data.instructions is not None:
        items = [_Item(role="system", content=data.instructions), *items]
    form = (data.text.format if data.text is not None else None) or _Format()
    tools = () if data.tool_choice == "none" else _tools(data)
    name = data.tool_choice.name if isinstance(data.tool_choice, _Choice) else None
    request = ChatRequest(
        messages=joined([message for item in items for message in _messages(item)]),
        response_schema=ResponseSchema(name=form.name, body=form.body) if form.type == "json_schema" else None,
        tools=tools,
        forced_tool=forced_tool(tools, name, any_tool=data.tool_choice == "required"),
        seed=trial,
    )
    return Call(
        named=data.model,
        request=request,
        most_tokens=data.max_output_tokens,
        stream=bool(data.stream),
        any_json=form.type == "json_object",
    )


def _tools(data: _Body) -> tuple[Tool, ...]:
    """Functions only: what the server would do itself, and what has a grammar instead of a schema, is not offered."""
    return tuple(
        Tool(name=tool.name, description=tool.description or "", parameters=tool.parameters or {})
        for tool in data.tools or ()
        if tool.type == "function" and tool.name
    )


_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")


def _messages(item: _Item) -> list[Message]:
    """The message of an item. Thoughts, and calls of the server's own tools, are none."""
    if item.type in _CALLS:
        arguments = item.arguments if item.type == "function_call" else json.dumps({"input": item.input})
        call = ToolCall(id=item.call_id, name=item.name, arguments=arguments)
        return [Message(role="assistant", tool_calls=(call,))]
    if item.type in _RESULTS:
        return [Message(role="tool", content=_result(item.output), tool_call_id=item.call_id)]
    if item.type != "message":
        return []
    content = _parts(item.content)
    if item.role == "assistant" and not content:
        return []
    return [Message(role="system" if item.role == "developer" else item.role, content=content)]


def _result(output: Any) -> tuple[TextPart | ImagePart, ...]:
    try:
        return _parts(output if isinstance(output, str) else _PARTS.validate_python(output or []))
    except ValidationError:
        return as_text(json.dumps(output, ensure_ascii=False))


def _parts(content: str | list[_Part] | None) -> tuple[TextPart | ImagePart, ...]:
    if isinstance(content, str) or content is None:
        return as_text(content or "")
    return tuple(
        shown
        for part in content
        for shown in (image_part(part.image_url) if part.image_url else as_text(part.text or part.refusal or ""))
    )


def _items(call: Call, reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text or not reply.tool_calls:
        part: dict[str, Any] = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": f"msg_{call.id}", "role": "assistant", "status": "completed"}
        items.append({**message, "content": [part]})
    items += [
        {
            "type": "function_call",
            "id": f"fc_{call.id}_{place}",
            "call_id": tool.id,
            "name": tool.name,
            "arguments": tool.arguments,
            "status": "completed",
        }
        for place, tool in enumerate(reply.tool_calls)
    ]
    return items


def _head(call: Call, made_by: str) -> dict[str, Any]:
    return {
        "id": f"resp_{made_by}_{call.id}",
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": call.named,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
    }


_CUT = {"length": "max_output_tokens", "refusal": "content_filter"}


def _response(call: Call, reply: Reply) -> dict[str, Any]:
    cut = _CUT.get(reply.finish)
    usage = {
        "input_tokens": reply.usage.input_tokens,
        "input_tokens_details": {"cached_tokens": reply.usage.cached_tokens},
        "output_tokens": reply.usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.usage.total,
    }
    return {
        **_head(call, maker(reply)),
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": cut} if cut else None,
        "output": _items(call, reply),
        "usage": usage,
    }


def _plain(call: Call, reply: Reply) -> bytes:
    return json.dumps(_response(call, reply), ensure_ascii=False).encode("utf-8", "replace")


def _events(call: Call, reply: Reply) -> Iterator[bytes]:
    whole = _response(call, reply)
    head = _head(call, maker(reply))
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": head},
        {"type": "response.in_progress", "response": head},
    ]
    for index, item in enumerate(whole["output"]):
        hollow: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        begun = {**item, **hollow, "status": "in_progress"}
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        place = {"item_id": item["id"], "output_index": index}
        events += _text_events(place, item) if item["type"] == "message" else _call_events(place, item)
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": f"response.{whole['status']}", "response": whole})
    for number, event in enumerate(events):
        yield named_event({**event, "sequence_number": number})


def _text_events(place: dict[str, Any], item: dict[str, Any]) -> list[dict[str, Any]]:
    part = item["content"][0]
    place = {**place, "content_index": 0}
    deltas: list[dict[str, Any]] = [
        {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
        for piece in pieces(part["text"])
    ]
    return [
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *deltas,
        {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
    ]


def _call_events(place: dict[str, Any], item: dict[str, Any]) -> list[dict[str, Any]]:
    arguments = item["arguments"]
    deltas = [
        {"type": "response.function_call_arguments.delta", **place, "delta": piece} for piece in pieces(arguments)
    ]
    done = {"type": "response.function_call_arguments.done", **place, "name": item["name"], "arguments": arguments}
    return [*deltas, done]


def _broken(call: Call, status: int, message: str) -> bytes:
    error = {"code": "server_error" if status >= 500 else "invalid_prompt", "message": message}
    response = {**_head(call, "etude"), "status": "failed", "error": error}
    return named_event({"type": "response.failed", "response": response, "sequence_number": 0})


RESPONSES = Wire(
    read=_read,
    plain=_plain,
    events=_events,
    error=error_body,
    broken=_broken,
    waiting=COMMENT,
    overloaded=503,
)
