"""What a model's server wants back with its turns comes back, whoever leads the conversation, in any format."""

import json
from collections.abc import Callable
from itertools import cycle, product
from typing import Any, NamedTuple

import httpx2
import pytest
from strict_servers import KINDS, SEVEN, STEPS, strict_server

from etude.agents.tools import ToolsAgent, ToolsOptions
from etude.gateway import Gateway
from etude.models import Journaled
from etude.prompts import Prompts
from etude.protocols import EnvironmentTool
from etude.records import Opaque, Reply, Skill, Task, ToolCall, assistant
from etude.testing import ScriptedModel
from memory_doubles import MemoryJournal
from rows import few

Data = dict[str, Any]
STREAMED = [("reasoning_details", True), ("responses", True), ("messages", True)]
TASK = Task(id="t", input="Count to seven.")


async def count(arguments: Any) -> str:
    return "ok"


def an_agent(model: Any) -> ToolsAgent:
    """Its tool starts no program."""
    tool = EnvironmentTool(name="bash", description="Count.", parameters=SCHEMA, call=count)
    return ToolsAgent(model, Prompts(), ToolsOptions(tools=())).with_tools(lambda task: [tool], "")


@pytest.mark.parametrize(("kind", "stream"), few(product(KINDS, (False, True)), *product(KINDS, (False,)), *STREAMED))
async def test_the_agent_with_tools_sends_them_back(kind: str, stream: bool) -> None:
    async with strict_server(kind, stream) as (model, server):
        trajectory = await an_agent(model).attempt(TASK, Skill(text=""), 0)
    assert (trajectory.answer, len(server.heard)) == (SEVEN, STEPS + 1)
    # Others do not see them.
    assert all(message.opaque is None for message in trajectory.messages)
    assert "sig" not in trajectory.model_dump_json()


@pytest.mark.parametrize("kind", few(KINDS, "responses", "whole turns"))
async def test_they_survive_the_journal(kind: str) -> None:
    journal = MemoryJournal()
    async with strict_server(kind) as (model, server):
        first = await an_agent(Journaled(model, journal)).attempt(TASK, Skill(text=""), 0)
        again = await an_agent(Journaled(model, journal)).attempt(TASK, Skill(text=""), 0)
    assert again == first
    assert len(server.heard) == STEPS + 1


class Program(NamedTuple):
    """How a program speaks that leads the conversation."""

    path: str
    begin: Data
    read: Callable[[Data], tuple[list[Data], str | None]]
    """The turns to add after an answer, which hold what came and the result of the call, and the text at the end."""
    place: str
    """Where the turns are."""


def _chat(body: Data) -> tuple[list[Data], str | None]:
    message = body["choices"][0]["message"]
    results = [{"role": "tool", "tool_call_id": one["id"], "content": "ok"} for one in message.get("tool_calls", ())]
    return [message, *results], message["content"]


def _responses(body: Data) -> tuple[list[Data], str | None]:
    calls = [item for item in body["output"] if item["type"] == "function_call"]
    results = [{"type": "function_call_output", "call_id": one["call_id"], "output": "ok"} for one in calls]
    texts = [item["content"][0]["text"] for item in body["output"] if item["type"] == "message"]
    return [*body["output"], *results], "".join(texts)


def _messages(body: Data) -> tuple[list[Data], str | None]:
    calls = [block for block in body["content"] if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": one["id"], "content": "ok"} for one in calls]
    texts = [block["text"] for block in body["content"] if block["type"] == "text"]
    return [{"role": "assistant", "content": body["content"]}, {"role": "user", "content": results}], "".join(texts)


def _gemini(body: Data) -> tuple[list[Data], str | None]:
    content = body["candidates"][0]["content"]
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    results = [
        {"functionResponse": {"id": one["id"], "name": one["name"], "response": {"output": 1}}} for one in calls
    ]
    texts = [part["text"] for part in content["parts"] if "text" in part]
    return [content, {"role": "user", "parts": results}], "".join(texts)


SCHEMA: Data = {"type": "object", "properties": {"command": {"type": "string"}}}
ASK: Data = {"role": "user", "content": "Count."}
PROGRAMS = {
    "chat": Program(
        "/v1/chat/completions",
        {"messages": [ASK], "tools": [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}]},
        _chat,
        "messages",
    ),
    "responses": Program(
        "/v1/responses",
        {"input": [ASK], "tools": [{"type": "function", "name": "bash", "parameters": SCHEMA}]},
        _responses,
        "input",
    ),
    "messages": Program(
        "/v1/messages",
        {"messages": [ASK], "max_tokens": 100, "tools": [{"name": "bash", "input_schema": SCHEMA}]},
        _messages,
        "messages",
    ),
    "gemini": Program(
        "/v1beta/models/m:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "Count."}]}],
            "tools": [{"functionDeclarations": [{"name": "bash", "parametersJsonSchema": SCHEMA}]}],
        },
        _gemini,
        "contents",
    ),
}
SHORT = ("chat", "responses", "messages")
"""Programs that can leave out what they were sent."""
Change = Callable[[list[Data]], list[Data]]


async def converse(model: Any, speaks: str, change: Change = lambda turns: turns) -> tuple[str | None, list[Data]]:
    """The answer at the end, and what the program was sent on the way. It sends turns back as `change` makes them."""
    program = PROGRAMS[speaks]
    body = {"model": "m", **json.loads(json.dumps(program.begin))}
    gateway = Gateway(model)
    got: list[Data] = []
    text = None
    try:
        async with gateway.session(seed=0) as session:
            headers = {"authorization": f"Bearer {session.key}"}
            async with httpx2.AsyncClient(base_url=session.url, headers=headers, timeout=60) as client:
                for _ in range(STEPS + 1):
                    answer = await client.post(program.path, json=body)
                    assert answer.status_code == 200, answer.text
                    got.append(answer.json())
                    turns, text = program.read(got[-1])
                    body[program.place] += change(turns)
            assert all(message.opaque is None for message in session.conversation)
        return text, got
    finally:
        await gateway.aclose()


@pytest.mark.parametrize(("kind", "speaks"), few(product(KINDS, PROGRAMS), *zip(KINDS, cycle(PROGRAMS))))
async def test_they_come_back_through_the_gateway(kind: str, speaks: str) -> None:
    async with strict_server(kind) as (model, _):
        assert (await converse(model, speaks))[0] == SEVEN


def _without_more(turns: list[Data]) -> list[Data]:
    """Turns as a program sends them that keeps what it knows: texts, calls and results."""
    if "type" in turns[0]:
        return [turn for turn in turns if turn["type"] != "reasoning"]
    said = turns[0]
    if isinstance(said["content"], list):
        known = [block for block in said["content"] if block["type"] in ("text", "tool_use")]
        return [{**said, "content": known}, *turns[1:]]
    calls = [{name: call[name] for name in ("id", "type", "function")} for call in said.get("tool_calls", ())]
    return [{"role": "assistant", "content": said["content"], "tool_calls": calls or None}, *turns[1:]]


@pytest.mark.parametrize(("kind", "speaks"), few(product(KINDS, SHORT), *zip(KINDS, cycle(SHORT))))
async def test_a_program_need_not_send_them_back_itself(kind: str, speaks: str) -> None:
    async with strict_server(kind) as (model, _):
        assert (await converse(model, speaks, _without_more))[0] == SEVEN


def _written_anew(turns: list[Data]) -> list[Data]:
    """White space at the ends of texts gone, arguments written in another way."""
    for turn in _without_more(turns):
        for block in turn["content"] if isinstance(turn["content"], list) else [turn]:
            block |= {name: block[name].strip() for name in ("text", "content") if isinstance(block.get(name), str)}
        for call in turn.get("tool_calls") or ():
            call["function"]["arguments"] = json.dumps(json.loads(call["function"]["arguments"]), indent=1)
    return _without_more(turns)


def _without_ids(turns: list[Data]) -> list[Data]:
    """Parts in turns of their own, as they were streamed, and calls without ids."""
    said = turns[0]["parts"]
    texts = [{"text": piece} for part in said if "text" in part for piece in (part["text"][:2], part["text"][2:])]
    parts = [*texts, *({"functionCall": part["functionCall"]} for part in said if "functionCall" in part)]
    for part in (*parts, *turns[1]["parts"]):
        for called in part.values():
            called.pop("id", None) if isinstance(called, dict) else None
    return [*({"role": "model", "parts": [part]} for part in parts), turns[1]]


@pytest.mark.parametrize("kind", ["whole turns", "whole blocks"])
@pytest.mark.parametrize(("speaks", "change"), [("chat", _written_anew), ("messages", _written_anew)])
async def test_a_turn_that_is_written_in_another_way_goes_back_as_it_was(
    kind: str, speaks: str, change: Change
) -> None:
    async with strict_server(kind) as (model, _):
        assert (await converse(model, speaks, change))[0] == SEVEN


async def test_a_turn_in_pieces_whose_calls_have_no_ids_is_known() -> None:
    async with strict_server("messages") as (model, _):
        assert (await converse(model, "gemini", _without_ids))[0] == SEVEN


@pytest.mark.parametrize(
    ("kind", "speaks", "sign"),
    [
        ("reasoning_content", "chat", "reasoning_content"),
        ("reasoning_details", "chat", "sig0"),
        ("thought_signature", "chat", "thought_signature"),
        ("responses", "responses", "gAAA0"),
        ("messages", "messages", "sig0"),
    ],
)
async def test_a_program_of_the_same_format_gets_them(kind: str, speaks: str, sign: str) -> None:
    async with strict_server(kind) as (model, _):
        _, got = await converse(model, speaks)
    assert sign in json.dumps(got[0])


async def test_equal_turns_get_back_what_is_theirs() -> None:
    """Some servers count the ids of calls again in each reply."""
    call = ToolCall(id="call_0", name="bash", arguments="{}")
    marks = [Opaque(format="chat", data={"fields": {"reasoning": str(at)}}) for at in range(STEPS)]
    model = ScriptedModel([*(Reply(tool_calls=(call,), finish="tool_calls", opaque=mark) for mark in marks), SEVEN])
    assert (await converse(model, "messages"))[0] == SEVEN
    assert [turn.opaque for turn in model.requests[-1].messages if turn.role == "assistant"] == marks


async def test_a_turn_that_the_program_has_changed_is_known_by_its_call() -> None:
    call = ToolCall(id="c1", name="bash", arguments="{}")
    mark = Opaque(format="messages", data=[{"item": {"type": "thinking"}}, {"call": True}])
    model = ScriptedModel([Reply(tool_calls=(call,), finish="tool_calls", opaque=mark), "a", SEVEN])

    def renamed(turns: list[Data]) -> list[Data]:
        for one in turns[0].get("tool_calls", ()):
            one["function"]["arguments"] = '{"command": "ls"}'
        return turns

    await converse(model, "chat", renamed)
    assert [turn.opaque for turn in model.requests[-1].messages] == [None, mark, None, None]


def test_a_turn_without_them_is_written_down_as_before() -> None:
    """Else every answer that is known would be asked for again."""
    assert "opaque" not in assistant("x").model_dump()
    assert "opaque" not in Reply(text="x").model_dump_json()
