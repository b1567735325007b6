"""What a server takes, what it bills, and what it says of single tasks."""

from collections.abc import Callable
from typing import Any

from hard_worlds import WORLD
from misbehaving import Answer, Asked, Behaviour, refusing, to, where
from trained_against import Expectation, Row, either, right, stops

TASKS = WORLD.make_tasks("parcels", 17, seed=1)
"""Six to train on, three to validate, eight to test."""


# Parameters


def without(name: str, message: str, code: str | None = "unsupported_parameter") -> Behaviour:
    """The server refuses requests that have a field."""
    return where(lambda asked: name in asked.sent, refusing(400, message, code))


def both(**settings: Any) -> dict[str, Any]:
    """The same for target and optimizer."""
    return {"target": settings, "optimizer": settings}


def bent(says: str, setting: str) -> Expectation:
    """Sent in another way, and said so; or a stop that names the setting."""
    return either(right(says), stops(setting))


def wants(form: str) -> Callable[[Asked], bool]:
    return lambda asked: asked.sent.get("response_format", {}).get("type") == form


_PARAMETERS = [
    Row(
        "no seed",
        without("seed", "litellm.UnsupportedParamsError: openai does not support parameters: ['seed']"),
        bent("seed", r"send_seed: false"),
    ),
    Row(
        "no JSON schema",
        where(wants("json_schema"), refusing(400, "response_format json_schema is not supported")),
        right("does not take structured = 'json_schema'"),
    ),
]


# Bills


THOUGHTS = 10_000
"""Tokens of a reply that are billed, and stand outside of `completion_tokens`."""


def with_thoughts(asked: Asked) -> Answer:
    usage = asked.data()["usage"]
    details = {"reasoning_tokens": THOUGHTS}
    total = usage["total_tokens"] + THOUGHTS
    return Answer({**asked.data(), "usage": {**usage, "total_tokens": total, "completion_tokens_details": details}})


def priced(**price: float) -> dict[str, Any]:
    return both(price={"input": 0.0, "output": 0.0, **price})


_BILLS = [
    Row(
        "thoughts outside of the count against a limit of dollars",
        with_thoughts,
        stops(r"limits\.usd"),
        {**priced(output=10.0), "limits": {"usd": 1.0}},
    )
]


# Single tasks


def at(number: int, behaviour: Behaviour) -> Behaviour:
    """Only at one of `TASKS`."""
    text = TASKS[number].input
    return to("target", where(lambda asked: text in asked.call.request.messages[-1].text, behaviour))


LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
_TASKS = [
    Row(
        "a test task is too long",
        at(10, refusing(400, LONG, "context_length_exceeded")),
        stops("maximum context length", "max_void_eval"),
    )
]

ROWS = [*_PARAMETERS, *_BILLS, *_TASKS]
