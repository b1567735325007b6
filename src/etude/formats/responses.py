"""The OpenAI Responses format."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from etude.config import ModelSection, merge
from etude.formats.bills import usage_of_openai
from etude.formats.endings import Ending, ending_of
from etude.formats.errors import error_body, error_within
from etude.formats.events import WAITING, dump, is_streamed, load, named_event
from etude.formats.opaque import RawPart, data_of, is_thought, put_back, read_turn
from etude.formats.response_events import events_of, last_state
from etude.formats.wire import (
    Format,
    SchemaForm,
    WireRequest,
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
from etude.records import ChatRequest, ImagePart, Message, Reply, TextPart, Tool, ToolCall, Usage

_FORM = "responses"


class _Part(BaseModel):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | None = None


class _Item(RawPart):
    """A message, a call, a result or something else: each uses some of the fields."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] = "user"
    content: str | list[_Part] | None = None
    call_id: str = ""
    name: str = ""
    namespace: str | None = None
    arguments: Any = ""
    input: Any = ""
    output: Any = None


_PARTS = TypeAdapter(list[_Part])


class _Tool(BaseModel):
    type: str = ""
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None
    tools: list["_Tool"] | None = None
    """Of a namespace."""


class _Text(BaseModel):
    format: SchemaForm | None = None


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


ENCRYPTED = "reasoning.encrypted_content"
"""Asks for thoughts in a form that can be sent back, since the server keeps nothing: models that think demand them
between the calls of tools. Models that have none may refuse it."""


def write_request(model: str, request: ChatRequest, settings: ModelSection) -> dict[str, Any]:
    """The body of a request. Nothing is kept at the server."""
    body: dict[str, Any] = {
        "model": model,
        "input": [item for message in request.messages for item in _write_items(message)],
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
        body["tools"] = [{"type": "function", **tool.model_dump(), "strict": False} for tool in request.tools]
        body["include"] = [ENCRYPTED]
    if request.forced_tool is not None:
        body["tool_choice"] = {"type": "function", "name": request.forced_tool}
    return merge(body, settings.extra_body)


def _write_items(message: Message) -> list[dict[str, Any]]:
    """Messages, calls of tools and their results are items side by side."""
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text}]
    content: str | list[dict[str, Any]] = message.text
    if has_picture(message):
        content = [
            {"type": "input_image", "image_url": part.url}
            if isinstance(part, ImagePart)
            else {"type": "input_text", "text": part.text}
            for part in message.content
        ]
    said = [{"role": message.role, "content": content}] if message.content else []
    plain = [*said, *map(_write_call, message.tool_calls)]
    return put_back(message, data_of(message, _FORM), plain, _write_text, _write_call)


def _write_text(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def _write_call(call: ToolCall) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _read_request(body: bytes, seed: int | None) -> WireRequest:
    data = parse_body(_Body, body)
    items = [_Item(role="user", content=data.input)] if isinstance(data.input, str) else data.input
    if data.instructions is not None:
        items = [_Item(role="system", content=data.instructions), *items]
    form = (data.text.format if data.text is not None else None) or SchemaForm(type="text")
    tools = () if data.tool_choice == "none" else _read_tools(data)
    name = data.tool_choice.name if isinstance(data.tool_choice, _Choice) else None
    request = ChatRequest(
        messages=tuple(_read_items(items)),
        response_schema=read_schema(form),
        tools=tools,
        forced_tool=forced_tool(tools, name, any_tool=data.tool_choice == "required"),
        seed=seed,
    )
    spaces = {_in(space, tool): (space, tool.name) for space, tool in _functions(data) if space}
    return WireRequest(
        named=data.model, request=request, most_tokens=data.max_output_tokens, stream=bool(data.stream), spaces=spaces
    )


def _functions(data: _Body) -> Iterator[tuple[str, _Tool]]:
    """Functions, each with its namespace, and of namespaces those of MCP servers only: what the server would do
    itself, and what has a grammar instead of a schema, is not offered."""
    for each in data.tools or ():
        inside = each.type == "namespace" and each.name.startswith("mcp__")
        for tool in (each.tools or ()) if inside else (each,):
            if tool.type == "function" and tool.name:
                yield (each.name if inside else "", tool)


def _read_tools(data: _Body) -> tuple[Tool, ...]:
    return tuple(
        Tool(name=_in(space, tool), description=tool.description or "", parameters=tool.parameters or {})
        for space, tool in _functions(data)
    )


def _in(space: str | None, named: _Tool | _Item) -> str:
    """The name of a tool as models know it."""
    return f"{space}__{named.name}" if space else named.name


_REFERENCE = "item_reference"
"""Stands for something that the server of another conversation keeps."""
_CALLS = ("function_call", "custom_tool_call")
_KNOWN = {"type", "role", "content", "call_id", "name", "namespace", "arguments", "input", "id", "status"}
"""Fields of messages and calls that have a place of their own, or are for the client."""
_RESULTS = ("function_call_output", "custom_tool_call_output")
_TOLD = {("message", role) for role in ("system", "developer", "user")}


def _read_items(items: list[_Item]) -> Iterator[Message]:
    """What the model said in one go is one message: texts, calls, thoughts and calls of the server's own tools."""
    there = (item for item in items if item.type != _REFERENCE)
    for said, group in groupby(there, lambda item: item.type not in _RESULTS and (item.type, item.role) not in _TOLD):
        if not said:
            yield from map(_read_told, group)
            continue
        texts, calls, kept = read_turn(_FORM, group, _KNOWN, _read_said)
        content = tuple(TextPart(text=text) for text in texts)
        if content or calls:
            yield Message(role="assistant", content=content, tool_calls=calls, opaque=kept)


def _read_told(item: _Item) -> Message:
    """What the model was told: a result, or a message of others."""
    if item.type in _RESULTS:
        return Message(role="tool", content=_read_result(item.output), tool_call_id=item.call_id)
    return Message(role="system" if item.role == "developer" else item.role, content=_read_content(item.content))


def _read_said(item: _Item, at: int) -> str | ToolCall | None:
    if item.type == "message":
        return "".join(part.text for part in _read_content(item.content) if isinstance(part, TextPart))
    if item.type not in _CALLS:
        return None
    arguments = {"input": item.input} if item.type == "custom_tool_call" else item.arguments
    return tool_call(at, item.call_id, _in(item.namespace, item), arguments)


def _read_result(output: Any) -> tuple[TextPart | ImagePart, ...]:
    try:
        return _read_content(output if isinstance(output, str) else _PARTS.validate_python(output or []))
    except ValidationError:
        return as_text(json.dumps(output, ensure_ascii=False))


def _read_content(content: str | list[_Part] | None) -> tuple[TextPart | ImagePart, ...]:
    if isinstance(content, str) or content is None:
        return as_text(content or "")
    return tuple(
        shown
        for part in content
        if not is_thought(part.type)
        for shown in (image_part(part.image_url) if part.image_url else as_text(part.text or part.refusal or ""))
    )


class _Reason(BaseModel):
    reason: str | None = None


class _Response(BaseModel):
    id: str = ""
    status: Any = None
    error: Any = None
    incomplete_details: _Reason | None = None
    output: list[_Item]
    usage: Any = None


def _write_output(call: WireRequest, reply: Reply) -> list[dict[str, Any]]:
    def said(text: str) -> dict[str, Any]:
        part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": f"msg_{call.id}", "role": "assistant", "status": "completed"}
        return {**message, "content": [part]}

    def called(tool: ToolCall) -> dict[str, Any]:
        place = reply.tool_calls.index(tool)
        return {**_write_call(tool), **_place_of(call, tool), "id": f"fc_{call.id}_{place}", "status": "completed"}

    plain = [said(reply.text)] if reply.text or not reply.tool_calls else []
    plain += map(called, reply.tool_calls)
    return put_back(reply.turn, data_of(reply.turn, _FORM), plain, said, called)


def _place_of(call: WireRequest, tool: ToolCall) -> dict[str, str]:
    space, name = call.spaces.get(tool.name, ("", tool.name))
    return {"name": name, "namespace": space} if space else {}


def _head(call: WireRequest, made_by: str) -> dict[str, Any]:
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


def _response(call: WireRequest, reply: Reply) -> dict[str, Any]:
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
        "output": _write_output(call, reply),
        "usage": usage,
    }


def _write_reply(call: WireRequest, reply: Reply) -> bytes:
    return dump(_response(call, reply))


def _write_events(call: WireRequest, reply: Reply) -> Iterator[bytes]:
    return events_of(_response(call, reply), _head(call, maker(reply)))


def _read_reply(body: bytes) -> Reply:
    response = _Response.model_validate(last_state(body) if is_streamed(body) else load(body))
    if response.error:
        raise error_within(response.error)
    usage = usage_of_openai(response.usage)
    messages = [item for item in response.output if item.type == "message"]
    answers = any(item.raw.get("phase") == "final_answer" for item in messages)
    aside = [item for item in messages if answers and item.raw.get("phase") == "commentary"]
    texts, calls, kept = read_turn(
        _FORM, response.output, _KNOWN, lambda item, at: None if item in aside else _read_said(item, at)
    )
    refused = any(
        part.type == "refusal" for item in messages for part in item.content or () if isinstance(part, _Part)
    )
    return Reply(
        text="".join(texts),
        tool_calls=calls,
        finish=finish_of(calls, "refusal" if refused else _ending(response, usage)),
        usage=usage,
        simulated=response.id.startswith("resp_simulated"),
        opaque=kept,
    )


def _ending(response: _Response, usage: Usage) -> Ending:
    """How a response ended: one that is incomplete says why, or was cut off."""
    why = response.incomplete_details.reason if response.incomplete_details is not None else None
    if why or response.status == "incomplete":
        return ending_of(why or "length", usage)
    return ending_of(response.status, usage)


def _write_broken(call: WireRequest, status: int, message: str) -> bytes:
    error = {"code": "server_error" if status >= 500 else "invalid_prompt", "message": message}
    response = {**_head(call, "etude"), "status": "failed", "error": error}
    return named_event({"type": "response.failed", "response": response, "sequence_number": 0})


RESPONSES = Format(
    path="/responses",
    answer="response",
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
