"""What a server takes, what it bills, and what it says of single tasks."""

from collections.abc import Callable
from typing import Any

from hard_worlds import WORLD
from misbehaving import Answer, Asked, Behaviour, refusing, to, where
from trained_against import Expectation, Row, costing, either, right, stops

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
        "no temperature",
        without(
            "temperature",
            "Unsupported value: 'temperature' does not support 0.7 with this model.",
            "unsupported_value",
        ),
        bent("temperature", "hint: .*temperature"),
        both(temperature=0.7),
    ),
    Row(
        "no max_tokens",
        without("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        either(right("max_completion_tokens"), stops("hint: .*max_completion_tokens")),
    ),
    Row(
        "no effort, of a model that cannot think",
        without("reasoning_effort", '"llama3" does not support thinking', None),
        right("reasoning_effort"),
        both(reasoning_effort="low"),
    ),
    Row(
        "only streamed",
        where(
            lambda asked: not asked.sent.get("stream"),
            refusing(400, "Requests with max_tokens > 4096 must have stream=true"),
        ),
        right("streamed"),
    ),
    Row(
        "no such model, as a bad request",
        refusing(400, "acme/none is not a valid model ID"),
        stops("not a valid model ID", "check the model name", most=20),
    ),
    Row(
        "fewer tokens than the limit",
        where(
            lambda asked: asked.sent.get("max_tokens", 0) > 512,
            refusing(400, "max_tokens is too large: 4096. This model supports at most 512 completion tokens"),
        ),
        stops("set target.max_output_tokens to what the server takes"),
    ),
    Row(
        "no JSON schema",
        where(wants("json_schema"), refusing(400, "response_format json_schema is not supported")),
        right("does not take structured = 'json_schema'"),
    ),
]


# Bills


def billing_only(usage: Any) -> Behaviour:
    return lambda asked: Answer({**asked.data(), "usage": usage})


def from_a_real_model(asked: Asked) -> Answer:
    data = asked.data()
    del data["system_fingerprint"]
    return Answer(data)


THOUGHTS = 10_000
"""Tokens of a reply that are billed, and stand outside of `completion_tokens`."""


def with_thoughts(asked: Asked) -> Answer:
    usage = asked.data()["usage"]
    details = {"reasoning_tokens": THOUGHTS}
    total = usage["total_tokens"] + THOUGHTS
    return Answer({**asked.data(), "usage": {**usage, "total_tokens": total, "completion_tokens_details": details}})


def priced(**price: float) -> dict[str, Any]:
    return both(price={"input": 0.0, "output": 0.0, **price})


CHEAP = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
_BILLS = [
    Row("no price", from_a_real_model, right("cost unknown", unsaid=r"cost \$")),
    Row("no usage", billing_only(None), right()),
    Row(
        "thoughts outside of the count against a limit of dollars",
        with_thoughts,
        stops(r"limits\.usd"),
        {**priced(output=10.0), "limits": {"usd": 1.0}},
    ),
    Row(
        "no usage against a limit of tokens",
        billing_only(None),
        stops(r"limits\.tokens"),
        {"limits": {"tokens": 21_000}},
    ),
    Row(
        "a cache with fields of its own",
        billing_only({**CHEAP, "prompt_cache_hit_tokens": 900, "prompt_cache_miss_tokens": 100}),
        costing(0.00019),
        priced(input=1.0, cached=0.1),
    ),
]


# Single tasks


def at(number: int, behaviour: Behaviour) -> Behaviour:
    """Only at one of `TASKS`."""
    text = TASKS[number].input
    return to("target", where(lambda asked: text in asked.call.request.messages[-1].text, behaviour))


LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
FILTERED = "The response was filtered due to the prompt triggering the content management policy."
_TASKS = [
    Row(
        "a training task is too long",
        at(1, refusing(400, LONG, "context_length_exceeded")),
        right("1 attempt errored", best_test=0.75),
    ),
    Row(
        "a test task is too long",
        at(10, refusing(400, LONG, "context_length_exceeded")),
        stops("maximum context length", "max_void_eval"),
    ),
    Row(
        "a test task is refused by a filter",
        at(10, refusing(400, FILTERED, "content_filter")),
        right(r"2 of 16 replies in the test were refused.*-> take another target\.model", best_test=0.625),
    ),
    Row(
        "a test task is refused by the model",
        at(10, lambda asked: asked.answer(text="I cannot help with that.", finish="refusal")),
        right(r"2 of 16 replies in the test were refused.*-> take another target\.model", best_test=0.625),
    ),
    Row(
        "a test task fails for ever",
        at(10, refusing(500, "Internal error")),
        stops("Internal error"),
        {"limits": {"outage_seconds": 0.4}},
    ),
]

ROWS = [*_PARAMETERS, *_BILLS, *_TASKS]
