import asyncio
from typing import Any, Literal

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


async def test_a_schema_is_asked_for_first():
    model = ScriptedModel([GOOD])
    assert await Structured(model).ask(ASKED, Patch, seed=3) == PATCH
    (request,) = model.requests
    assert request.messages == ASKED
    assert request.response_schema is not None
    assert request.response_schema.name == "Patch"
    assert request.response_schema.body["required"] == ["reasoning", "edits"]
    assert request.seed == 3


async def test_a_rejected_rung_is_left_and_not_tried_again():
    model = ScriptedModel(Picky("tool"))
    said: list[str] = []
    structured = Structured(model, notice=said.append)
    assert await structured.ask(ASKED, Patch) == PATCH
    assert await structured.ask(ASKED, Patch) == PATCH
    assert [rung_of(request) for request in model.requests] == ["json_schema", "tool", "tool"]
    (notice,) = said
    assert notice == (
        "scripted:model does not take structured = 'json_schema'; continuing with 'tool' (HTTP 400: "
        "json_schema is not supported)"
    )
    tool = model.requests[-1].tools[0]
    assert (tool.name, model.requests[-1].forced_tool) == ("Patch", "Patch")
    assert structured.rung == "tool"


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


async def test_the_journal_knows_nothing_of_a_rung_that_was_taken_or_of_a_request_that_every_rung_rejects():
    journal = MemoryJournal()
    await Structured(ScriptedModel([GOOD]), journal=journal).ask(ASKED, Patch)
    rejecting = Structured(ScriptedModel(Picky()), journal=journal)
    with pytest.raises(RejectedRequest):
        await rejecting.ask(ASKED, Patch)
    assert journal.keys == []


@pytest.mark.parametrize(("name", "rung"), [("other:model", "json_schema"), ("scripted:model", "tool")])
async def test_what_the_journal_knows_holds_for_the_same_model_and_the_same_first_rung(name: str, rung: Any):
    journal = MemoryJournal()
    await Structured(ScriptedModel(Picky("prompt")), journal=journal).ask(ASKED, Patch)
    other = ScriptedModel(Picky("tool"), name=name)
    assert await Structured(other, rung, journal=journal).ask(ASKED, Patch) == PATCH
    assert rung_of(other.requests[0]) == rung


async def test_many_first_questions_at_once_remember_the_rung_once():
    journal = MemoryJournal()
    structured = Structured(ScriptedModel(Picky("tool")), journal=journal)
    await asyncio.gather(*(structured.ask(ASKED, Patch) for _ in range(5)))
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


async def test_a_request_that_every_rung_rejects_says_nothing_about_the_rungs():
    model = ScriptedModel(lambda request: RejectedRequest("HTTP 400: context too long"))
    structured = Structured(model)
    with pytest.raises(RejectedRequest, match="context too long"):
        await structured.ask(ASKED, Patch)
    assert len(model.requests) == 3
    assert structured.rung == "json_schema"


async def test_an_unusable_answer_is_shown_to_the_model_with_what_is_wrong():
    model = ScriptedModel(['{"edits": [{"op": "grow"}]}', GOOD])
    assert await Structured(model).ask(ASKED, Patch) == PATCH
    *asked, answer, correction = model.requests[1].messages
    assert tuple(asked) == ASKED
    assert answer == assistant('{"edits": [{"op": "grow"}]}')
    assert correction.text == (
        "That reply cannot be used: edits.0.op: Input should be 'append' or 'delete'.\n"
        f"Reply again, in whole and with nothing around it, as one JSON object of this form:\n{SKELETON}"
    )


class Even(BaseModel):
    count: int = Field(ge=3)

    def model_post_init(self, context: Any) -> None:
        if self.count % 2:
            raise ValueError("count must be even")


NO_KEYS = "the reply has none of the keys reasoning, edits"
REFUSED = "the model refused: it gave no reason"
UNUSABLE: list[tuple[type[BaseModel], list[Any], str]] = [
    (Patch, ["no", "nothing here", "still not"], "the reply has no JSON object"),
    (Patch, [Reply(text="I will not.", finish="refusal"), Reply(finish="refusal")], REFUSED),
    *((Patch, [text], NO_KEYS) for text in ("{}", '{"result": "fine"}', '{"a": {"b": 1}}', '{"a": 1, "b": 2}')),
    (Even, ['{"count": 5}'], "the reply: Value error, count must be even"),
    (Even, ['{"count": 2}'], "count: Input should be greater than or equal to 3"),
]


@pytest.mark.parametrize(("form", "said", "problem"), UNUSABLE)
async def test_what_is_unusable_in_the_end_says_why(form: type[BaseModel], said: list[Any], problem: str):
    model = ScriptedModel(said)
    with pytest.raises(UnusableReply) as caught:
        await Structured(model, attempts=len(said)).ask(ASKED, form)
    assert str(caught.value) == (
        f"scripted:model: no usable answer in {len(said)} replies; the last problem: {problem}\n"
        "hint: set structured: tool, or take a model that follows the form"
    )
    assert [len(request.messages) for request in model.requests] == [2, 4, 6][: len(said)]


async def test_what_is_sent_back_is_bounded():
    model = ScriptedModel(["x" * 100_000, GOOD])
    await Structured(model).ask(ASKED, Patch)
    assert len(model.requests[1].messages[-2].text) < 17_000
    errors = ScriptedModel(['{"edits": [' + ",".join(['{"op": "grow"}'] * 500) + "]}", GOOD])
    await Structured(errors).ask(ASKED, Patch)
    assert len(errors.requests[1].messages[-1].text) < 2_000


async def test_an_empty_answer_can_be_sent_back():
    model = ScriptedModel([Reply(), GOOD])
    await Structured(model).ask(ASKED, Patch)
    assert model.requests[1].messages[-2].text == "(nothing)"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text=f"Here it is:\n```json\n{GOOD}\n```\nDone."),
        Reply(text=f'{{"Patch": {GOOD}}}'),
        Reply(text=f'{{"unknown": 1, {GOOD[1:]}'),
        Reply(text="see the call", tool_calls=(ToolCall(id="1", name="other", arguments=GOOD),)),
        Reply(
            tool_calls=(
                ToolCall(id="1", name="other", arguments="{}"),
                ToolCall(id="2", name="Patch", arguments=GOOD),
            )
        ),
    ],
)
async def test_wrapped_answers_are_understood(reply: Reply):
    assert await Structured(ScriptedModel([reply])).ask(ASKED, Patch) == PATCH


class Twice(BaseModel):
    added: tuple[Change, ...] = ()
    dropped: tuple[Change, ...] = ()


ROWS = '[{"op": "append", "content": "c"}, {"Op": "delete", "content": "d"}]'


@pytest.mark.parametrize(
    "text",
    [ROWS, f"<think>Hm.</think>\n{ROWS}\n", f"```json\n{ROWS}\n```", f"These:\n```\n{ROWS}\n```\nThat is all."],
)
async def test_a_list_of_rows_is_the_one_list_of_the_form(text: str):
    found = await Structured(ScriptedModel([text])).ask(ASKED, Patch)
    assert found == Patch(edits=(Change(op="append", content="c"), Change(op="delete", content="d")))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (Twice, ROWS),
        (Even, '[{"count": 4}, {"count": 6}]'),
        (Patch, f'[{GOOD}, {{"reasoning": "s", "edits": []}}]'),
        (Patch, ROWS.replace("}, {", "} or {")),
        (Patch, ROWS.replace("}, {", "}] or [{")),
        (Patch, ROWS.strip("[]")),
        (Patch, '[{"op": "append"}, {"op": "delete"}]'),
        (Patch, '[{"op": "append", "content": "c"}, {"reasoning": "r", "op": "delete", "content": "d"}]'),
    ],
)
async def test_two_objects_are_no_list_of_the_form_where_there_are_other_readings(form: type[BaseModel], text: str):
    with pytest.raises(UnusableReply, match="the reply has 2 JSON objects where one is expected"):
        await Structured(ScriptedModel([text]), attempts=1).ask(ASKED, form)


@pytest.mark.parametrize("error", [TransientError("HTTP 500"), OutageStop("dead")])
async def test_other_failures_pass_through(error: Exception):
    model = ScriptedModel([error])
    with pytest.raises(type(error)):
        await Structured(model).ask(ASKED, Patch)
    assert len(model.requests) == 1
