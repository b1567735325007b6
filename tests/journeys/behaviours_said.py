"""What a model says, how its reply ends, and where the text of the reply stands."""

import json
import re
from collections.abc import Callable
from typing import Any

from misbehaving import Answer, Asked, Behaviour, Data, first, saying, sending, to, writing
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


def as_call(asked: Asked) -> Answer:
    """The optimizer answers a request for a form by the call of a tool that nobody has."""
    call = ToolCall(id="call_1", name="final_answer", arguments=asked.reply.text)
    return asked.answer(text="", tool_calls=(call,), finish="tool_calls")


def with_two_choices(data: Data) -> None:
    """The second choice comes first in the list."""
    choice = data["choices"][0]
    other = {**choice, "index": 1, "message": {"role": "assistant", "content": "<answer>1</answer>"}}
    data["choices"] = [other, choice]


def echoing(asked: Asked) -> Answer:
    return asked.answer(text="\n".join(message.text for message in asked.call.request.messages))


SOON = {"limits": {"outage_seconds": 0.4}}
"""How long a dead endpoint is tried."""
CUT = r"cut off.*max_output_tokens"
THOUGHT = r"thought|thinking"

_ANSWERS = [
    Row("prose names the tag first", answering("I will put it in <answer> tags.\n<answer>{}</answer>"), right()),
    Row("prose names the tag afterwards", answering("<answer>{}</answer>\nIt is between <answer> tags."), right()),
    Row("two answers", answering("<answer>1</answer> No, wait.\n<answer>{}</answer>"), right()),
    Row("an answer tag that never ends", answering("Done.\n<answer>{}"), right()),
    Row("a tag in upper case", answering("<ANSWER>\n{}\n</ANSWER>"), right()),
    Row("no tag, the answer alone", answering("{}"), right()),
    Row("an answer within a fence", answering("```\n<answer>{}</answer>\n```"), right()),
    Row("halves of characters and zero bytes around it", answering("\ud83d \0 <answer>{}</answer>"), right()),
]
_THOUGHTS = [
    Row("thoughts before the reply", thinking("<think>", "</think>\n\n"), right()),
    Row("thoughts in another spelling", thinking("<thinking>\n", "\n</thinking>\n"), right()),
    Row("thoughts in square brackets", thinking("[THINK]", "[/THINK]"), right()),
    Row("thoughts in upper case with attributes", thinking('<THINK time="3">', "</THINK>"), right()),
    Row("thoughts without an opening tag", thinking("", "\n</think>\n\n"), right()),
    Row("two blocks of thoughts", thinking("<think>First.</think><think>", "</think>"), right()),
    Row(
        "thoughts in a channel",
        thinking("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        right(),
    ),
    Row("thoughts in marks of their own", thinking("◁think▷", "◁/think▷"), right()),
    Row("thoughts between tags with a colon", thinking("<seed:think>", "</seed:think>"), right()),
    Row("a thought and then the answer alone", answering("<think>1 or 2</think>\n{}"), right()),
    Row("thoughts after the answer", answering("<answer>{}</answer><think>or <answer>1</answer></think>"), right()),
    Row("a thought that never ends", answering("<think>It may be <answer>{}</answer>, but"), told(THOUGHT)),
    Row(
        "a thought that is cut off",
        saying(lambda text: "<think>First I look at the weight", finish="length"),
        told(CUT),
    ),
    Row(
        "the optimizer's thought never ends",
        saying(lambda text: f"<think>{text}", "optimizer"),
        told(rf"optimizer.*({THOUGHT})"),
    ),
]
_EDITS = [
    Row("an edit whose target is null", at_edits(lambda edit: edit.update(target=None)), right()),
    Row("an edit without a target", at_edits(lambda edit: edit.pop("target", None)), right()),
    Row("an edit in upper case", at_edits(lambda edit: edit.update(op=edit["op"].upper())), right()),
    Row("an edit without a reason", at_edits(lambda edit: edit.pop("reason", None)), right()),
    Row("an edit with more keys", at_edits(lambda edit: edit.update(confidence=0.9, id=None)), right()),
    Row("citations as one text", at_edits(lambda edit: edit.update(cites=", ".join(edit["cites"]))), right()),
    Row("edits in one more object", proposing(lambda data: {"result": data}), right()),
    Row("edits as text within the object", proposing(lambda data: json.dumps(json.dumps(data))), right()),
    Row(
        "an object with prose around it", proposing(lambda data: f"Sure!\n```json\n{json.dumps(data)}\n```"), right()
    ),
    Row(
        "a call of a tool as text",
        proposing(lambda data: f'<tool_call>\n{{"name": "reply", "arguments": {json.dumps(data)}}}\n</tool_call>'),
        right(),
    ),
    Row("a call of another tool", to("optimizer", as_call), right()),
    Row("prose at first", first(saying(lambda text: "I would add a rule.", "optimizer")), right()),
    Row("a broken object at first", first(saying(lambda text: text[: len(text) // 2], "optimizer")), right()),
    Row(
        "never an object",
        saying(lambda text: "I would add a rule.", "optimizer"),
        told("no JSON object", "optimizer.structured"),
    ),
]
_ENDINGS = [
    Row("a reply that ended in an error", first(ending("error")), right()),
    Row("a reply that the network ended", first(ending("network_error")), right()),
    Row("a reply that ended for want of resources", first(ending("insufficient_system_resource")), right()),
    Row("a reply that was aborted", first(ending("abort")), right()),
    Row("an ending in other words for a good one", ending("eos_token", whole=True), right()),
    Row("an ending in upper case", ending("STOP", whole=True), right()),
    Row("no ending in a plain body", ending(None, whole=True), right()),
    Row("every reply ends in an error", ending("error"), stops("target.*error"), SOON),
    Row(
        "every reply of the optimizer ends in an error",
        to("optimizer", ending("error")),
        stops("optimizer.*error"),
        SOON,
    ),
    Row("a target that is cut off before its tag", saying(lambda text: text[:9], finish="length"), told(CUT)),
    Row("a target that is cut off within its tag", saying(lambda text: text[:-11], finish="length"), told(CUT)),
    Row("a target that is cut off before any text", saying(lambda text: "", finish="length"), told(CUT)),
    Row(
        "an optimizer that is cut off each time",
        saying(lambda text: text[: len(text) // 2], "optimizer", finish="length"),
        told(rf"optimizer.*{CUT}"),
    ),
    Row(
        "an optimizer that is cut off once",
        first(saying(lambda text: text[:40], "optimizer", finish="length")),
        right(),
    ),
    Row("a target that refuses everything", saying(lambda text: "No.", finish="refusal"), told("refused")),
]
_PLACES = [
    Row("the reply is in reasoning_content", elsewhere("reasoning_content", None), told("reasoning_content")),
    Row("the reply is in reasoning", elsewhere("reasoning", ""), told(r"\breasoning\b")),
    Row(
        "thoughts in reasoning_content beside the reply",
        writing(lambda data: data["choices"][0]["message"].update(reasoning_content="<answer>1</answer>")),
        right(),
    ),
    Row("content as a list of parts", writing(parts_of), right()),
    Row("content is null", writing(lambda data: data["choices"][0]["message"].update(content=None)), told("empty")),
    Row("content is empty once", first(saying(lambda text: "")), right()),
    Row("content is a space", saying(lambda text: " \n"), told("empty")),
    Row("no message at all once", first(writing(lambda data: data["choices"][0].pop("message"))), right()),
    Row("no choices once", first(writing(lambda data: data.update(choices=[]))), right()),
    Row("choices is null once", first(writing(lambda data: data.update(choices=None))), right()),
    Row("several choices, the first one last", writing(with_two_choices), right()),
    Row("a call of a tool that nobody offered", calling("web_search"), told("tool")),
    Row("another model's name in the answer", writing(lambda data: data.update(model="other-model")), right()),
    Row("fields of unknown types", writing(lambda data: data.update(id=7, created="now", object=None)), right()),
]
_WORLDS = [
    Row("the same reply to every question", answering("<answer>7</answer>"), told("answer: 7;")),
    Row("a reply that repeats the prompt", to("target", echoing), told("0.00")),
    Row(
        "the optimizer gets another request's reply",
        to(
            "optimizer",
            sending({"choices": [{"message": {"content": "<answer>7</answer>"}, "finish_reason": "stop"}]}),
        ),
        told("no JSON object", "optimizer.structured"),
    ),
]
ROWS = [*_ANSWERS, *_THOUGHTS, *_EDITS, *_ENDINGS, *_PLACES, *_WORLDS]
