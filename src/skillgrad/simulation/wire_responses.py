"""The OpenAI Responses format: bodies to requests, replies to bodies."""

import json
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from skillgrad.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, TextPart, Tool, ToolCall
from skillgrad.simulation.wire import FINGERPRINT, Call, Wire, named_event, parse_body, pieces, with_usual_json
from skillgrad.simulation.wire_chat import error_body


class _Part(BaseModel):
    type: Literal["input_text", "output_text", "input_image", "refusal", "summary_text"]
    text: str = ""
    image_url: str = ""


class _Item(BaseModel):
    """A message, a call, a result or a thought: each uses some of the fields."""

    type: Literal["message", "function_call", "function_call_output", "reasoning"] = "message"
    role: Literal["system", "developer", "user", "assistant"] = "user"
    content: str | list[_Part] = []
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    output: str | list[_Part] = ""


class _Tool(BaseModel):
    type: Literal["function"]
    name: str
    description: str | None = None
    parameters: dict[str, Any] = {}


class _Format(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    type: Literal["text", "json_object", "json_schema"] = "text"
    name: str = "reply"
    body: dict[str, Any] = Field(default={}, alias="schema")


class _Text(BaseModel):
    format: _Format = _Format()


class _Named(BaseModel):
    type: Literal["function"]
    name: str


class _Body(BaseModel):
    model: str
    input: str | list[_Item] = Field(min_length=1)
    instructions: str | None = None
    tools: list[_Tool] = []
    tool_choice: Literal["auto", "none", "required"] | _Named = "auto"
    text: _Text = _Text()
    max_output_tokens: int | None = Field(default=None, ge=1)
    stream: bool | None = None


def _read(body: bytes, trial: int | None) -> Call:
    data = parse_body(_Body, body)
    items = [_Item(role="user", content=data.input)] if isinstance(data.input, str) else data.input
    if data.instructions is not None:
        items = [_Item(role="system", content=data.instructions), *items]
    form = data.text.format
    request = ChatRequest(
        messages=tuple(_message(item) for item in items if item.type != "reasoning"),
        response_schema=ResponseSchema(name=form.name, body=form.body) if form.type == "json_schema" else None,
        tools=tuple(
            Tool(name=tool.name, description=tool.description or "", parameters=tool.parameters)
            for tool in data.tools
        ),
        forced_tool=_forced(data),
        seed=trial,
    )
    if form.type == "json_object":
        request = with_usual_json(data.model, request)
    return Call(named=data.model, request=request, most_tokens=data.max_output_tokens, stream=bool(data.stream))


def _forced(data: _Body) -> str | None:
    if isinstance(data.tool_choice, _Named):
        return data.tool_choice.name
    return data.tools[0].name if data.tool_choice == "required" and data.tools else None


def _message(item: _Item) -> Message:
    if item.type == "function_call":
        call = ToolCall(id=item.call_id, name=item.name, arguments=item.arguments)
        return Message(role="assistant", tool_calls=(call,))
    if item.type == "function_call_output":
        return Message(role="tool", content=_parts(item.output), tool_call_id=item.call_id)
    role = "system" if item.role == "developer" else item.role
    return Message(role=role, content=_parts(item.content))


def _parts(content: str | list[_Part]) -> tuple[TextPart | ImagePart, ...]:
    if isinstance(content, str):
        return (TextPart(text=content),)
    return tuple(
        ImagePart(url=part.image_url) if part.type == "input_image" else TextPart(text=part.text) for part in content
    )


def _items(call: Call, reply: Reply) -> list[dict[str, Any]]:
    if not reply.tool_calls:
        part: dict[str, Any] = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": f"msg_{call.id}", "role": "assistant", "status": "completed"}
        return [{**message, "content": [part]}]
    return [
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


def _head(call: Call) -> dict[str, Any]:
    return {
        "id": f"resp_{FINGERPRINT}_{call.id}",
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


def _response(call: Call, reply: Reply) -> dict[str, Any]:
    cut = reply.finish == "length"
    usage = {
        "input_tokens": reply.usage.input_tokens,
        "input_tokens_details": {"cached_tokens": reply.usage.cached_tokens},
        "output_tokens": reply.usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.usage.total,
    }
    return {
        **_head(call),
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": _items(call, reply),
        "usage": usage,
    }


def _plain(call: Call, reply: Reply) -> bytes:
    return json.dumps(_response(call, reply), ensure_ascii=False).encode()


def _events(call: Call, reply: Reply) -> Iterator[bytes]:
    whole = _response(call, reply)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": _head(call)},
        {"type": "response.in_progress", "response": _head(call)},
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


RESPONSES = Wire(read=_read, plain=_plain, events=_events, error=error_body, overloaded=503)
