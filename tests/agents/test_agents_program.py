"""Agent programs: what every one of them does, shown with a small one that any command line may be."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from program_contract import ProgramContract

from etude.agents.program import CodexAgent, CommandAgent, ProgramAgent
from etude.agents.program_run import AgentTraits, ProgramFailed, ProgramRun, verdict
from etude.errors import ConfigError, DataError, OutageStop, StopRun, TransientError
from etude.models import Limited, Retrying
from etude.programs.account import Account, has_read, neutral
from etude.programs.program import Report
from etude.prompts import Prompts
from etude.protocols import Agent, ChatModel
from etude.records import ChatRequest, Message, Place, Reply, Skill, Task, TextPart, ToolCall, Trajectory, user
from etude.sandbox import Finished, Limits
from etude.simulation.endpoint import running_endpoint
from etude.testing import AgentContract, ScriptedModel

FAKE = Path(__file__).with_name("fake_program.py")


def make(target: ChatModel, **options: Any) -> CommandAgent:
    options = {"command": [sys.executable, str(FAKE)], **options}
    return CommandAgent.from_options(options, target, Prompts(), where="agent")


def bash(text: str, *words: str, target: ChatModel | None = None, **options: Any) -> Trajectory:
    """One attempt by a shell script."""

    async def attempt() -> Trajectory:
        agent = make(target or ScriptedModel([]), command=["bash", "-c", text, "bash", *words], **options)
        try:
            return await agent.attempt(Task(id="t", input="Which colour?"), Skill(text="Rule.\n"), 0)
        finally:
            await agent.aclose()

    return asyncio.run(attempt())


class TestCommand(ProgramContract):
    start_seconds = 3.0

    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        skills = ["--skills", "{skill_file}"] if options.get("delivery") == "install" else []
        return make(target, command=[sys.executable, str(FAKE), *skills], **options)


class _Closing(CommandAgent):
    """Closes itself after each attempt, for tests that do not."""

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        try:
            return await super().attempt(task, skill, trial)
        finally:
            await self.aclose()


@pytest.mark.slow  # each attempt starts a program; `TestCommand` shows the same of fewer attempts
class TestAsAnyAgent(AgentContract):
    def make_agent(self, target: ChatModel) -> Agent:
        return _Closing.from_options({"command": [sys.executable, str(FAKE)]}, target, Prompts(), where="agent")

    def test_attempts_at_the_same_time_do_not_mix(self) -> None:
        """In `TestCommand`: here one attempt would close the gateway of the others."""


class TestCommands:
    def test_a_command_that_fails_is_void_with_its_own_words(self) -> None:
        with pytest.raises(ProgramFailed) as caught:
            bash("echo half an answer; echo 'no colours: 7717' >&2; exit 3")
        assert str(caught.value) == "agent 'command' gave up: no colours: 7717"

    def test_the_answer_may_be_in_a_file(self) -> None:
        trajectory = bash('echo noise; echo red > "$1"', "{answer_file}", answer_file="answer.txt")
        assert trajectory.answer == "red"

    def test_programs_in_readable_folders_are_on_the_path(self, tmp_path) -> None:
        tool = tmp_path / "bin" / "paint"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\necho painted\n")
        tool.chmod(0o755)
        assert bash("paint", readable=[str(tmp_path)]).answer == "painted"

    def test_too_much_memory_is_the_fault_of_the_agent(self) -> None:
        grow = "import time\nx = bytearray(400 * 2**20)\ntime.sleep(60)"
        failure = bash('python3 -c "$1"', grow, limits={"memory_mb": 100, "seconds": 50}).failure
        assert failure.startswith("went over its memory limit (agent.limits.memory_mb = 100, ")

    def test_the_network_leads_to_the_gateway_only(self) -> None:
        with running_endpoint() as endpoint:
            port = endpoint.url.split(":")[2].partition("/")[0]
            text = f"(echo > /dev/tcp/127.0.0.1/{port}) 2> /dev/null && echo reached || echo closed"
            assert bash(text).answer == "closed"


class Hanging(ScriptedModel):
    """Answers until there is a result of a tool."""

    async def complete(self, request: ChatRequest) -> Reply:
        if any(message.role == "tool" for message in request.messages):
            await asyncio.sleep(60)
        return await super().complete(request)


class Slow(Hanging):
    """Takes its time for each answer, or to refuse it."""

    def __init__(self, turn: Any, refuse: bool) -> None:
        super().__init__(turn)
        self._refuse = refuse

    async def complete(self, request: ChatRequest) -> Reply:
        await asyncio.sleep(1)
        if self._refuse and self.requests:
            raise TransientError("429: slow down", rate_limited=True)
        return await ScriptedModel.complete(self, request)


class TestTime:
    def test_a_model_that_answered_used_the_time_and_one_that_refused_did_not(self) -> None:
        def attempt(*, refuse: bool) -> Trajectory:
            model = Slow(lambda request: TestCommand().shell(request, "true"), refuse)
            target = Retrying(Limited(model, 4), "target", outage_seconds=300)
            return bash('exec "$@"', sys.executable, str(FAKE), target=target, limits={"seconds": 6})

        assert attempt(refuse=False).failure == "not done within agent.limits.seconds = 6"
        with pytest.raises(ProgramFailed, match="it waited for the model, which had failed: 429: slow down"):
            attempt(refuse=True)

    def test_waiting_for_a_model_is_void_where_it_took_most_of_the_time_only(self) -> None:
        def attempt(command: str) -> Trajectory:
            model = Hanging(lambda request: TestCommand().shell(request, command))
            return bash('exec "$@"', sys.executable, str(FAKE), target=model, limits={"seconds": 4})

        with pytest.raises(ProgramFailed, match="it waited for the model"):
            attempt("true")
        assert attempt("sleep 3").failure == "not done within agent.limits.seconds = 4"


class TestDirectLogin:
    def test_a_program_with_its_own_login_is_not_sent_to_the_target(self, monkeypatch) -> None:
        with running_endpoint() as endpoint:
            monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
            target = ScriptedModel([])
            agent = make(target, login="direct", env={"MODEL": "target"})
            trajectory = asyncio.run(agent.attempt(Task(id="t", input="Which colour?"), Skill(text=""), 0))
        assert trajectory.answer
        assert target.requests == []

    def test_a_login_that_is_missing_is_an_error_before_anything_is_started(self, monkeypatch) -> None:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(ConfigError, match="agent program 'command' is not logged in"):
            make(ScriptedModel([]), login="direct")

    def test_a_step_limit_that_nobody_could_hold_is_an_error(self) -> None:
        with pytest.raises(ConfigError) as caught:
            make(ScriptedModel([]), login="direct", max_steps=3)
        assert str(caught.value) == (
            "agent.max_steps = 3 has no effect with agent.login = 'direct': the gateway counts the steps of agent "
            "'command'\nhint: leave max_steps out and set agent.limits.seconds, or log in through the gateway"
        )


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"command": []}, "agent: command = []: List should have at least 1 item after validation, not 0"),
            ({"path": "/no/such/program"}, "agent program '/no/such/program' was not found"),
            ({"readable": ["/no/such/folder"]}, "agent.readable: '/no/such/folder' is not a folder"),
            ({"deliver": "inline"}, "agent: unknown key 'deliver'"),
        ],
    )
    def test_what_cannot_be_is_an_error_at_the_start(self, options: dict[str, Any], error: str) -> None:
        with pytest.raises(ConfigError) as caught:
            make(ScriptedModel([]), **options)
        assert caught.value.message == error
        assert caught.value.hint

    def test_a_program_that_is_not_installed_is_an_error_at_the_start(self) -> None:
        with pytest.raises(ConfigError, match="'/no/such/codex' was not found"):
            CodexAgent.from_options({"path": "/no/such/codex"}, ScriptedModel([]), Prompts(), where="agent")

    def test_a_model_that_takes_no_tools_is_refused_where_the_program_asks_with_some(self) -> None:
        class Toolless(ScriptedModel):
            takes_tools = False

        with pytest.raises(ConfigError) as caught:
            CodexAgent.from_options({}, Toolless([], name="handoff:q"), Prompts(), where="agent")
        assert str(caught.value) == (
            "agent 'codex' calls tools, and model 'handoff:q' takes none\n"
            "hint: set agent.name to 'chat', use a model with a key, or set agent.login to 'direct'"
        )
        make(Toolless([]))  # what a command line asks with is its own affair

    def test_pictures_are_refused_with_what_to_do(self) -> None:
        task = Task(id="t", input="What is this?", images=("data:image/png;base64,",))
        with pytest.raises(DataError, match="task 't' has pictures, and agent 'command' reads text only"):
            make(ScriptedModel([])).check_task(task)
        with pytest.raises(DataError, match="task 't' has pictures, and agent 'command' reads text only"):
            asyncio.run(make(ScriptedModel([])).attempt(task, Skill(text=""), 0))

    def test_a_task_in_an_image_is_refused_as_the_program_is_not_there(self) -> None:
        task = Task(id="t", input="Do it.", place=Place(path="/app", image="picture:1"))
        with pytest.raises(DataError, match="task 't' runs in an image of its own, where agent 'command' is not"):
            make(ScriptedModel([])).check_task(task)

    def test_programs_wait_until_there_is_memory_for_them(self) -> None:
        under_way, most = 0, 0

        async def turn(request: ChatRequest) -> str:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.3)
            under_way -= 1
            return "red"

        async def attempt_all() -> Sequence[Trajectory]:
            agent = make(ScriptedModel(turn), concurrency_mb=10**9)
            tasks = [Task(id=f"t{number}", input=f"Item {number}?") for number in range(3)]

            async def one(task: Task) -> Trajectory:
                async with agent.room():
                    return await agent.attempt(task, Skill(text=""), 0)

            try:
                return await asyncio.gather(*map(one, tasks))
            finally:
                await agent.aclose()

        assert [each.answer for each in asyncio.run(attempt_all())] == ["red"] * 3
        assert most == 1


CUT = "the reply was cut off at the token limit (target.max_output_tokens = 512)"


def judged(**more: Any) -> str:
    """The verdict on a run that ended well but for this."""
    ended = {"code": 0, "signal": None, "stdout": b"", "stderr": b"", "cut": False, "over": ""}
    ended |= {name: more.pop(name) for name in [*ended] if name in more}
    traits = AgentTraits("x", more.pop("silent", False), Limits(seconds=9), 512)
    report, trouble = more.pop("report", Report(answer="red")), more.pop("trouble", "")
    ran = {"asked": 1, "last_finish": "stop", "in_vain": False, **more}
    return verdict(ProgramRun(Finished(**ended), **ran), report, traits, trouble)


class TestVerdicts:
    @pytest.mark.parametrize(
        ("seen", "failure"),
        [
            ({}, ""),
            ({"code": 3}, ""),
            ({"report": Report(answer=" \n")}, ""),
            ({"report": Report(out_of_steps=True, error="x")}, "the step limit was reached"),
            ({"last_finish": "refusal", "report": Report(error="content_filter")}, "the model refused"),
            ({"last_finish": "length", "report": Report(error="x")}, CUT),
            ({"last_finish": "length"}, ""),
            ({"over": "time limit"}, "not done within agent.limits.seconds = 9"),
            ({"over": "time limit", "asked": 0, "silent": True}, "not done within agent.limits.seconds = 9"),
            ({"asked": 0, "silent": True}, ""),
            ({"asked": None}, ""),
        ],
    )
    def test_completed_and_failed(self, seen: dict[str, Any], failure: str) -> None:
        found = judged(**seen)
        assert found.startswith(failure) if failure else found == ""

    @pytest.mark.parametrize(
        ("seen", "words"),
        [
            ({"over": "time limit", "in_vain": True}, "it waited for the model$"),
            (
                {"over": "time limit", "in_vain": True, "trouble": "429 rate limit: slow down"},
                "it waited for the model, which had failed: 429 rate limit: slow down$",
            ),
            ({"report": Report(answer="red", error="it broke")}, "agent 'x' gave up: it broke"),
            (
                {"report": Report(ended=False), "code": 9, "stderr": b"out of luck"},
                "broke off, exit code 9: out of luck",
            ),
            ({"report": Report(ended=False), "code": None, "signal": 11}, "agent 'x' broke off, signal 11"),
            ({"asked": 0}, "agent 'x' asked no model, exit code 0"),
            ({"over": "time limit", "asked": 0}, "limits.seconds = 9: agent 'x' had asked no model yet$"),
        ],
    )
    def test_void(self, seen: dict[str, Any], words: str) -> None:
        with pytest.raises(ProgramFailed, match=words) as caught:
            judged(**seen)
        assert not isinstance(caught.value, StopRun)

    @pytest.mark.parametrize(
        ("words", "hint"),
        [
            ("token_expired", "look at the program's own login, model and version, then run this again"),
            ("usage limit reached", "run the same command again when your plan allows more"),
        ],
    )
    def test_a_login_that_is_refused_or_used_up_stops_the_run(self, words: str, hint: str) -> None:
        report = Report(error=words)
        with pytest.raises(OutageStop) as caught:
            judged(asked=None, report=report)
        assert str(caught.value) == f"agent 'x' gave up: {words}\nhint: {hint}"
        with pytest.raises(ProgramFailed):
            judged(asked=1, report=report)


class TestAccount:
    CALLS = (
        Message(role="assistant", tool_calls=(ToolCall(id="z9", name="bash", arguments='{"c": "cd /tmp/a/work"}'),)),
        Message(
            role="tool", tool_call_id="z9", content=(TextPart(text="/tmp/a/work/x.txt /tmp/a/workshop /tmp/a/home"),)
        ),
    )

    def test_folders_and_ids_are_those_of_every_attempt(self) -> None:
        folders = {Path("/tmp/a/work"): ".", Path("/tmp/a/home"): "~"}
        said = neutral(Account("in /tmp/a/work.", self.CALLS, {"z9": 3, "of nothing": 1}), folders)
        assert said.answer == "in .."
        assert said.messages[0].tool_calls[0] == ToolCall(id="call-1", name="bash", arguments='{"c": "cd ."}')
        assert said.messages[1].tool_call_id == "call-1"
        assert said.messages[1].text == "./x.txt /tmp/a/workshop ~"
        assert said.exit_codes == {"call-1": 3}

    def test_a_skill_is_read_when_its_longest_line_was_shown(self) -> None:
        front = "---\nname: a\ndescription: A text of some length.\n---\n"
        skill = Skill(text=f"{front}\nShort.\n  Name colours in small letters.\n")
        assert has_read(skill, [user("   7\u2192  Name colours in small letters.")]) is True
        assert has_read(skill, [user("A text of some length.")]) is False
        assert has_read(Skill(text="Short.\n"), [user("Short.")]) is None
