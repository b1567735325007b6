"""What the formats have in common."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from etude.errors import InputError
from etude.records import ChatRequest, ImagePart, Message, Reply, TextPart, Tool, digest

B = TypeVar("B", bound=BaseModel)

CHUNKS = 5
"""Pieces a streamed text comes in."""


class BadBody(InputError):
    """The body is not what the format asks for."""


@dataclass(frozen=True)
class Call:
    """A request in one of the formats."""

    named: str
    """The model, as the client wrote it."""
    request: ChatRequest
    most_tokens: int | None
    stream: bool
    stream_usage: bool = True
    """A stream ends with the usage."""
    any_json: bool = False
    """The reply must be JSON, whatever its schema."""

    @cached_property
    def id(self) -> str:
        """24 hex digits over the model and the request."""
        return digest([self.named, self.request.model_dump(mode="json")])[:24]


@dataclass(frozen=True)
class Wire:
    """A format a server speaks."""

    read: Callable[[bytes, int | None], Call]
    """The call of a body; the number is its trial where the body has no seed. Raises BadBody."""
    plain: Callable[[Call, Reply], bytes]
    """The body of a plain answer."""
    events: Callable[[Call, Reply], Iterator[bytes]]
    """The events of a streamed answer."""
    error: Callable[[int, str], bytes]
    """The body of an error, from its status and message."""
    broken: Callable[[Call, int, str], bytes]
    """The event that ends a streamed answer with an error."""
    waiting: bytes
    """An event that says nothing: the answer is still to come."""
    overloaded: int
    """The status of a server that has too much to do."""


def maker(reply: Reply) -> str:
    """Marks an answer as `system_fingerprint` of chat completions, else within the id: who replied."""
    return "simulated" if reply.simulated else "etude"


def parse_body(form: type[B], body: bytes) -> B:
    """The body as `form`. Halves of characters, which JSON can spell and nothing can encode, become `?`.

    Raises:
        BadBody: no JSON, or not what the format has; names the place.
    """
    try:
        return form.model_validate_json(body)
    except ValidationError as error:
        if b"\\ud" in body.lower() and error.errors()[0]["type"] == "json_invalid":
            return _parse(form, json.dumps(_loads(body), ensure_ascii=False).encode("utf-8", "replace"))
        raise _bad(error) from None


def _parse(form: type[B], body: bytes) -> B:
    try:
        return form.model_validate_json(body)
    except ValidationError as error:
        raise _bad(error) from None


def _bad(error: ValidationError) -> BadBody:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return BadBody(f"{where}: {first['msg']}" if where else first["msg"])


def _loads(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise BadBody(f"Invalid JSON: {error}") from None


def with_field(body: bytes, name: str, value: object) -> bytes:
    """The body with this field, whatever it says there.

    Raises:
        BadBody: no JSON object.
    """
    data = _loads(body)
    if not isinstance(data, dict):
        raise BadBody("Input should be an object")
    return json.dumps({**cast(dict[str, Any], data), name: value}).encode()


def estimate(request: ChatRequest) -> int:
    """Tokens of a request, at four characters to a token."""
    texts = [message.text for message in request.messages]
    texts += [call.name + call.arguments for message in request.messages for call in message.tool_calls]
    texts += [tool.name + tool.description + json.dumps(tool.parameters) for tool in request.tools]
    return -(-sum(map(len, texts)) // 4)


def as_text(text: str) -> tuple[TextPart, ...]:
    """The content of a message; an empty text is none."""
    return (TextPart(text=text),) if text else ()


def joined(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with what the model said in one go in one message: a text and its calls can be apart in formats
    of items, and servers of others take them only together."""
    turns: list[Message] = []
    for message in messages:
        if turns and message.role == "assistant" == turns[-1].role:
            before = turns.pop()
            content = (*before.content, *message.content)
            message = Message(role="assistant", content=content, tool_calls=(*before.tool_calls, *message.tool_calls))
        turns.append(message)
    return tuple(turns)


def forced_tool(tools: Sequence[Tool], name: object, *, any_tool: bool) -> str | None:
    """The tool the model must call: the one with this name, or the only one where it must call any."""
    if any_tool:
        return tools[0].name if len(tools) == 1 else None
    return next((tool.name for tool in tools if tool.name == name), None)


def image_part(url: object) -> tuple[ImagePart, ...]:
    """The picture at an address, if there is one."""
    return (ImagePart(url=url),) if isinstance(url, str) and url else ()


def pieces(text: str) -> list[str]:
    """The text as it is streamed."""
    size = max(1, -(-len(text) // CHUNKS))
    return [text[start : start + size] for start in range(0, len(text), size)]


def named_event(data: Mapping[str, Any]) -> bytes:
    """A server-sent event with the name that its data has as `type`."""
    return f"event: {data['type']}\n".encode() + bare_event(data)


def bare_event(data: Mapping[str, Any]) -> bytes:
    """A server-sent event without a name."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"


COMMENT = b": waiting\n\n"
"""What clients read over."""
