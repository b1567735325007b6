"""Other interfaces than Chat Completions; tools, whose turns have parts that nobody reads; a judge."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from behaviours_said import CUT
from misbehaving import Answer, Asked, Behaviour, Data, after, first, refusing, saying, sending, to
from trained_against import Row, right, stops, told

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


def changed(change: Callable[[Data], object], role: str = "") -> Behaviour:
    def answer(asked: Asked) -> Answer | None:
        if role not in ("", asked.role):
            return None
        data = asked.data()
        change(data)
        return Answer(data)

    return answer


def half_said(asked: Asked, **fields: Any) -> Answer:
    reply = asked.reply
    cut = reply.model_copy(update={"text": reply.text[: len(reply.text) // 2]})
    return Answer({**json.loads(asked.form.write_reply(asked.call, cut)), **fields})


def said_half(**fields: Any) -> Behaviour:
    """Half of the text, and fields of the answer."""
    return lambda asked: half_said(asked, **fields)


_RESPONSES = [
    Row("Responses: failed once", first(said_half(status="failed")), right(), RESPONSES, "responses"),
    Row(
        "Responses: thoughts alone",
        changed(lambda data: data.update(output=[{"type": "reasoning", "id": "rs_1", "summary": []}]), "target"),
        told("empty|thought|reasoning"),
        RESPONSES,
        "responses",
    ),
]
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
_MESSAGES = [
    Row("Messages: overloaded once", first(sending(OVERLOADED, 529)), right(), MESSAGES, "messages"),
    Row(
        "Messages: thoughts before the text",
        changed(
            lambda data: data["content"].insert(
                0, {"type": "thinking", "thinking": "<answer>1</answer>", "signature": "s"}
            )
        ),
        right(),
        MESSAGES,
        "messages",
    ),
    Row(
        "Messages: cut off each time",
        to("target", said_half(stop_reason="max_tokens")),
        told(CUT),
        MESSAGES,
        "messages",
    ),
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
    ),
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


def thinking_first(asked: Asked) -> Answer | None:
    """The same with Messages, whose thoughts are signed blocks before the call."""
    turns = [message for message in asked.sent["messages"] if message["role"] == "assistant"]
    block = {"type": "thinking", "thinking": "I should look.", "signature": "c2lnbmVk"}
    if not turns:
        call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "notes.txt"}}
        return Answer({**asked.data(), "content": [block, call], "stop_reason": "tool_use"})
    content = turns[0]["content"]
    if not isinstance(content, list) or content[0] != block:
        return refusing(
            400,
            "Expected `thinking`, but found `tool_use`: a final assistant message must start with a thinking block",
        )(asked)
    return None


def reasoning_first(asked: Asked) -> Answer | None:
    """The same with Responses, whose thoughts are items."""
    items = [item for item in asked.sent["input"] if item.get("type") == "function_call"]
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}
    if not items:
        call = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "read",
            "arguments": '{"path": "notes.txt"}',
            "status": "completed",
        }
        return Answer({**asked.data(), "output": [item, call]})
    if not any(
        one.get("type") == "reasoning" and one.get("encrypted_content") == "c2VjcmV0" for one in asked.sent["input"]
    ):
        return refusing(
            400, "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."
        )(asked)
    return None


def signed_first(asked: Asked) -> Answer | None:
    """As Gemini does behind Chat Completions: the call itself has a signature."""
    turns = [message for message in asked.sent["messages"] if message["role"] == "assistant"]
    extra = {"google": {"thought_signature": "c2lnbmVk"}}
    if not turns:
        function = {"name": "read", "arguments": '{"path": "notes.txt"}'}
        data = asked.data()
        call = {"id": "call_1", "type": "function", "function": function, "extra_content": extra}
        data["choices"][0] |= {
            "message": {"role": "assistant", "content": None, "tool_calls": [call]},
            "finish_reason": "tool_calls",
        }
        return Answer(data)
    if turns[0]["tool_calls"][0].get("extra_content") != extra:
        return refusing(400, "Function call is missing a thought_signature in functionCall parts.")(asked)
    return None


_TOOLS = [
    Row(
        "wants its reasoning_content back", looking_first(reasoning_content="I should look."), right(), TOOLS, "tools"
    ),
    Row("wants its thought signature back", to("target", signed_first), right(), TOOLS, "tools"),
    Row(
        "Messages: wants its thinking block back",
        to("target", thinking_first),
        right(),
        {**TOOLS, **MESSAGES},
        "tools",
    ),
    Row(
        "Responses: wants its reasoning item back",
        to("target", reasoning_first),
        right(),
        {**TOOLS, **RESPONSES},
        "tools",
    ),
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
    ),
    Row(
        "a judge whose replies end in an error once",
        first(to("judge", said_half(choices=[])), of=1),
        right(),
        JUDGED,
        "judged",
    ),
]
ROWS = [*_RESPONSES, *_MESSAGES, *_TOOLS, *_JUDGE]
