"""What servers do that misbehave, one behaviour of each kind, and what a training against them has to come to."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from hard_worlds import WORLD
from misbehaving import (
    Answer,
    Asked,
    Behaviour,
    Data,
    after,
    first,
    refusing,
    saying,
    sending,
    tampering,
    to,
    where,
    writing,
)
from trained_against import Expectation, Row, either, right, stops, told

from etude.records import ToolCall

# What a model says, how its reply ends, and where the text of the reply stands


def thinking(before: str, after: str) -> Behaviour:
    """Both models think aloud, with a draft of what they will say: one that would be read otherwise."""

    def said(asked: Asked) -> Answer:
        draft = "<answer>1</answer>" if asked.role == "target" else '{"edits": [], "reasoning": "draft"}'
        return asked.answer(text=f"{before}A draft: {draft}.{after}{asked.reply.text}")

    return said


def ending(reason: str | None, *, whole: bool = False) -> Behaviour:
    """How both replies end, in the words of Chat Completions; half of the text is missing unless it is `whole`."""

    def ended(asked: Asked) -> Answer:
        data = asked.data()
        choice = data["choices"][0]
        text = choice["message"]["content"]
        choice["message"]["content"] = text if whole else text[: len(text) // 2]
        choice["finish_reason"] = reason
        return Answer(data)

    return ended


SOON = {"limits": {"outage_seconds": 0.4}}
"""How long a dead endpoint is tried."""
CUT = r"cut off.*max_output_tokens"

_THOUGHTS = [Row("thoughts before the reply", thinking("<think>", "</think>\n\n"), right())]
_EDITS = [
    Row(
        "never an object",
        saying(lambda text: "I would add a rule.", "optimizer"),
        told("no JSON object", "optimizer.structured"),
    )
]
_ENDINGS = [
    Row("every reply ends in an error", ending("error"), stops("target.*error"), SOON),
    Row(
        "an optimizer that is cut off each time",
        saying(lambda text: text[: len(text) // 2], "optimizer", finish="length"),
        told(rf"optimizer.*{CUT}"),
    ),
]
_PLACES = [
    Row("content is null", writing(lambda data: data["choices"][0]["message"].update(content=None)), told("empty"))
]


# What comes over the line: statuses, headers, bodies, connections

PAGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>"
HTML = {"Content-Type": "text/html; charset=utf-8"}
HOURS = 86_400
STREAMED = {"target": {"stream": True}, "optimizer": {"stream": True}}
KEY = "api_key_env|NO_SUCH_KEY"


def impatient(**headers: str) -> Behaviour:
    """A server that bans whoever comes back before the time that it asked for."""
    seen: dict[str, float] = {}

    def answer(asked: Asked) -> Answer | None:
        if asked.times == 1 and (asked.role == "optimizer" or asked.is_one_in(5)):
            seen[asked.question] = time.monotonic()
            return refusing(429, "Rate limit reached.", None, **headers)(asked)
        if time.monotonic() - seen.get(asked.question, 0.0) < 0.25:
            return refusing(403, "You came back too early and are banned.")(asked)
        return None

    return answer


def half(body: bytes) -> bytes:
    return body[: len(body) // 2]


def broken_by_an_error(body: bytes) -> bytes:
    parts = body.split(b"\n\n")
    return b"\n\n".join([*parts[:3], b'data: {"error": {"message": "Upstream overloaded", "code": 502}}', b"", b""])


_TEMPORARY = [
    Row("500 once", first(refusing(500, "Try again.")), right()),
    Row("429 with seconds", impatient(Retry_After="0.3"), right()),
    Row(
        "429 for a day",
        after(10, refusing(429, "Daily limit reached.", Retry_After=str(HOURS))),
        stops("target.*86,400 seconds.*Daily limit", most=60),
    ),
]
_REFUSED_HALFWAY = [
    Row("the key is refused halfway", after(10, refusing(401, "Invalid key", "invalid_api_key")), stops("401", KEY))
]
_PAGES = [
    Row("a page in place of every answer", sending(PAGE, headers=HTML), stops("target.*Just a moment"), SOON),
    Row("half of the JSON once", first(tampering(half)), right()),
]
_CONNECTIONS = [
    Row("resets for ever", after(10, sending(status=0, reset=True)), stops("target.*no connection"), SOON)
]
_STREAMS = [Row("an error within a stream once", first(tampering(broken_by_an_error)), right(), STREAMED)]


# What a server takes, what it bills, and what it says of single tasks

TASKS = WORLD.make_tasks("parcels", 17, seed=1)
"""Six to train on, three to validate, eight to test."""


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


# Other interfaces than Chat Completions; tools, whose turns have parts that nobody reads; a judge

JUDGED = {"env": {"scorer": {"name": "rubric", "rubric": "The price is right."}}, "judge": {}}
TOOLS = {"agent": {"name": "tools", "tools": ["read"]}}
RESPONSES = {"target": {"api": "responses"}, "optimizer": {"api": "responses"}}
MESSAGES = {"target": {"model": "anthropic:target-steady"}, "optimizer": {"model": "anthropic:optimizer-perfect"}}
GOOD: Mapping[str, Mapping[str, Any]] = {
    "chat": {},
    "judged": JUDGED,
    "tools": TOOLS,
    "responses": RESPONSES,
    "messages": MESSAGES,
}
"""Trainings that others are compared with."""


def half_said(asked: Asked, **fields: Any) -> Answer:
    reply = asked.reply
    cut = reply.model_copy(update={"text": reply.text[: len(reply.text) // 2]})
    return Answer({**json.loads(asked.form.write_reply(asked.call, cut)), **fields})


def said_half(**fields: Any) -> Behaviour:
    """Half of the text, and fields of the answer."""
    return lambda asked: half_said(asked, **fields)


_RESPONSES = [Row("Responses: failed once", first(said_half(status="failed")), right(), RESPONSES, "responses")]
_MESSAGES = [
    Row(
        "Messages: the credit is used up halfway",
        after(
            10,
            sending(
                {
                    "type": "error",
                    "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"},
                },
                400,
            ),
        ),
        stops("credit balance"),
        MESSAGES,
        "messages",
    )
]


def looking_first(**thought: Any) -> Behaviour:
    """The target reads a file before it answers, and demands its thoughts back: a field of its turn."""
    name = next(iter(thought))
    call = ToolCall(id="call_1", name="read", arguments='{"path": "notes.txt"}')

    def answer(asked: Asked) -> Answer | None:
        turns = [message for message in asked.sent["messages"] if message["role"] == "assistant"]
        if not turns:
            data = json.loads(
                asked.form.write_reply(
                    asked.call,
                    asked.reply.model_copy(update={"text": "", "tool_calls": (call,), "finish": "tool_calls"}),
                )
            )
            data["choices"][0]["message"] |= thought
            return Answer(data)
        if turns[0].get(name) != thought[name]:
            return refusing(400, f"The `{name}` in the thinking mode must be passed back to the API.")(asked)
        return None

    return to("target", answer)


_TOOLS = [
    Row(
        "wants its reasoning_content back", looking_first(reasoning_content="I should look."), right(), TOOLS, "tools"
    )
]


def judging(change: Callable[[Data], Any]) -> Behaviour:
    """Another object, or text, in place of that of the judge."""

    def said(text: str) -> str:
        new = change(json.loads(text))
        return new if isinstance(new, str) else json.dumps(new)

    return saying(said, "judge")


_JUDGE = [
    Row(
        "a judge with grades up to ten",
        judging(lambda data: {**data, "score": data["score"] * 10 + 2}),
        stops("score"),
        JUDGED,
        "judged",
    )
]

ROWS = [
    *_THOUGHTS,
    *_EDITS,
    *_ENDINGS,
    *_PLACES,
    *_TEMPORARY,
    *_REFUSED_HALFWAY,
    *_PAGES,
    *_CONNECTIONS,
    *_STREAMS,
    *_PARAMETERS,
    *_BILLS,
    *_TASKS,
    *_RESPONSES,
    *_MESSAGES,
    *_TOOLS,
    *_JUDGE,
]
