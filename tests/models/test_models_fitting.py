"""Objects of weak models: what is read of them, and what stays an error."""

import json
from typing import Any

import pytest

from etude.envs.scorers.rubric import Findings, Grade
from etude.errors import UnusableReply
from etude.models import Structured
from etude.published.update_modes.forms import RoutedReply, SuggestionsReply
from etude.records import Edit, Reply, user
from etude.stages.shared.proposals import PatchReply
from etude.testing import ScriptedModel

ROW: dict[str, Any] = {"op": "append", "target": "", "content": "- Rule.", "reason": "r", "cites": ["a-1"]}
EDIT = Edit(op="append", content="- Rule.", reason="r", cites=("a-1",))
PATCH: dict[str, Any] = {"reasoning": "r", "edits": [ROW]}


async def read(text: str, form: type[Any]) -> Any:
    return await Structured(ScriptedModel([text]), attempts=1).ask((user("Improve this."),), form)


def row(**fields: Any) -> dict[str, Any]:
    made = {**ROW, **fields}
    return {name: value for name, value in made.items() if value is not ...}


@pytest.mark.parametrize(
    "edits",
    [
        [row(target=None)],
        [row(target=...)],
        [row(target="# Rules")],
        [row(op="APPEND")],
        [row(op="Append ")],
        [row(cites="a-1")],
        [row(priority="high", support=2)],
        [{name.upper(): value for name, value in ROW.items()}],
        ROW,
        row(target=None, op="Append"),
        json.dumps([ROW]),
        [json.dumps(ROW)],
        [row(cites='["a-1"]')],
        [row(content=["- Rule."])],
        [None, ROW],
    ],
)
@pytest.mark.parametrize("more", [{"reasoning": "r"}, {}, {"reasoning": None}, {"reasoning": "r", "confidence": 0.9}])
async def test_an_edit_is_read_in_the_spellings_of_weak_models(edits: Any, more: dict[str, Any]):
    reply = await read(json.dumps({**more, "edits": edits}), PatchReply)
    assert reply.proposed() == (EDIT,)


@pytest.mark.parametrize(
    "call",
    [
        {"name": "PatchReply", "arguments": PATCH},
        {"name": "PatchReply", "arguments": json.dumps(PATCH)},
        {"name": "PatchReply", "parameters": PATCH},
        {"type": "tool_use", "name": "PatchReply", "input": PATCH},
        {"type": "function", "function": {"name": "PatchReply", "arguments": json.dumps(PATCH)}},
        {"function": "PatchReply", "arguments": PATCH},
        {"function": "PatchReply", "parameters": json.dumps(PATCH)},
        {"tool_calls": [{"id": "1", "function": {"name": "PatchReply", "arguments": PATCH}}]},
        {"PatchReply": PATCH},
        {"edits": PATCH["edits"]},
        {"type": "object", "properties": PATCH},
        {"name": "PatchReply", "arguments": {"edits": json.dumps(PATCH["edits"]), "reasoning": "r"}},
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "<tool_call>\n{}\n</tool_call>",
        "<think>Shall I call {{it}}?</think><tool_call>{}</tool_call>",
        "[TOOL_CALLS][{}]",
        "<|python_tag|>{}",
        "Here it is:\n```json\n{}\n```\nI hope it helps.",
        "```\n{}\n```",
    ],
)
async def test_a_call_written_as_text_is_read(call: dict[str, Any], around: str):
    assert (await read(around.format(json.dumps(call)), PatchReply)).proposed() == (EDIT,)


async def test_rows_of_other_forms_are_read_alike():
    routed = {"routes": {"attempt": "a-1", "cause": "Skill Defect"}, "edits": ROW, "reminders": []}
    reply = await read(json.dumps(routed), RoutedReply)
    assert (reply.proposed(), reply.lapses()) == ((EDIT,), ())
    suggestion = {"op": "Add", "target": None, "content": "Say more.", "cites": "a-1"}
    (edit,) = (await read(json.dumps(suggestion), SuggestionsReply)).proposed()
    assert (edit.op, edit.content, edit.cites) == ("add", "Say more.", ("a-1",))


@pytest.mark.parametrize(
    ("text", "form", "read_as"),
    [
        ('{"score": 0.5, "reason": "r", "confidence": 1}', Grade, {"reason": "r", "score": 0.5}),
        ('{"Score": "0.5", "Reason": "r"}', Grade, {"reason": "r", "score": 0.5}),
        ('<thinking>{"score": 0}</thinking>{"reason": "r", "score": 0.5}', Grade, {"reason": "r", "score": 0.5}),
        ('{"grade": {"reason": "r", "score": 0.5}}', Grade, {"reason": "r", "score": 0.5}),
        (
            '{"criterion": 1, "evidence": "e", "met": true, "quote": "q"}',
            Findings,
            {"findings": [{"criterion": 1, "evidence": "e", "met": True}]},
        ),
    ],
)
async def test_the_reply_of_a_judge_may_have_more_keys(text: str, form: type[Any], read_as: dict[str, Any]):
    assert (await read(text, form)).model_dump() == read_as


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<think>a</think>{"edits": []} or {"edits": [1]}', "the reply has 2 JSON objects where one is expected"),
        ('<think>{"edits": []}', "the reply is a thought that never ends"),
        ('{"other": 1, "more": 2}', "the reply has none of the keys reasoning, edits"),
        ('{"op": "append"}', "the reply has none of the keys reasoning, edits"),
    ],
)
async def test_what_may_mean_two_things_stays_an_error(text: str, problem: str):
    with pytest.raises(UnusableReply, match=problem):
        await read(text, PatchReply)


async def test_a_reply_that_is_cut_off_twice_is_not_asked_for_again():
    cut = Reply(text='{"reasoning": "far', finish="length")
    model = ScriptedModel([cut, "no", cut, '{"edits": []}'], max_output_tokens=9)
    with pytest.raises(UnusableReply) as caught:
        await Structured(model, attempts=4).ask((user("Improve this."),), PatchReply)
    assert len(model.requests) == 3
    assert "no usable answer in 3 replies; the last problem: the reply was cut off at the limit of 9" in str(
        caught.value
    )
    assert "hint: raise max_output_tokens, which is 9, or switch thinking off" in str(caught.value)


async def test_an_answer_that_stands_among_the_thoughts_is_told_with_the_switch_of_the_server():
    model = ScriptedModel([Reply(text_in="reasoning_content")] * 2)
    with pytest.raises(UnusableReply) as caught:
        await Structured(model, attempts=2).ask((user("Improve this."),), PatchReply)
    assert "the reply has no `content`, its text stood in `reasoning_content`" in str(caught.value)
    assert "hint: start the server without its reasoning parser" in str(caught.value)
