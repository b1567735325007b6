"""The Gemini format (generateContent), for servers: what Google's clients ask and are answered.

The model and the wish for a stream stand in the path of a request and not in its body: whoever serves this puts them
into the body, as `model` and `stream`.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, cast

from pydantic import BaseModel, Field

from etude.formats.events import bare_event, dump, pieces
from etude.formats.wire import ServedFormat, WireRequest, as_data, as_text, forced_tool, image_part, maker, parse_body
from etude.records import ChatRequest, ImagePart, Message, Reply, ResponseSchema, TextPart, Tool, ToolCall

Data = dict[str, Any]


class _Called(BaseModel):
    id: str | None = None
    name: str = ""
    args: Data | None = None


class _Result(BaseModel):
    id: str | None = None
    name: str = ""
    response: Any = None


class _File(BaseModel):
    kind: str = Field(default="", alias="mimeType")
    data: str = ""
    uri: str = Field(default="", alias="fileUri")


class _Part(BaseModel):
    text: str | None = None
    thought: bool = False
    called: _Called | None = Field(default=None, alias="functionCall")
    result: _Result | None = Field(default=None, alias="functionResponse")
    inline: _File | None = Field(default=None, alias="inlineData")
    file: _File | None = Field(default=None, alias="fileData")


class _Content(BaseModel):
    role: str | None = None
    parts: list[_Part] = []


class _Function(BaseModel):
    name: str
    description: str = ""
    json_schema: Data | None = Field(default=None, alias="parametersJsonSchema")
    parameters: Data | None = None


class _Tool(BaseModel):
    functions: list[_Function] = Field(default=[], alias="functionDeclarations")


class _Calling(BaseModel):
    mode: str = "AUTO"
    allowed: list[str] = Field(default=[], alias="allowedFunctionNames")


class _ToolConfig(BaseModel):
    calling: _Calling = Field(default=_Calling(), alias="functionCallingConfig")


class _Generation(BaseModel):
    most_tokens: int | None = Field(default=None, ge=1, alias="maxOutputTokens")
    seed: int | None = None
    json_schema: Data | None = Field(default=None, alias="responseJsonSchema")
    schema_: Data | None = Field(default=None, alias="responseSchema")


class _Body(BaseModel):
    model: str
    stream: bool = False
    contents: list[_Content] = Field(min_length=1)
    system: _Content | None = Field(default=None, alias="systemInstruction")
    tools: list[_Tool] = []
    tool_config: _ToolConfig = Field(default=_ToolConfig(), alias="toolConfig")
    generation: _Generation = Field(default=_Generation(), alias="generationConfig")


def _read_request(body: bytes, seed: int | None) -> WireRequest:
    data = parse_body(_Body, body)
    messages = [] if data.system is None else [Message(role="system", content=_texts(data.system.parts))]
    calls = _Calls()
    for content in _joined(data.contents):
        messages += _read_turn(content, calls)
    calling, generation = data.tool_config.calling, data.generation
    functions = [function for tool in data.tools for function in tool.functions]
    tools = () if calling.mode == "NONE" else tuple(map(_read_tool, functions))
    schema = _lower(generation.schema_) if generation.json_schema is None else generation.json_schema
    only = calling.allowed[0] if calling.mode == "ANY" and len(calling.allowed) == 1 else None
    request = ChatRequest(
        messages=tuple(messages),
        response_schema=None if schema is None else ResponseSchema(name="reply", body=schema),
        tools=tools,
        forced_tool=forced_tool(tools, only, any_tool=calling.mode == "ANY" and not calling.allowed),
        seed=seed if generation.seed is None else generation.seed,
    )
    return WireRequest(named=data.model, request=request, most_tokens=generation.most_tokens, stream=data.stream)


def _joined(contents: Sequence[_Content]) -> Iterator[_Content]:
    """The turns, each of the model's in one: clients keep what was streamed as it came."""
    for role, group in groupby(contents, key=lambda content: content.role):
        turns = list(group)
        if role != "model":
            yield from turns
            continue
        parts: list[_Part] = []
        for part in (part for turn in turns for part in turn.parts):
            before = parts[-1] if parts else _Part()
            if before.text and part.text and before.thought == part.thought:
                parts[-1] = before.model_copy(update={"text": before.text + part.text})
            else:
                parts.append(part)
        yield _Content(role=role, parts=parts)


class _Calls:
    """Pairs calls of tools with their results: clients may leave the ids out."""

    def __init__(self) -> None:
        self._made = 0
        self._open: list[ToolCall] = []

    def read(self, called: _Called) -> ToolCall:
        self._made += 1
        call = ToolCall(
            id=called.id or f"call_{self._made}",
            name=called.name,
            arguments=json.dumps(called.args or {}, ensure_ascii=False),
        )
        self._open.append(call)
        return call

    def answered(self, result: _Result) -> str:
        """The id of the call that a result belongs to: its own, else that of the first open one of the name."""
        call = next((call for call in self._open if result.id in (None, call.id) and call.name == result.name), None)
        if call is None:
            return result.id or ""
        self._open.remove(call)
        return call.id


def _read_turn(content: _Content, calls: _Calls) -> list[Message]:
    """Results of tools stand before the rest of what the user says, and are messages of their own."""
    said = _texts(content.parts)
    if content.role == "model":
        made = tuple(calls.read(part.called) for part in content.parts if part.called is not None)
        return [Message(role="assistant", content=said, tool_calls=made)] if said or made else []
    results = [
        Message(role="tool", content=as_text(_result(part.result)), tool_call_id=calls.answered(part.result))
        for part in content.parts
        if part.result is not None
    ]
    return [*results, Message(role="user", content=said)] if said or not results else results


def _texts(parts: Sequence[_Part]) -> tuple[TextPart | ImagePart, ...]:
    """What was thought is left out."""
    return tuple(shown for part in parts if not part.thought for shown in _read_part(part))


def _read_part(part: _Part) -> tuple[TextPart | ImagePart, ...]:
    file = part.inline or part.file
    if file is None:
        return as_text(part.text)
    if file.kind.startswith("image/"):
        return image_part(f"data:{file.kind};base64,{file.data}" if file.data else file.uri)
    return as_text(f"[document: {file.uri or file.kind}]")


def _result(result: _Result) -> str:
    """What a tool said: a text by itself, or the data that hold more."""
    said = result.response
    if isinstance(said, dict) and len(found := cast(Data, said)) == 1:
        (said,) = found.values()
    return said if isinstance(said, str) else json.dumps(result.response, ensure_ascii=False)


def _read_tool(function: _Function) -> Tool:
    schema = _lower(function.parameters) if function.json_schema is None else function.json_schema
    return Tool(name=function.name, description=function.description, parameters=schema or {})


def _lower(schema: Any) -> Any:
    """A JSON schema, of one that spells its types in capitals."""
    if isinstance(schema, list):
        return [_lower(one) for one in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    found = cast(Data, schema)
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lower(value)
        for key, value in found.items()
    }


_ENDS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}


def _answer(call: WireRequest, reply: Reply, parts: Sequence[Data], *, last: bool) -> Data:
    candidate: Data = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    answer: Data = {"candidates": [candidate], "modelVersion": call.named, "responseId": f"{maker(reply)}_{call.id}"}
    if last:
        candidate["finishReason"] = _ENDS[reply.finish]
        answer["usageMetadata"] = {
            "promptTokenCount": reply.usage.input_tokens,
            "cachedContentTokenCount": reply.usage.cached_tokens,
            "candidatesTokenCount": reply.usage.output_tokens,
            "totalTokenCount": reply.usage.total,
        }
    return answer


def _write_call(call: ToolCall) -> Data:
    """Arguments that stop in the middle are not an object: nothing is left of them."""
    given = as_data(call.arguments)
    return {"functionCall": {"id": call.id, "name": call.name, "args": given if isinstance(given, dict) else {}}}


def _write_reply(call: WireRequest, reply: Reply) -> bytes:
    parts: list[Data] = [{"text": reply.text}] if reply.text else []
    parts += map(_write_call, reply.tool_calls)
    return dump(_answer(call, reply, parts, last=True))


def _write_events(call: WireRequest, reply: Reply) -> Iterator[bytes]:
    """Clients take an event at the end with nothing in it for a broken stream."""
    chunks: list[list[Data]] = [[{"text": piece}] for piece in pieces(reply.text)]
    if reply.tool_calls or not chunks:
        chunks.append(list(map(_write_call, reply.tool_calls)))
    for at, parts in enumerate(chunks, 1):
        yield bare_event(_answer(call, reply, parts, last=at == len(chunks)))


_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


def _write_error(status: int, message: str) -> bytes:
    return dump({"error": {"code": status, "message": message, "status": _STATUSES.get(status, "INTERNAL")}})


def _write_broken(_: WireRequest, status: int, message: str) -> bytes:
    """Google's client looks for an error in what stands alone, and not in an event."""
    return _write_error(status, message) + b"\n\n"


GEMINI = ServedFormat(
    read_request=_read_request,
    write_reply=_write_reply,
    write_events=_write_events,
    write_error=_write_error,
    write_broken=_write_broken,
    waiting=bare_event({}),  # comments are not skipped
    overloaded=503,
)
