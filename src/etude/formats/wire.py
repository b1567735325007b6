"""What the formats have in common."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from etude.config import ModelSection
from etude.errors import InputError
from etude.formats.endings import Ending
from etude.formats.events import load
from etude.records import (
    ChatRequest,
    ImagePart,
    Message,
    Reply,
    ResponseSchema,
    TextPart,
    Tool,
    ToolCall,
    canonical,
    digest,
)

B = TypeVar("B", bound=BaseModel)
Finish = Literal["stop", "length", "tool_calls", "refusal"]


class BadBody(InputError):
    """The body does not follow the format."""


@dataclass(frozen=True)
class WireRequest:
    """A request in one of the formats."""

    named: str
    """The model, as the client wrote it."""
    request: ChatRequest
    most_tokens: int | None
    stream: bool
    stream_usage: bool = True
    """A stream ends with the usage."""
    spaces: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Namespace and name there of each tool that has one."""

    @cached_property
    def id(self) -> str:
        """24 hex digits over the model and the request."""
        return digest([self.named, self.request.model_dump(mode="json")])[:24]


@dataclass(frozen=True)
class ServedFormat:
    """A format of requests and replies as servers need it: they read requests and write replies."""

    read_request: Callable[[bytes, int | None], WireRequest]
    """The call of a body; the number is its seed where the body has none. Raises BadBody."""
    write_reply: Callable[[WireRequest, Reply], bytes]
    """The body of a plain answer."""
    write_events: Callable[[WireRequest, Reply], Iterator[bytes]]
    """The events of a streamed answer."""
    write_error: Callable[[int, str], bytes]
    """The body of an error, from its status and message."""
    write_broken: Callable[[WireRequest, int, str], bytes]
    """The event that ends a streamed answer with an error."""
    waiting: bytes
    """An event that says nothing: the answer is still to come."""
    overloaded: int
    """The status of a server that has too much to do."""


@dataclass(frozen=True)
class Format(ServedFormat):
    """A format both ways: a client writes requests and reads replies."""

    path: str
    """Where a server takes requests, below the version of its address."""
    answer: str
    """What the body of an answer is called."""
    write_request: Callable[[str, ChatRequest, ModelSection], dict[str, Any]]
    """The body for a model by its name there."""
    read_reply: Callable[[bytes], Reply]
    """The reply in an answer, plain or streamed. Token counts that are missing stay 0; what the model thought is in
    `opaque` only. Raises ValueError for another body or a stream without an end, ServerError for an error within it,
    TransientError for an end that is not a good one."""


class SchemaForm(BaseModel):
    """The wanted form of a reply."""

    model_config = ConfigDict(populate_by_name=True)

    type: Literal["text", "json_object", "json_schema"] = "json_schema"
    name: str = "reply"
    body: dict[str, Any] = Field(default={}, alias="schema")


def read_schema(form: SchemaForm | None) -> ResponseSchema | None:
    """The schema that a reply must follow."""
    return ResponseSchema(name=form.name, body=form.body) if form is not None and form.type == "json_schema" else None


def maker(reply: Reply) -> str:
    """Marks an answer as `system_fingerprint` of chat completions, else within the id: who replied."""
    return "simulated" if reply.simulated else "etude"


def parse_body(form: type[B], body: bytes) -> B:
    """The body as `form`. Halves of characters become `?`. Raises BadBody: it is not JSON, or not what the format
    has; names the place."""
    try:
        if b"\\ud" in body.lower():
            return form.model_validate(_loaded(body))
        return form.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadBody(f"{where}: {first['msg']}" if where else first["msg"]) from None


def _loaded(body: bytes) -> Any:
    try:
        return load(body)
    except ValueError as error:
        raise BadBody(f"Invalid JSON: {error}") from None


def with_field(body: bytes, name: str, value: object) -> bytes:
    """The body with this field, whatever it says there. Raises BadBody: it is not a JSON object."""
    data = _loaded(body)
    if not isinstance(data, dict):
        raise BadBody("Input should be an object")
    return json.dumps({**cast(dict[str, Any], data), name: value}).encode()


def estimate(request: ChatRequest) -> int:
    """Tokens of a request, at four characters to a token."""
    return -(-len(text_of(request)) // 4)


def text_of(request: ChatRequest) -> str:
    """All text that is counted, pictures aside."""
    texts = [part.text for message in request.messages for part in message.content if isinstance(part, TextPart)]
    texts += [call.name + call.arguments for message in request.messages for call in message.tool_calls]
    texts += [canonical(message.opaque.data) for message in request.messages if message.opaque is not None]
    texts += [canonical(tool.model_dump(mode="json")) for tool in request.tools]
    if request.response_schema is not None:
        texts.append(canonical(request.response_schema.model_dump(mode="json")))
    return "".join(texts)


def as_text(text: str | None) -> tuple[TextPart, ...]:
    """The content of a message; an empty text is none."""
    return (TextPart(text=text),) if text else ()


def image_part(url: object) -> tuple[ImagePart, ...]:
    """The picture at an address, if there is one."""
    return (ImagePart(url=url),) if isinstance(url, str) and url else ()


def has_picture(message: Message) -> bool:
    """Messages without one are sent as plain text: some servers take nothing else."""
    return any(isinstance(part, ImagePart) for part in message.content)


def tool_call(at: int, id: str | None, name: str | None, arguments: Any) -> ToolCall:
    """A call in a reply, whose arguments are text or data. Servers that give no ids get numbers. Raises ValueError:
    it calls nothing."""
    if name is None:
        raise ValueError("a call of a tool without a name")
    return ToolCall(id=id or f"call_{at}", name=name, arguments=as_json(arguments))


def finish_of(calls: Sequence[ToolCall], ending: Ending) -> Finish:
    """How a reply ended."""
    return "tool_calls" if calls and ending == "stop" else ending


def as_json(arguments: Any) -> str:
    """Arguments of a call as text."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False)


def as_data(arguments: str) -> Any:
    """Arguments of a call as data; as text where a reply stopped within them."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def forced_tool(tools: Sequence[Tool], name: object, *, any_tool: bool) -> str | None:
    """The tool the model must call: the one with this name, or the only one where it must call any."""
    if any_tool:
        return tools[0].name if len(tools) == 1 else None
    return next((tool.name for tool in tools if tool.name == name), None)
