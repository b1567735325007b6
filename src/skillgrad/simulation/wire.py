"""What the formats of the endpoint have in common: a call, and what may happen to its reply."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from skillgrad.errors import InputError
from skillgrad.records import ChatRequest, Reply, ResponseSchema, digest
from skillgrad.simulation.forms import wanted_form
from skillgrad.simulation.schemas import by_example
from skillgrad.simulation.text import CHARS_PER_TOKEN, tokens
from skillgrad.simulation.world import JUDGE, TARGETS

B = TypeVar("B", bound=BaseModel)

FINGERPRINT = "simulated"
"""Marks the answers: as `system_fingerprint` of chat completions, else within the id."""
TRIAL_HEADER = "x-skillgrad-trial"
"""Carries the trial where the format has no field for a seed: a whole number."""
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

    @property
    def model(self) -> str:
        """Without the prefix `simulated:` or `simulated-`."""
        return plain_name(self.named)

    @property
    def wants_json(self) -> bool:
        """A schema, a forced tool or a skeleton in the prompt asks for JSON."""
        return self.request.response_schema is not None or wanted_form(self.request) is not None

    @cached_property
    def id(self) -> str:
        """24 hex digits over the model and the request."""
        return digest([self.named, self.request.model_dump(mode="json")])[:24]


@dataclass(frozen=True)
class Wire:
    """A format the endpoint speaks."""

    read: Callable[[bytes, int | None], Call]
    """The call of a body and of the trial header. Raises BadBody."""
    plain: Callable[[Call, Reply], bytes]
    """The body of a plain answer."""
    events: Callable[[Call, Reply], Iterator[bytes]]
    """The events of a streamed answer."""
    error: Callable[[int, str], bytes]
    """The body of an error, from its status and message."""
    overloaded: int
    """The status of a server that has too much to do."""


def plain_name(named: str) -> str:
    """The model's name in the simulated world."""
    return named.removeprefix("simulated:").removeprefix("simulated-")


def parse_body(form: type[B], body: bytes) -> B:
    """The body as `form`.

    Raises:
        BadBody: no JSON, or not what the format has; names the place.
    """
    try:
        return form.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadBody(f"{where}: {first['msg']}" if where else first["msg"]) from None


def with_usual_json(named: str, request: ChatRequest) -> ChatRequest:
    """JSON without a schema: the skeleton in the prompt is used, else what the role usually says."""
    if wanted_form(request) is not None:
        return request
    model = plain_name(named)
    edit = {"op": "append|insert_after|replace|delete", "target": "", "content": "", "reason": "", "cites": [""]}
    usual: dict[str, Any] = {"reasoning": "", "edits": [edit]}
    if model in TARGETS:
        usual = {"reasoning": "", "answer": ""}
    elif model == JUDGE:
        usual = {"score": 0.5, "reason": ""}
    return request.model_copy(update={"response_schema": ResponseSchema(name="reply", body=by_example(usual))})


def clip(reply: Reply, most_tokens: int | None) -> Reply:
    """The reply, cut to so many tokens."""
    if most_tokens is None or reply.usage.output_tokens <= most_tokens:
        return reply
    most = most_tokens * CHARS_PER_TOKEN
    calls = tuple(call.model_copy(update={"arguments": call.arguments[:most]}) for call in reply.tool_calls)
    usage = reply.usage.model_copy(update={"output_tokens": most_tokens})
    return reply.model_copy(
        update={"text": reply.text[:most], "tool_calls": calls, "usage": usage, "finish": "length"}
    )


def cut(reply: Reply) -> Reply:
    """The reply with its content ending in the middle, though it does not say so."""
    calls = tuple(call.model_copy(update={"arguments": _half(call.arguments)}) for call in reply.tool_calls)
    return reply.model_copy(update={"text": _half(reply.text), "tool_calls": calls})


def _half(text: str) -> str:
    return text[: len(text) // 2]


def empty(reply: Reply) -> Reply:
    """The reply without its content."""
    usage = reply.usage.model_copy(update={"output_tokens": tokens("")})
    return reply.model_copy(update={"text": "", "tool_calls": (), "usage": usage, "finish": "stop"})


def pieces(text: str) -> list[str]:
    """The text as it is streamed."""
    size = max(1, -(-len(text) // CHUNKS))
    return [text[start : start + size] for start in range(0, len(text), size)]


def named_event(data: Mapping[str, Any]) -> bytes:
    """A server-sent event with the name that its data has as `type`."""
    return f"event: {data['type']}\n".encode() + bare_event(data)


def bare_event(data: Mapping[str, Any]) -> bytes:
    """A server-sent event without a name."""
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"
