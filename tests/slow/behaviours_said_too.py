"""More of what a model says, how its reply ends, and where it stands: neighbours of `behaviours_said`."""

import json

from behaviours_said import CUT, SOON, THOUGHT, answering, at_edits, elsewhere, ending, proposing, thinking
from misbehaving import Answer, Asked, Data, first, saying, sending, to, writing
from trained_against import Row, right, stops, told

from etude.records import ToolCall


def echoing(asked: Asked) -> Answer:
    return asked.answer(text="\n".join(message.text for message in asked.call.request.messages))


def as_call(asked: Asked) -> Answer:
    """The optimizer answers a request for a form by the call of a tool that nobody has."""
    call = ToolCall(id="call_1", name="final_answer", arguments=asked.reply.text)
    return asked.answer(text="", tool_calls=(call,), finish="tool_calls")


def with_two_choices(data: Data) -> None:
    """The second choice comes first in the list."""
    choice = data["choices"][0]
    other = {**choice, "index": 1, "message": {"role": "assistant", "content": "<answer>1</answer>"}}
    data["choices"] = [other, choice]


_ANSWERS = [
    Row("prose names the tag first", answering("I will put it in <answer> tags.\n<answer>{}</answer>"), right()),
    Row("halves of characters and zero bytes around it", answering("\ud83d \0 <answer>{}</answer>"), right()),
    Row("prose names the tag afterwards", answering("<answer>{}</answer>\nIt is between <answer> tags."), right()),
    Row("two answers", answering("<answer>1</answer> No, wait.\n<answer>{}</answer>"), right()),
    Row("a tag in upper case", answering("<ANSWER>\n{}\n</ANSWER>"), right()),
    Row("an answer within a fence", answering("```\n<answer>{}</answer>\n```"), right()),
]
_THOUGHTS = [
    Row(
        "a thought that is cut off",
        saying(lambda text: "<think>First I look at the weight", finish="length"),
        told(CUT),
    ),
    Row("thoughts in another spelling", thinking("<thinking>\n", "\n</thinking>\n"), right()),
    Row("thoughts in square brackets", thinking("[THINK]", "[/THINK]"), right()),
    Row("thoughts in upper case with attributes", thinking('<THINK time="3">', "</THINK>"), right()),
    Row("two blocks of thoughts", thinking("<think>First.</think><think>", "</think>"), right()),
    Row("thoughts in marks of their own", thinking("◁think▷", "◁/think▷"), right()),
    Row("thoughts between tags with a colon", thinking("<seed:think>", "</seed:think>"), right()),
    Row("a thought and then the answer alone", answering("<think>1 or 2</think>\n{}"), right()),
    Row("thoughts after the answer", answering("<answer>{}</answer><think>or <answer>1</answer></think>"), right()),
    Row(
        "the optimizer's thought never ends",
        saying(lambda text: f"<think>{text}", "optimizer"),
        told(rf"optimizer.*({THOUGHT})"),
    ),
]
_EDITS = [
    Row("citations as one text", at_edits(lambda edit: edit.update(cites=", ".join(edit["cites"]))), right()),
    Row("a call of another tool", to("optimizer", as_call), right()),
    Row("an edit without a target", at_edits(lambda edit: edit.pop("target", None)), right()),
    Row("an edit in upper case", at_edits(lambda edit: edit.update(op=edit["op"].upper())), right()),
    Row("an edit without a reason", at_edits(lambda edit: edit.pop("reason", None)), right()),
    Row("an edit with more keys", at_edits(lambda edit: edit.update(confidence=0.9, id=None)), right()),
    Row("edits as text within the object", proposing(lambda data: json.dumps(json.dumps(data))), right()),
    Row(
        "an object with prose around it", proposing(lambda data: f"Sure!\n```json\n{json.dumps(data)}\n```"), right()
    ),
    Row("prose at first", first(saying(lambda text: "I would add a rule.", "optimizer")), right()),
    Row("a broken object at first", first(saying(lambda text: text[: len(text) // 2], "optimizer")), right()),
]
_ENDINGS = [
    Row("a target that is cut off within its tag", saying(lambda text: text[:-11], finish="length"), told(CUT)),
    Row("a reply that the network ended", first(ending("network_error")), right()),
    Row("a reply that ended for want of resources", first(ending("insufficient_system_resource")), right()),
    Row("a reply that was aborted", first(ending("abort")), right()),
    Row("an ending in other words for a good one", ending("eos_token", whole=True), right()),
    Row("an ending in upper case", ending("STOP", whole=True), right()),
    Row(
        "every reply of the optimizer ends in an error",
        to("optimizer", ending("error")),
        stops("optimizer.*error"),
        SOON,
    ),
    Row("a target that is cut off before its tag", saying(lambda text: text[:9], finish="length"), told(CUT)),
    Row("a target that is cut off before any text", saying(lambda text: "", finish="length"), told(CUT)),
    Row(
        "an optimizer that is cut off once",
        first(saying(lambda text: text[:40], "optimizer", finish="length")),
        right(),
    ),
]
_PLACES = [
    Row("no message at all once", first(writing(lambda data: data["choices"][0].pop("message"))), right()),
    Row("several choices, the first one last", writing(with_two_choices), right()),
    Row("the reply is in reasoning", elsewhere("reasoning", ""), told(r"\breasoning\b")),
    Row(
        "thoughts in reasoning_content beside the reply",
        writing(lambda data: data["choices"][0]["message"].update(reasoning_content="<answer>1</answer>")),
        right(),
    ),
    Row("content is empty once", first(saying(lambda text: "")), right()),
    Row("content is a space", saying(lambda text: " \n"), told("empty")),
    Row("no choices once", first(writing(lambda data: data.update(choices=[]))), right()),
    Row("choices is null once", first(writing(lambda data: data.update(choices=None))), right()),
    Row("another model's name in the answer", writing(lambda data: data.update(model="other-model")), right()),
    Row("fields of unknown types", writing(lambda data: data.update(id=7, created="now", object=None)), right()),
]
_WORLDS = [
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
