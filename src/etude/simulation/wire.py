"""What the endpoint makes of a call, and what may happen to its reply."""

from etude.formats import WireRequest
from etude.records import Reply
from etude.simulation.forms import wanted_form
from etude.simulation.text import CHARS_PER_TOKEN, tokens

SEED_HEADER = "x-etude-seed"
"""Carries the seed where the format has no field for it: a whole number."""


def model_of(call: WireRequest) -> str:
    """The model's name in the simulated world: without the prefix `simulated:` or `simulated-`."""
    return call.named.removeprefix("simulated:").removeprefix("simulated-")


def wants_json(call: WireRequest) -> bool:
    """A schema, a forced tool or a skeleton in the prompt asks for JSON."""
    return call.request.response_schema is not None or wanted_form(call.request) is not None


def clip(reply: Reply, most_tokens: int | None) -> Reply:
    """The reply, cut to this many tokens."""
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


def saying(reply: Reply, text: str) -> Reply:
    """The reply with this text as all of its content."""
    usage = reply.usage.model_copy(update={"output_tokens": tokens(text)})
    return reply.model_copy(update={"text": text, "tool_calls": (), "usage": usage, "finish": "stop"})


def _half(text: str) -> str:
    return text[: len(text) // 2]
