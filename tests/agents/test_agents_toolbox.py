"""Tool calls: carried out when they are proper ones, and else answered with what is wrong."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from etude.agents.file_tools import FileTools, Result
from etude.agents.toolbox import OWN_TOOLS, OwnTool, Toolbox, ToolContext
from etude.errors import BoundaryError, OutageStop
from etude.protocols import EnvironmentTool
from etude.records import ToolCall


class Echo:
    """A shell that says what it was told to run."""

    def __init__(self, text: str = "", remarks: tuple[str, ...] = (), exit_code: int = 0) -> None:
        self.result = Result(text, remarks, exit_code)

    async def run(self, command: str) -> Result:
        return self.result if self.result.text else Result(command, exit_code=0)


def box(
    work: Path,
    *brought: EnvironmentTool,
    own: Sequence[OwnTool] = OWN_TOOLS,
    shell: Echo | None = None,
    output_chars: int = 1000,
) -> Toolbox:
    return Toolbox(ToolContext(FileTools(work), shell or Echo()), own, brought, output_chars)


def call(name: str, arguments: str | None = None, **fields: object) -> ToolCall:
    return ToolCall(id="1", name=name, arguments=json.dumps(fields) if arguments is None else arguments)


async def say(toolbox: Toolbox, name: str, arguments: str | None = None, **fields: object) -> str:
    return (await toolbox.run(call(name, arguments, **fields), cut_off=False)).text


async def test_calls_are_carried_out_one_after_the_other_on_the_same_files(tmp_path: Path) -> None:
    toolbox = box(tmp_path)
    assert await say(toolbox, "write", path="a.txt", content="one two") == "wrote 7 bytes to a.txt"
    assert await say(toolbox, "edit", path="a.txt", old="two", new="three") == "replaced in line 1 of a.txt"
    assert await say(toolbox, "read", path="a.txt") == "one three"
    assert await toolbox.run(call("bash", command="ls"), cut_off=False) == Result("ls", exit_code=0)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", "{}", "error: there is no tool 'search'; tools: bash, read, write, edit"),
        ("bash", '{"command": ', 'error: the arguments are not a JSON object: {"command": '),
        ("bash", '["ls"]', 'error: the arguments are not a JSON object: ["ls"]'),
        (
            "bash",
            "[" * 100_000,
            f"error: the arguments are not a JSON object: {'[' * 200}\n[... 99600 characters left",
        ),
        (
            "bash",
            '{"cmd": "ls"}',
            "error: wrong arguments for 'bash': command: Field required; cmd: Extra inputs are not permitted. It",
        ),
        (
            "bash",
            '{"command": ""}',
            "error: wrong arguments for 'bash': command: String should have at least 1 character. It takes: command",
        ),
        (
            "bash",
            '{"command": ["ls"]}',
            "error: wrong arguments for 'bash': command: Input should be a valid string. It takes: command",
        ),
        (
            "bash",
            '{"command": "a\\u0000b"}',
            "error: wrong arguments for 'bash': command: Value error, must not hold a zero character. It takes:",
        ),
        (
            "write",
            '{"path": "a", "content": "\\ud83d"}',
            "error: wrong arguments for 'write': content: Value error, holds half of a surrogate pair, which is not",
        ),
        (
            "read",
            '{"path": "a", "lines": 0}',
            "error: wrong arguments for 'read': lines: Input should be greater than or equal to 1. It takes: path,",
        ),
        ("read", '{"path": "a"}', "error: 'a' cannot be read: No such file or directory"),
        ("read", '{"path": "/etc/passwd"}', "error: path '/etc/passwd' leads out of the workspace;"),
    ],
)
async def test_a_wrong_call_is_answered_with_what_is_wrong(
    tmp_path: Path, name: str, arguments: str, said: str
) -> None:
    result = await box(tmp_path).run(call(name, arguments), cut_off=False)
    assert result.text.startswith(said)
    assert result.exit_code is None


class Lamp:
    """A tool with a state."""

    def __init__(self) -> None:
        self.on = False

    async def switch(self, arguments: Mapping[str, JsonValue]) -> str:
        self.on = arguments["to"] == "on"
        return f"the lamp is {'on' if self.on else 'off'}"

    def tool(self, name: str = "lamp", **schema: JsonValue) -> EnvironmentTool:
        parameters = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]} | schema
        return EnvironmentTool(name=name, description="Switch the lamp.", parameters=parameters, call=self.switch)


async def test_a_tool_of_the_environment_takes_the_place_of_ours(tmp_path: Path) -> None:
    toolbox = box(tmp_path, Lamp().tool("bash"))
    assert [tool.name for tool in toolbox.tools] == ["read", "write", "edit", "bash"]
    assert await say(toolbox, "bash", to="off") == "the lamp is off"


@pytest.mark.parametrize(
    ("schema", "arguments", "said"),
    [
        ({}, '{"To": "on"}', "to: Field required; To: Extra inputs are not permitted. It takes: to"),
        ({}, '{"to": "on", "now": 1}', "now: Extra inputs are not permitted. It takes: to"),
        ({"properties": {}}, "{}", "to: Field required. It takes: nothing"),
    ],
)
async def test_wrong_arguments_do_not_reach_a_tool_of_the_environment(
    tmp_path: Path, schema: dict[str, JsonValue], arguments: str, said: str
) -> None:
    toolbox = box(tmp_path, Lamp().tool(**schema))
    assert await say(toolbox, "lamp", arguments) == f"error: wrong arguments for 'lamp': {said}"


async def test_a_tool_of_the_environment_that_fails_is_no_fault_of_the_agent(tmp_path: Path) -> None:
    async def fail(arguments: Mapping[str, JsonValue]) -> str:
        raise [KeyError("room"), OutageStop("the house is dark")][arguments["stop"] == "yes"]

    broken = EnvironmentTool(name="broken", description="", parameters={"type": "object"}, call=fail)
    with pytest.raises(BoundaryError) as caught:
        await say(box(tmp_path, broken), "broken", stop="no")
    assert str(caught.value) == "environment tool 'broken': KeyError: 'room'"
    with pytest.raises(OutageStop):
        await say(box(tmp_path, broken), "broken", stop="yes")
