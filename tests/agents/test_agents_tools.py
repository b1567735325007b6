"""The agent with tools: a loop over tool calls in a workspace of its own."""

import json
from pathlib import Path

import pytest

from etude.agents.tools import ToolsAgent, ToolsOptions
from etude.errors import BoundaryError, ConfigError, DataError
from etude.prompts import Prompts
from etude.protocols import ChatModel, EnvironmentTool
from etude.records import (
    ChatRequest,
    File,
    ImagePart,
    Place,
    Reply,
    Skill,
    Task,
    TextPart,
    ToolCall,
    Trajectory,
    Usage,
    user,
)
from etude.sandbox import Limits, find_sandbox
from etude.sandbox.sandbox import Unsafe
from etude.testing.agent import AgentContract
from etude.testing.doubles import Line, ScriptedModel
from rows import rows

TASK = Task(id="t", input="Write 7 to answer.txt.", files={"given.txt": File(data=b"three and four\n")})
NO_SKILL = Skill(text="")


def calls(*said: ToolCall, text: str = "", **fields: object) -> Reply:
    return Reply.model_validate({"text": text, "tool_calls": said, "finish": "tool_calls"} | fields)


def call(name: str, id: str = "c1", **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments))


def bash(command: str, id: str = "c1") -> Reply:
    return calls(call("bash", id, command=command))


def make(model: ChatModel, options: ToolsOptions | None = None) -> ToolsAgent:
    return ToolsAgent(model, Prompts(), options, Unsafe())


async def attempt(
    *lines: Line, task: Task = TASK, skill: Skill = NO_SKILL, trial: int = 0, **options: object
) -> tuple[Trajectory, list[ChatRequest]]:
    model = ScriptedModel(lines)
    trajectory = await make(model, ToolsOptions.model_validate(options)).attempt(task, skill, trial)
    return trajectory, model.requests


def results(trajectory: Trajectory) -> list[str]:
    return [message.text for message in trajectory.messages if message.role == "tool"]


class TestToolsAgent(AgentContract):
    def make_agent(self, target: ChatModel) -> ToolsAgent:
        return make(target)


class TestToolsAgentWithAPattern(AgentContract):
    def make_agent(self, target: ChatModel) -> ToolsAgent:
        return make(target, ToolsOptions(answer_pattern="Answer: (.*)"))

    def reply(self, answer: str) -> str:
        return f"Done.\nAnswer: {answer}"


async def test_the_model_is_told_the_skill_the_task_its_tools_and_the_seed() -> None:
    _, (request,) = await attempt("7", skill=Skill(text="---\nname: a\ndescription: d\n---\nAdd up.\n"), trial=3)
    said, asked = request.messages
    assert (said.role, said.text) == ("system", f"{Prompts()['tools']}\n\n# Skill\n\nAdd up.")
    assert asked == user("Write 7 to answer.txt.")
    assert [tool.name for tool in request.tools] == ["bash", "read", "write", "edit"]
    assert request.seed == TASK.seed(3)


async def test_a_command_that_takes_too_long_is_ended_and_the_model_told() -> None:
    limits = Limits(seconds=0.5, grace_seconds=0.1)
    trajectory, _ = await attempt(bash("echo begun; sleep 60"), "I give up.", limits=limits)
    assert results(trajectory) == ["begun\n[ended at the time limit: a command may use 0.5 seconds]"]
    assert trajectory.exit_codes["c1"] != 0
    assert trajectory.failure == ""


async def test_a_command_that_is_too_long_is_not_run() -> None:
    trajectory, _ = await attempt(bash("true " + "x" * 100_000), "7")
    (said,) = results(trajectory)
    assert said == "error: the command has 100,005 bytes, at most 100,000 are allowed; use a file"
    assert trajectory.exit_codes == {}


async def test_an_attempt_without_an_answer_at_the_step_limit_has_failed() -> None:
    trajectory, requests = await attempt(bash("echo 1 > a"), bash("echo 2 > b", "c2"), max_steps=2)
    assert trajectory.failure == "step limit: no answer within agent.max_steps = 2"
    assert len(requests) == 2
    assert trajectory.answer == ""
    assert trajectory.files == {"a": File(data=b"1\n")}


async def test_tokens_are_added_up_and_no_call_is_made_beyond_their_limit() -> None:
    used = Usage(input_tokens=40, output_tokens=10, cached_tokens=30)
    reply = bash("true").model_copy(update={"usage": used})
    trajectory, requests = await attempt(reply, reply, max_tokens=100)
    assert trajectory.failure == "token limit: no answer within agent.max_tokens = 100"
    assert trajectory.usage == Usage(input_tokens=80, output_tokens=20, cached_tokens=60)
    assert len(requests) == 2
    trajectory, _ = await attempt(reply, Reply(text="7", usage=used), max_tokens=51)
    assert (trajectory.failure, trajectory.usage.total) == ("", 100)


CUT = "the reply was cut off at the token limit (target.max_output_tokens = 4096)"


async def test_a_call_that_is_cut_off_twice_in_a_row_is_not_waited_for_again() -> None:
    broken = Reply(tool_calls=(ToolCall(id="1", name="write", arguments='{"path": "a'),), finish="length")
    trajectory, requests = await attempt(broken, bash("true"), broken, broken)
    assert trajectory.failure == f"{CUT}, twice in a row within a tool call"
    assert (len(requests), trajectory.ended) == (4, "cut off")


async def test_what_the_model_thought_before_its_last_word_is_no_answer() -> None:
    trajectory, _ = await attempt(bash("true"), "<think>Or <answer>6</answer>?</think>\n<answer>7</answer>")
    assert (trajectory.answer, trajectory.failure) == ("7", "")


@pytest.mark.parametrize(
    ("last", "failure"),
    [
        (Reply(text="No.", finish="refusal"), "the model refused"),
        (calls(call("bash", command="true"), finish="refusal"), "the model refused"),
        (Reply(text=" "), "the reply was empty"),
        (Reply(text="", finish="length"), f"{CUT}, before any text"),
        (Reply(text="I wrote", finish="length"), f"{CUT}, before </answer>"),
        (Reply(text="<think>I wrote"), "the reply is a thought that never ends"),
    ],
)
async def test_what_is_no_answer_is_the_fault_of_the_agent_and_keeps_what_was_done(last: Reply, failure: str) -> None:
    trajectory, _ = await attempt(bash("echo 7 > answer.txt"), last)
    assert trajectory.failure == failure
    assert trajectory.files == {"answer.txt": File(data=b"7\n")}


async def test_an_attempt_that_leaves_too_much_has_failed_and_says_how_much_is_allowed() -> None:
    trajectory, _ = await attempt(bash("truncate -s 65M big"), "7")
    assert trajectory.failure.startswith("the files in the workspace have more than ")
    assert (trajectory.answer, trajectory.files) == ("7", {})


async def test_pictures_of_a_task_are_sent_before_its_text() -> None:
    task = TASK.model_copy(update={"images": ("bill.png#sha256=1",)})
    _, (request,) = await attempt("7", task=task)
    assert request.messages[1].content == (ImagePart(url="bill.png#sha256=1"), TextPart(text=TASK.input))


SKILL = Skill(
    name="sums",
    text="---\nname: sums\ndescription: d\n---\nRun scripts/add.sh.\n",
    files={
        "scripts/add.sh": File(data=b"#!/bin/sh\necho $(($1 + $2))\n", executable=True),
        "references/more.md": File(data=b"Numbers."),
    },
)


async def test_files_of_the_skill_can_be_read_and_run_and_are_no_change_of_the_workspace() -> None:
    trajectory, (first, *_) = await attempt(
        bash(".skill/scripts/add.sh 3 4", "a"),
        calls(call("read", "b", path=".skill/references/more.md")),
        calls(call("write", "c", path=".skill/references/more.md", content="x")),
        "7",
        skill=SKILL,
    )
    assert first.messages[0].text.endswith(
        "# Files of the skill\n\nPaths in the skill count from `.skill`, which can only be read:\n\n"
        "- .skill/references/more.md\n- .skill/scripts/add.sh"
    )
    assert results(trajectory) == ["7", "Numbers.", "error: path '.skill/references/more.md' can only be read"]
    assert trajectory.files == {}


async def test_a_task_whose_file_would_stand_where_the_skill_does_is_no_attempt() -> None:
    task = TASK.model_copy(update={"files": {".skill/a": File(data=b"")}})
    with pytest.raises(DataError) as caught:
        await attempt("7", task=task)
    assert str(caught.value) == (
        "task 't' has a file '.skill/a'; '.skill' is for the files of the skill\nhint: give it another name"
    )


async def test_in_the_sandbox_commands_reach_neither_the_machine_nor_the_files_of_the_skill(tmp_path: Path) -> None:
    (tmp_path / "gold.txt").write_text("secret gold")
    steps = [
        f"cat {tmp_path}/gold.txt; ls /work /root /home; true",
        "echo x > .skill/references/more.md; .skill/scripts/add.sh 3 4 > answer.txt",
        "exec 3<>/dev/tcp/127.0.0.1/9; true",
    ]
    model = ScriptedModel([*(bash(step, f"c{at}") for at, step in enumerate(steps)), "7"])
    agent = ToolsAgent(model, Prompts(), None, find_sandbox())
    trajectory = await agent.attempt(TASK, SKILL, 0)
    text = "\n".join(results(trajectory))
    assert "secret gold" not in text
    assert "Read-only file system" in text or "Permission denied" in text
    assert "refused" in text or "unreachable" in text or "denied" in text
    assert trajectory.files == {"answer.txt": File(data=b"7\n")}


async def test_an_environment_that_cannot_make_its_tools_is_named() -> None:
    def broken(task: Task) -> list[EnvironmentTool]:
        raise KeyError("room")

    with pytest.raises(BoundaryError) as caught:
        await make(ScriptedModel([])).with_tools(broken, "").attempt(TASK, NO_SKILL, 0)
    assert str(caught.value) == "tools of the environment: KeyError: 'room'"


async def test_without_tools_it_is_a_chat_that_needs_no_sandbox() -> None:
    model = ScriptedModel(["<answer>7</answer>"])
    trajectory = await ToolsAgent(model, Prompts(), ToolsOptions(tools=())).attempt(TASK, NO_SKILL, 0)
    assert (trajectory.answer, model.requests[0].tools) == ("7", ())


class Toolless(ScriptedModel):
    takes_tools = False


def test_a_model_that_takes_no_tools_is_refused_where_there_are_some() -> None:
    model = Toolless([], name="handoff:q")
    with pytest.raises(ConfigError) as caught:
        make(model)
    assert str(caught.value) == (
        "agent 'tools' calls tools, and model 'handoff:q' takes none\n"
        "hint: set agent.name to 'chat', or use a model with a key"
    )
    make(model, ToolsOptions(tools=()))


@rows(
    ("options", "message"),
    [
        ({"max_step": 3}, "agent: unknown key 'max_step'\nhint: did you mean 'max_steps'?"),
        ({"limits": {"second": 3}}, "agent: unknown key 'limits.second'\nhint: did you mean 'limits.seconds'?"),
        ({"readable": ["/no/such"]}, "agent.readable: '/no/such' is not a folder\nhint: leave it out, or correct it"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ToolsAgent.from_options(options, ScriptedModel([]), Prompts(), where="agent")
    assert str(caught.value) == message


PLACED = TASK.model_copy(update={"place": Place(path="/app", env={"WHO": "the maker"})})


async def test_a_task_with_a_place_of_its_own_finds_its_workspace_there() -> None:
    sandbox = find_sandbox()
    if not sandbox.moves:
        pytest.skip(f"the sandbox {sandbox.name!r} cannot move folders")
    write = calls(call("write", path="/app/one.txt", content="one"))
    model = ScriptedModel([write, bash('cat /app/one.txt given.txt; echo "$WHO" > /app/two.txt; ls /', "c2"), "done"])
    agent = ToolsAgent(model, Prompts(), ToolsOptions(), sandbox)
    agent.check_task(PLACED)
    trajectory = await agent.attempt(PLACED, NO_SKILL, 0)
    found = {path: file and file.data for path, file in trajectory.files.items()}
    assert found == {"one.txt": b"one", "two.txt": b"the maker\n"}
    assert "onethree and four" in trajectory.messages[-2].text


def test_a_place_that_the_sandbox_cannot_make_is_refused() -> None:
    with pytest.raises(DataError, match="'/app'"):
        make(ScriptedModel([])).check_task(PLACED)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>',
        "I look first.\n<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
        "<think>Hm.</think><function=read>\n<parameter=path>\na\n</parameter>\n</function>",
        '[TOOL_CALLS][{"name": "read", "arguments": {"path": "a"}}]',
        '<|python_tag|>{"name": "read", "parameters": {"path": "a"}}',
        '{"name": "read", "arguments": {"path": "a"}}',
        '<function_calls>\n<invoke name="read">\n</invoke>\n</function_calls>',
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{}",
        "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function",
        '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a"}<|call|>',
    ],
)
async def test_a_call_that_the_server_left_in_the_text_is_no_answer(text: str) -> None:
    trajectory, _ = await attempt(text)
    assert (trajectory.answer, trajectory.ended) == ("", "empty")
    assert "--tool-call-parser" in trajectory.failure


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ada", "arguments": 2}',
        '{"name": "read"}',
        "The tag <tool_call> begins a call.",
        "<tool_call>\n{}\n</tool_call>\n<answer>7</answer>",
        "It prints\n[TOOL] 7",
    ],
)
async def test_an_answer_that_only_looks_like_a_call_is_one(text: str) -> None:
    trajectory, _ = await attempt(text)
    assert (bool(trajectory.answer), trajectory.failure) == (True, "")
