"""OpenAI's Responses on the wire: a request as its body, a body as a reply."""

import json
from typing import Any

from pydantic import BaseModel, Field

from etude.config import ModelSection, merge
from etude.models.server_errors import error_within
from etude.models.server_events import encodable, is_streamed, read_events
from etude.records import ChatRequest, ImagePart, Message, Reply, Tool, ToolCall, Usage


def request_body(request: ChatRequest, settings: ModelSection) -> dict[str, Any]:
    """All fields of the body but `model` and `input`. Nothing is kept at the server."""
    body: dict[str, Any] = {
        "max_output_tokens": settings.max_output_tokens,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "reasoning": {"effort": settings.reasoning_effort} if settings.reasoning_effort is not None else None,
        "stream": True if settings.stream else None,
        "store": False,
    }
    body = {key: value for key, value in body.items() if value is not None}
    if request.response_schema is not None:
        schema = {"name": request.response_schema.name, "schema": request.response_schema.body, "strict": True}
        body["text"] = {"format": {"type": "json_schema", **schema}}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.forced_tool is not None:
        body["tool_choice"] = {"type": "function", "name": request.forced_tool}
    return merge(body, settings.extra_body)


def wire_input(request: ChatRequest) -> list[dict[str, Any]]:
    """The `input` of the body: messages, calls of tools and their results are items side by side."""
    return [item for message in request.messages for item in _items(message)]


def _items(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text}]
    said = [{"role": message.role, "content": _content(message)}] if message.content else []
    calls = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return [*said, *calls]


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, ImagePart) for part in message.content):
        return message.text
    return [
        {"type": "input_image", "image_url": part.url}
        if isinstance(part, ImagePart)
        else {"type": "input_text", "text": part.text}
        for part in message.content
    ]


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **function, "strict": False}


class _Part(BaseModel):
    type: str
    text: str = ""
    refusal: str = ""


class _Item(BaseModel):
    type: str
    content: list[_Part] | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""


class _Reason(BaseModel):
    reason: str | None = None


class _CacheDetails(BaseModel):
    cached_tokens: int | None = None


class _Bill(BaseModel):
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    input_tokens_details: _CacheDetails | None = None


class _Response(BaseModel):
    id: str = ""
    status: str | None = None
    error: Any = None
    incomplete_details: _Reason | None = None
    output: list[_Item]
    usage: _Bill | None = None


def read_reply(body: bytes) -> Reply:
    """The messages and calls of a response, streamed or not. What the model thought is left out.

    Raises:
        ValueError: the body is no JSON, no response, or a stream without an end.
        ServerError: the response failed.
    """
    response = _Response.model_validate(_last_state(body) if is_streamed(body) else json.loads(body))
    if response.error is not None:
        raise error_within(response.error)
    parts = [part for item in response.output if item.type == "message" for part in item.content or ()]
    calls = tuple(
        ToolCall(id=item.call_id or f"call_{at}", name=encodable(item.name), arguments=encodable(item.arguments))
        for at, item in enumerate(item for item in response.output if item.type == "function_call")
    )
    why = response.incomplete_details.reason if response.incomplete_details is not None else None
    refused = why == "content_filter" or any(part.type == "refusal" for part in parts)
    cut = response.status == "incomplete" or why is not None
    return Reply(
        text=encodable("".join(part.text + part.refusal for part in parts)),
        tool_calls=calls,
        finish="refusal" if refused else "length" if cut else "tool_calls" if calls else "stop",
        usage=_usage(response.usage),
        simulated=response.id.startswith("resp_simulated"),
    )


def _last_state(body: bytes) -> Any:
    """The last event of a stream holds the whole response."""
    for event in reversed(read_events(body)):
        kind = event.get("type")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            return event.get("response")
        if kind == "error":
            raise error_within(event.get("error", event))
    raise ValueError("a stream without an end")


def _usage(bill: _Bill | None) -> Usage:
    if bill is None:
        return Usage()
    cached = bill.input_tokens_details.cached_tokens if bill.input_tokens_details is not None else None
    return Usage(
        input_tokens=bill.input_tokens,
        output_tokens=bill.output_tokens,
        cached_tokens=0 if cached is None else max(0, cached),
    )
