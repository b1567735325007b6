from typing import Literal

import pytest
from pydantic import BaseModel, Field

from etude.errors import OutageStop, RejectedRequest, TransientError, UnusableReply
from etude.models import Structured
from etude.records import ChatRequest, Reply, ToolCall, assistant, system, user
from etude.testing import ScriptedModel
from memory_doubles import MemoryJournal


class Change(BaseModel):
    op: Literal["append", "delete"]
    content: str = ""


class Patch(BaseModel):
    reasoning: str = ""
    edits: tuple[Change, ...] = ()


ASKED = (system("You improve skills."), user("Improve this."))
GOOD = '{"reasoning": "r", "edits": [{"op": "append", "content": "c"}]}'
PATCH = Patch(reasoning="r", edits=(Change(op="append", content="c"),))
SKELETON = """{
  "reasoning": "string",
  "edits": [
    {
      "op": "append | delete",
      "content": "string"
    }
  ]
}"""


def rung_of(request: ChatRequest) -> str:
    return "json_schema" if request.response_schema else "tool" if request.forced_tool else "prompt"


class Picky:
    """A server that takes only some rungs."""

    def __init__(self, *rungs: str) -> None:
        self.rungs = rungs

    def __call__(self, request: ChatRequest) -> Reply | Exception:
        rung = rung_of(request)
        if rung not in self.rungs:
            return RejectedRequest(f"HTTP 400: {rung} is not supported")
        if rung == "tool":
            name = request.forced_tool or ""
            return Reply(tool_calls=(ToolCall(id="1", name=name, arguments=GOOD),), finish="tool_calls")
        return Reply(text=GOOD)


async def test_a_rung_that_was_left_is_not_tried_again_over_the_same_journal():
    journal, said = MemoryJournal(), list[str]()
    first, second = ScriptedModel(Picky("prompt")), ScriptedModel(Picky("prompt"))
    await Structured(first, journal=journal).ask(ASKED, Patch)
    resumed = Structured(second, notice=said.append, journal=journal)
    assert await resumed.ask(ASKED, Patch) == PATCH
    assert [rung_of(request) for request in first.requests] == ["json_schema", "tool", "prompt"]
    assert [rung_of(request) for request in second.requests] == ["prompt"]
    assert (resumed.rung, said) == ("prompt", [])
    assert [kind for kind, _ in journal.keys] == ["decision"]


async def test_the_last_rung_shows_the_skeleton_at_the_end_of_the_last_user_message():
    model = ScriptedModel(Picky("prompt"))
    structured = Structured(model)
    assert await structured.ask((*ASKED, assistant("Hm.")), Patch) == PATCH
    asked = model.requests[-1]
    assert [message.role for message in asked.messages] == ["system", "user", "assistant"]
    assert asked.messages[1].text == (
        f"Improve this.\nReply with one JSON object of this form and nothing else:\n{SKELETON}"
    )
    await structured.ask(ASKED[:1], Patch)
    assert [message.role for message in model.requests[-1].messages] == ["system", "user"]


async def test_the_last_rung_does_not_show_a_form_again_that_the_instructions_show():
    model = ScriptedModel([GOOD])
    form = 'Reply with JSON: {"reasoning": string, "edits": [{"op": string, "content": string}]}'
    await Structured(model, rung="prompt").ask((system(form), user("Improve this.")), Patch)
    assert model.requests[0].messages[1].text == (
        "Improve this.\nReply with one JSON object of the form that the instructions show, and nothing else."
    )


async def test_a_rejection_after_a_success_is_about_the_request():
    model = ScriptedModel([GOOD, RejectedRequest("HTTP 400: context too long")])
    structured = Structured(model)
    await structured.ask(ASKED, Patch)
    with pytest.raises(RejectedRequest, match="context too long"):
        await structured.ask(ASKED, Patch)
    assert structured.rung == "json_schema"


async def test_a_reply_that_was_cut_off_is_told_so():
    model = ScriptedModel([Reply(text='{"reasoning": "far too', finish="length"), GOOD], max_output_tokens=9)
    await Structured(model).ask(ASKED, Patch)
    assert "the reply was cut off at the limit of 9 tokens" in model.requests[1].messages[-1].text


async def test_a_refusal_is_told_so():
    refusals = [Reply(text="I will not.", finish="refusal"), Reply(finish="refusal")]
    with pytest.raises(UnusableReply, match="the last problem: the model refused: it gave no reason"):
        await Structured(ScriptedModel(refusals), attempts=2).ask(ASKED, Patch)


async def test_what_is_sent_back_is_bounded():
    model = ScriptedModel(["x" * 100_000, GOOD])
    await Structured(model).ask(ASKED, Patch)
    assert len(model.requests[1].messages[-2].text) < 17_000
    errors = ScriptedModel(['{"edits": [' + ",".join(['{"op": "grow"}'] * 500) + "]}", GOOD])
    await Structured(errors).ask(ASKED, Patch)
    assert len(errors.requests[1].messages[-1].text) < 2_000


@pytest.mark.parametrize("text", ["{}", '{"result": "fine"}', '{"a": {"b": 1}}', '{"a": 1, "b": 2}'])
async def test_an_answer_without_any_known_key_is_no_empty_patch(text: str):
    with pytest.raises(UnusableReply, match="the reply has none of the keys reasoning, edits"):
        await Structured(ScriptedModel([text]), attempts=1).ask(ASKED, Patch)


class Rooted(BaseModel):
    count: int = Field(ge=3)


async def test_bounds_are_checked_here_even_where_the_server_does_not():
    with pytest.raises(UnusableReply, match="count: Input should be greater than or equal to 3"):
        await Structured(ScriptedModel(['{"count": 2}']), attempts=1).ask(ASKED, Rooted)


@pytest.mark.parametrize("error", [TransientError("HTTP 500"), OutageStop("dead")])
async def test_other_failures_pass_through(error: Exception):
    model = ScriptedModel([error])
    with pytest.raises(type(error)):
        await Structured(model).ask(ASKED, Patch)
    assert len(model.requests) == 1
