"""Other interfaces than Chat Completions; tools, whose turns have parts that nobody reads; a judge."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from misbehaving import Answer, Asked, Behaviour, Data, after, first, refusing, saying, sending, to
from trained_against import Row, right, stops

from etude.records import ToolCall

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


# Tools


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


# A judge


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
ROWS = [*_RESPONSES, *_MESSAGES, *_TOOLS, *_JUDGE]
