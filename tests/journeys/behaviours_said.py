"""What a model says, how its reply ends, and where the text of the reply stands."""

import json
import re
from collections.abc import Callable
from typing import Any

from misbehaving import Answer, Asked, Behaviour, Data, first, saying, to, writing
from trained_against import Row, right, stops, told

from etude.records import ToolCall


def answer_in(text: str) -> str:
    """What the good reply of the target answers."""
    return re.findall(r"<answer>(.*?)</answer>", text)[-1]


def answering(shape: str) -> Behaviour:
    """The target replies so; `{}` is its answer."""
    return saying(lambda text: shape.replace("{}", answer_in(text)))


def thinking(before: str, after: str) -> Behaviour:
    """Both models think aloud, with a draft of what they will say: one that would be read otherwise."""

    def said(asked: Asked) -> Answer:
        draft = "<answer>1</answer>" if asked.role == "target" else '{"edits": [], "reasoning": "draft"}'
        return asked.answer(text=f"{before}A draft: {draft}.{after}{asked.reply.text}")

    return said


def at_edits(change: Callable[[Data], object]) -> Behaviour:
    """Each proposed edit is changed in place."""

    def changed(data: Data) -> None:
        for edit in data.get("edits", ()):
            change(edit)

    return proposing(lambda data: changed(data) or data)


def proposing(change: Callable[[Data], Any]) -> Behaviour:
    """Another object, or text, in place of that of the optimizer."""

    def said(text: str) -> str:
        new = change(json.loads(text))
        return new if isinstance(new, str) else json.dumps(new)

    return saying(said, "optimizer")


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


def stopped_at_limit(asked: Asked) -> Answer:
    """Half of the text, as many tokens as were allowed, and `stop`, as Ollama says it."""
    data, limit = asked.data(), asked.sent["max_tokens"]
    message, usage = data["choices"][0]["message"], data["usage"]
    message["content"] = message["content"][: len(message["content"]) // 2]
    usage |= {"completion_tokens": limit, "total_tokens": usage["prompt_tokens"] + limit}
    return Answer(data)


def elsewhere(field: str, left: str | None) -> Behaviour:
    """The text of the target stands in another field."""

    def moved(data: Data) -> None:
        message = data["choices"][0]["message"]
        message[field], message["content"] = message["content"], left

    return writing(moved)


def parts_of(data: Data) -> None:
    message = data["choices"][0]["message"]
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "<answer>1</answer>"}]}
    message["content"] = [thought, {"type": "text", "text": message["content"]}]


def calling(name: str) -> Behaviour:
    call = ToolCall(id="call_1", name=name, arguments='{"query": "parcels"}')
    return to("target", lambda asked: asked.answer(text="", tool_calls=(call,), finish="tool_calls"))


SOON = {"limits": {"outage_seconds": 0.4}}
"""How long a dead endpoint is tried."""
CUT = r"cut off.*max_output_tokens"
THOUGHT = r"thought|thinking"

_ANSWERS = [
    Row("an answer tag that never ends", answering("Done.\n<answer>{}"), right()),
    Row("no tag, the answer alone", answering("{}"), right()),
]
_THOUGHTS = [
    Row("thoughts before the reply", thinking("<think>", "</think>\n\n"), right()),
    Row("thoughts without an opening tag", thinking("", "\n</think>\n\n"), right()),
    Row(
        "thoughts in a channel",
        thinking("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        right(),
    ),
    Row(
        "turns that the model makes up",
        answering(
            "<answer>{}</answer><|im_end|>\n<|im_start|>user\nNow?<|im_end|>\n<|im_start|>assistant\n<answer>1</answer>"
        ),
        right(),
    ),
    Row("a thought that never ends", answering("<think>It may be <answer>{}</answer>, but"), told(THOUGHT)),
]
_EDITS = [
    Row("an edit whose target is null", at_edits(lambda edit: edit.update(target=None)), right()),
    Row("edits in one more object", proposing(lambda data: {"result": data}), right()),
    Row(
        "a call of a tool as text",
        proposing(lambda data: f'<tool_call>\n{{"name": "reply", "arguments": {json.dumps(data)}}}\n</tool_call>'),
        right(),
    ),
    Row(
        "never an object",
        saying(lambda text: "I would add a rule.", "optimizer"),
        told("no JSON object", "optimizer.structured"),
    ),
]
_ENDINGS = [
    Row("a reply that ended in an error", first(ending("error")), right()),
    Row("no ending in a plain body", ending(None, whole=True), right()),
    Row("cut off at the limit and said to have ended", to("target", stopped_at_limit), told(CUT)),
    Row("every reply ends in an error", ending("error"), stops("target.*error"), SOON),
    Row(
        "an optimizer that is cut off each time",
        saying(lambda text: text[: len(text) // 2], "optimizer", finish="length"),
        told(rf"optimizer.*{CUT}"),
    ),
    Row(
        "a target that refuses everything",
        saying(lambda text: "No.", finish="refusal"),
        told("6 of 6 replies in training and 3 of 3.*were refused.*-> take another target.model"),
    ),
]
_PLACES = [
    Row("the reply is in reasoning_content", elsewhere("reasoning_content", None), told("reasoning_content")),
    Row("content as a list of parts", writing(parts_of), right()),
    Row(
        "content is null",
        writing(lambda data: data["choices"][0]["message"].update(content=None)),
        told(
            "6 of 6 replies in training and 3 of 3.*were empty one of.*, the reply was empty -> see what the server"
        ),
    ),
    Row("a call of a tool that nobody offered", calling("web_search"), told("tool")),
]
_WORLDS = [Row("the same reply to every question", answering("<answer>7</answer>"), told("answer: 7;"))]
ROWS = [*_ANSWERS, *_THOUGHTS, *_EDITS, *_ENDINGS, *_PLACES, *_WORLDS]
