"""More of what a server takes and bills, and of other interfaces: neighbours of `behaviours_asked` and
`behaviours_elsewhere`."""

import json
from typing import Any

from behaviours_asked import at, bent, billing_only, both, wants, with_thoughts, without
from behaviours_elsewhere import (
    JUDGED,
    MESSAGES,
    OVERLOADED,
    RESPONSES,
    TOOLS,
    changed,
    judging,
    looking_first,
    said_half,
)
from behaviours_said import CUT
from misbehaving import Answer, Asked, Behaviour, first, refusing, saying, sending, to, where
from trained_against import Row, right, stops, told


def billing(**usage: Any) -> Behaviour:
    """A usage with these fields in place of the right ones."""
    return lambda asked: Answer({**asked.data(), "usage": {**asked.data()["usage"], **usage}})


def has_system(asked: Asked) -> bool:
    return any(message["role"] in ("system", "developer") for message in asked.sent["messages"])


def forbidden(name: str) -> Behaviour:
    detail = [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]
    return where(lambda asked: name in asked.sent, sending({"detail": detail}, 422))


FILTER = saying(lambda text: "", finish="refusal")


_PARAMETERS = [
    Row(
        "streams only",
        where(
            lambda asked: not asked.sent.get("stream"),
            refusing(400, "This model only support stream mode, please enable the stream parameter."),
        ),
        bent("stream", "hint: .*stream: true"),
    ),
    Row(
        "no system message",
        where(has_system, refusing(400, "System role not supported")),
        bent("system", "system (role|message)"),
    ),
    Row("no field that it does not know", forbidden("seed"), bent("seed", r"send_seed: false")),
    Row(
        "no top_p",
        without("top_p", "`top_p` is not supported by this model"),
        bent("top_p", "hint: .*top_p"),
        both(top_p=0.9),
    ),
    Row(
        "no effort of that name",
        without(
            "reasoning_effort",
            "Unsupported value: 'reasoning_effort' does not support 'minimal'",
            "unsupported_value",
        ),
        bent("reasoning_effort", "hint: .*reasoning_effort"),
        both(reasoning_effort="minimal"),
    ),
    Row(
        "no switch for thinking",
        without("chat_template_kwargs", "Unrecognized request argument supplied: chat_template_kwargs"),
        bent("thinking", "hint: .*thinking"),
        both(thinking="off"),
    ),
    Row(
        "no usage in streams",
        without("stream_options", "Unknown parameter: 'stream_options'.", "unknown_parameter"),
        bent("stream_options", "hint: .*stream"),
        both(stream=True),
    ),
    Row(
        "neither JSON schema nor tools",
        where(lambda asked: wants("json_schema")(asked) or "tools" in asked.sent, refusing(400, "Not supported")),
        right("continuing with 'prompt'"),
    ),
]
_BILLS = [
    Row("negative counts", billing(prompt_tokens=-5, completion_tokens=-5, total_tokens=-10), right()),
    Row("counts as text", billing(prompt_tokens="61", completion_tokens="9 tokens"), right()),
    Row("a usage without fields", billing_only({}), right()),
    Row("counts with fractions", billing(prompt_tokens=61.5, completion_tokens=9.25), right()),
    Row("a usage that is a list", billing_only([61, 9]), right()),
    Row(
        "counts that are null",
        billing(prompt_tokens=None, completion_tokens=None, prompt_tokens_details=None),
        right(),
    ),
    Row("counts beyond all measure", billing(prompt_tokens=10**30, completion_tokens=10**30), right()),
    Row(
        "more is read from the cache than was sent", billing(prompt_tokens_details={"cached_tokens": 10**6}), right()
    ),
    Row(
        "thoughts outside of the count against a limit of tokens",
        with_thoughts,
        stops(r"limits\.tokens"),
        {"limits": {"tokens": 150_000}},
    ),
]
_TASKS = [
    Row(
        "a test task is too large",
        at(10, refusing(413, "Request too large")),
        stops("Request too large", "max_void_eval"),
    ),
    Row("a training task is filtered", at(1, FILTER), right(best_test=0.75)),
    Row("a test task is filtered", at(10, FILTER), right(best_test=0.625)),
    Row("a test task has empty replies", at(10, saying(lambda text: "")), right(best_test=0.625)),
]
_RESPONSES = [
    Row(
        "Responses: cut off each time",
        to("target", said_half(status="incomplete", incomplete_details={"reason": "max_output_tokens"})),
        told(CUT),
        RESPONSES,
        "responses",
    ),
    Row(
        "Responses: items of kinds that nobody knows",
        changed(lambda data: data["output"].insert(0, {"type": "tool_search_call", "arguments": {"goal": 7}})),
        right(),
        RESPONSES,
        "responses",
    ),
    Row("Responses: cancelled once", first(said_half(status="cancelled")), right(), RESPONSES, "responses"),
    Row("Responses: still in progress once", first(said_half(status="in_progress")), right(), RESPONSES, "responses"),
    Row(
        "Responses: failed with an error once",
        first(said_half(status="failed", output=[], error={"code": "server_error", "message": "Oops"})),
        right(),
        RESPONSES,
        "responses",
    ),
    Row(
        "Responses: thoughts beside the text",
        changed(lambda data: data["output"].insert(0, {"type": "reasoning", "id": "rs_1", "summary": []})),
        right(),
        RESPONSES,
        "responses",
    ),
]
_MESSAGES = [
    Row("Messages: no usage", changed(lambda data: data.update(usage=None)), right(), MESSAGES, "messages"),
    Row("Messages: an error within an answer once", first(sending(OVERLOADED)), right(), MESSAGES, "messages"),
    Row(
        "Messages: a stop sequence",
        changed(lambda data: data.update(stop_reason="stop_sequence")),
        right(),
        MESSAGES,
        "messages",
    ),
    Row(
        "Messages: an ending that is none once", first(said_half(stop_reason="error")), right(), MESSAGES, "messages"
    ),
    Row(
        "Messages: no content",
        changed(lambda data: data.update(content=[]), "target"),
        told("empty"),
        MESSAGES,
        "messages",
    ),
    Row(
        "Messages: no temperature",
        where(
            lambda asked: "temperature" in asked.sent,
            sending(
                {
                    "type": "error",
                    "error": {
                        "type": "invalid_request_error",
                        "message": "`temperature` is deprecated for this model.",
                    },
                },
                400,
            ),
        ),
        bent("temperature", "hint: .*temperature"),
        {role: {**section, "temperature": 0.7} for role, section in MESSAGES.items()},
        "messages",
    ),
]
_TOOLS = [
    Row(
        "wants its reasoning_details back",
        looking_first(reasoning_details=[{"type": "reasoning.encrypted", "data": "c2VjcmV0", "index": 0}]),
        right(),
        TOOLS,
        "tools",
    )
]
_JUDGE = [
    Row(
        "a judge that thinks aloud",
        judging(lambda data: f'<think>{{"score": 0}}</think>{json.dumps(data)}'),
        right(),
        JUDGED,
        "judged",
    ),
    Row(
        "a judge with more keys",
        judging(lambda data: {"confidence": 1, **data, "notes": ["a"]}),
        right(),
        JUDGED,
        "judged",
    ),
    Row(
        "a judge with grades as text",
        judging(lambda data: {**data, "score": str(data["score"])}),
        right(),
        JUDGED,
        "judged",
    ),
    Row(
        "a judge that grades nothing",
        judging(lambda data: "It looks right."),
        stops("judge|no JSON object"),
        JUDGED,
        "judged",
    ),
    Row("a judge in prose at first", first(judging(lambda data: "It looks right.")), right(), JUDGED, "judged"),
]
ROWS = [*_PARAMETERS, *_BILLS, *_TASKS, *_RESPONSES, *_MESSAGES, *_TOOLS, *_JUDGE]
