"""What every agent must do that runs a program."""

import asyncio
import json
import os
import time
import uuid
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from etude.agents.program import ProgramAgent
from etude.agents.program_run import ProgramFailed
from etude.errors import OutageStop
from etude.records import ChatRequest, File, Reply, Skill, Task, ToolCall, Trajectory, Usage
from etude.testing.doubles import Line, ScriptedModel

RULE = "Rule 7315: whoever names a colour names it in lower case letters."
SKILL = Skill(name="colours", text=f"---\nname: colours\ndescription: How to name colours.\n---\n\n{RULE}\n")
SECRET = "gold-4418-gold"
TASK = Task(id="t0", input="Which colour has item 0?", gold=SECRET)
COMMAND = "/help me, item 0."
LONG_TASK = TASK.model_copy(
    update={
        "input": "@a.txt !ls --help\n" + "".join(f"Item {number} is red.\n" for number in range(9000)) + TASK.input
    }
)
LONG_RULES = "".join(f"Colour {number} is rare.\n" for number in range(9000))
USED = Usage(input_tokens=70, output_tokens=30, cached_tokens=20)
MOST_SECONDS = 300.0
NUMBERS = (0, 1, 0)
"""Tasks that are attempted at the same time: two that differ, and the first one again."""

Turn = Callable[[ChatRequest, int], Line | Awaitable[Line]]
"""What a model does: given the request, and how many results of tools it has."""


class Seen(NamedTuple):
    """An attempt, and the model with what it was asked."""

    trajectory: Trajectory
    model: ScriptedModel


class ProgramContract:
    """What every agent must do that runs a program.

    The model is a script behind the gateway, so the program is seen as it is. Programs have to be installed.

    class TestMine(ProgramContract):
        def make_agent(self, target, **options):
            return MyAgent.from_options(options, target, Prompts(), where="agent")
    """

    start_seconds: float = 10.0
    """How long the program may take until it asks the model for the first time, on a busy machine."""

    @abstractmethod
    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        """A new agent with these options."""
        raise NotImplementedError

    def shell(self, request: ChatRequest, command: str) -> Reply:
        """A reply that has the program run a command: a call of the first tool that takes one."""
        for tool in request.tools:
            fields = cast(dict[str, Any], tool.parameters.get("properties") or {})
            name = next((field for field in ("command", "cmd") if field in fields), None)
            if name is None:
                continue
            required = cast(list[str], tool.parameters.get("required") or [])
            arguments = dict.fromkeys(required, "a step") | {name: command}
            call = ToolCall(id=f"call_{uuid.uuid4().hex[:12]}", name=tool.name, arguments=json.dumps(arguments))
            return Reply(tool_calls=(call,), finish="tool_calls", usage=USED)
        raise AssertionError(f"no tool runs commands: {[tool.name for tool in request.tools]}")

    def finish(self, request: ChatRequest, text: str) -> Reply:
        """A reply with which the program is done, and this as its answer."""
        return Reply(text=text, usage=USED)

    def test_the_last_word_of_the_model_becomes_the_answer(self) -> None:
        trajectory, model = self._answered()
        assert trajectory.failure == ""
        assert trajectory.answer == "red"
        assert trajectory.simulated
        assert {request.seed for request in model.requests} == {LONG_TASK.seed(3)}

    def test_task_and_skill_reach_the_model_and_the_gold_answer_does_not(self) -> None:
        trajectory, model = self._answered()
        sent = _sent(model.requests[0])
        assert RULE in sent
        assert TASK.input in sent
        assert SECRET not in sent
        assert trajectory.read_skill is None

    def test_a_task_without_a_skill_arrives_as_it_is_even_when_it_looks_like_a_command(self) -> None:
        _, model = self._refused()
        sent = _sent(model.requests[0])
        assert COMMAND in sent
        assert RULE not in sent

    def test_a_refusal_is_the_fault_of_the_agent(self) -> None:
        assert self._refused().trajectory.failure == "the model refused"

    def test_a_long_task_and_a_long_skill_arrive_whole(self) -> None:
        _, model = self._answered()
        sent = _sent(model.requests[0])
        assert "@a.txt !ls --help\nItem 0 is red." in sent
        assert "Item 8999 is red." in sent
        assert "Colour 8999 is rare." in sent

    def test_an_installed_skill_that_was_not_read_is_recorded_as_such(self) -> None:
        trajectory, model = self._attempt(_says(""), delivery="install")
        assert RULE not in _sent(model.requests[0])
        assert "How to name colours." in _sent(model.requests[0])
        assert trajectory.read_skill is False
        assert "empty" in trajectory.failure

    def test_an_installed_skill_that_was_read_is_recorded_as_such_also_when_the_steps_run_out(self) -> None:
        trajectory, model = self._attempt(
            lambda request, results: self.shell(request, "find ~ -name SKILL.md -exec cat {} +"),
            delivery="install",
            max_steps=2,
        )
        assert trajectory.read_skill is True
        assert "step limit" in trajectory.failure
        assert len(model.requests) == 2

    def test_commands_work_in_the_workspace_and_their_files_are_kept(self) -> None:
        trajectory, _ = self._worked()
        assert trajectory.failure == ""
        assert trajectory.files.keys() == {"out.txt", "b.txt", "secrets.txt"}
        assert (trajectory.files["out.txt"], trajectory.files["b.txt"]) == (File(data=b"one\n"), None)
        # Nothing of this process is inherited.
        assert trajectory.files["secrets.txt"] == File(data=b"0\n")

    def test_calls_and_results_are_recorded_without_the_gold_answer(self) -> None:
        trajectory, model = self._worked()
        roles = [message.role for message in trajectory.messages]
        assert roles == ["user", "assistant", "tool", "assistant"]
        (call,) = trajectory.messages[1].tool_calls
        assert "cp in/a.txt" in call.arguments
        result = trajectory.messages[2]
        assert result.tool_call_id == call.id
        assert "4711" in result.text
        assert "red 7316" in result.text  # a file of the skill
        assert SECRET not in trajectory.model_dump_json()
        assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory
        assert trajectory.usage == sum((USED for _ in model.requests), Usage())
        assert not trajectory.simulated

    def test_a_tool_that_never_ends_is_ended_and_the_fault_of_the_agent(self) -> None:
        mark = f"7315.{uuid.uuid4().int % 10**9}"

        def turn(request: ChatRequest, results: int) -> Line:
            # One that does not mind being asked to end, and one that left the group.
            command = f"setsid sleep {mark} & trap '' TERM; while true; do sleep {mark}; done"
            return self.shell(request, command) if not results else Reply(text="done")

        ended, seconds = self._until_late(turn)
        assert isinstance(ended, Trajectory)
        assert ended.failure == f"not done within agent.limits.seconds = {seconds:g}"
        assert processes_with(mark) == []

    def test_waiting_for_the_model_until_the_limit_is_no_fault_of_the_agent(self) -> None:
        async def hang(request: ChatRequest, results: int) -> Line:
            await asyncio.Event().wait()
            raise AssertionError("the attempt went on")

        ended, _ = self._until_late(hang)
        assert isinstance(ended, ProgramFailed)
        assert "it waited for the model" in ended.message

    def test_a_program_that_is_late_before_it_asked_the_model_is_no_fault_of_the_agent(self) -> None:
        limits = {"seconds": 0.01, "grace_seconds": 1}
        if self.make_agent(ScriptedModel([])).program.silent:  # it may have been at work without a model
            assert "not done within" in self._attempt(_says("red"), limits=limits).trajectory.failure
            return
        with pytest.raises(ProgramFailed, match="asked no model yet"):
            self._attempt(_says("red"), limits=limits)

    def test_a_request_that_failed_for_good_ends_the_program_at_once_and_is_raised(self) -> None:
        error = OutageStop("the endpoint refuses the key: 401 invalid key 4711", hint="correct the key")
        model = ScriptedModel(lambda request: error)
        with pytest.raises(OutageStop) as raised:
            self._run(model)
        assert raised.value.message == error.message
        # Whatever the program makes of the refusal, the model is not asked again.
        assert len(model.requests) == 1

    def test_attempts_at_the_same_time_do_not_mix_and_the_same_attempt_is_recorded_alike(self) -> None:
        def turn(request: ChatRequest) -> Line:
            sent = _sent(request)
            number = next(number for number in NUMBERS if f"item {number}?" in sent)
            if any(message.role == "tool" for message in request.messages):
                return self.finish(request, f"colour {number}")
            return self.shell(request, f"echo {number} > out.txt")

        async def attempt_all() -> list[Trajectory]:
            agent = self.make_agent(ScriptedModel(turn))
            tasks = [Task(id=f"t{number}", input=f"Which colour has item {number}?") for number in NUMBERS]
            try:
                return await asyncio.gather(*(agent.attempt(task, SKILL, 0) for task in tasks))
            finally:
                await agent.aclose()

        found = asyncio.run(asyncio.wait_for(attempt_all(), MOST_SECONDS))
        assert [each.answer for each in found] == [f"colour {number}" for number in NUMBERS]
        assert [each.files["out.txt"] for each in found] == [File(data=f"{number}\n".encode()) for number in NUMBERS]
        assert found[0] == found[-1]

    def test_a_cancelled_attempt_ends_and_leaves_no_process(self) -> None:
        mark = f"7315.{uuid.uuid4().int % 10**9}"

        async def cancel() -> None:
            asked = asyncio.Event()

            async def hang(request: ChatRequest) -> Line:
                asked.set()
                await asyncio.Event().wait()
                raise AssertionError("the attempt went on")

            agent = self.make_agent(ScriptedModel(hang), env={"CONTRACT_MARK": mark})
            attempt = asyncio.create_task(agent.attempt(TASK, SKILL, 0))
            await asyncio.wait_for(asked.wait(), MOST_SECONDS)
            attempt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(attempt, MOST_SECONDS)
            await agent.aclose()

        asyncio.run(cancel())
        assert processes_with(mark) == []

    def test_the_fingerprint_tells_models_and_options_apart_and_nothing_else(self) -> None:
        def made(name: str, **options: Any) -> str:
            return self.make_agent(ScriptedModel([], name=f"scripted:{name}"), **options).fingerprint()

        same = made("a")
        assert made("a") == same
        assert made("a", concurrency_mb=999) == same
        assert len({same, made("b"), made("a", model="b"), made("a", max_steps=7)}) == 4

    def _answered(self) -> "Seen":
        """A long task with a long skill that was answered at once."""

        def turn(request: ChatRequest, results: int) -> Line:
            return self.finish(request, "<answer>red</answer>").model_copy(update={"simulated": True})

        skill = SKILL.model_copy(update={"text": SKILL.text + LONG_RULES})
        return self._once("answered", lambda: self._attempt(turn, LONG_TASK, skill, trial=3))

    def _refused(self) -> "Seen":
        """A task like a command, without a skill, which the model refused."""
        reply = Reply(text="I cannot do that.", finish="refusal")
        task, skill = Task(id="t", input=COMMAND), Skill(text="")
        return self._once("refused", lambda: self._attempt(lambda request, results: reply, task, skill))

    def _worked(self) -> "Seen":
        """A task that took a command."""
        return self._once("worked", self._work)

    def _work(self) -> "Seen":
        skill = SKILL.model_copy(update={"files": {"references/list.txt": File(data=b"red 7316\n")}})
        files = {"in/a.txt": File(data=b"one\n"), "b.txt": File(data=b"two\n")}
        count = "env | grep -c secret-8812 > secrets.txt"
        read = "cat .skill/references/list.txt"
        command = f"pwd; echo $HOME; echo 4711; {read}; cp in/a.txt out.txt; rm b.txt; {count}; exit 3"

        def turn(request: ChatRequest, results: int) -> Line:
            return self.finish(request, "done") if results else self.shell(request, command)

        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CONTRACT_SECRET", "secret-8812")
            return self._attempt(turn, task=TASK.model_copy(update={"files": files}), skill=skill)

    def _once(self, name: str, attempt: Callable[[], "Seen"]) -> "Seen":
        """The attempt of this name: starting programs takes long, so that several tests look at the same one."""
        kept = f"_kept_{name}"
        if kept not in vars(type(self)):
            began = time.monotonic()
            setattr(type(self), kept, attempt())
            setattr(type(self), f"_seconds_{name}", time.monotonic() - began)
        return vars(type(self))[kept]

    def _until_late(self, turn: Turn) -> tuple[Trajectory | ProgramFailed, float]:
        """What an attempt has become at its time limit, in seconds.

        The limit is one and a half times what the answered attempt took. A machine that was too busy to get the
        program as far as its first request gives it a longer one.
        """
        ended: Trajectory | ProgramFailed | None = None
        self._answered()
        quick = min(1.5 * vars(type(self))["_seconds_answered"], self.start_seconds)
        for seconds in (quick, self.start_seconds, 4 * self.start_seconds):
            asked: list[ChatRequest] = []

            def count(request: ChatRequest, results: int, asked: list[ChatRequest] = asked) -> Line | Awaitable[Line]:
                asked.append(request)
                return turn(request, results)

            try:
                ended = self._attempt(count, limits={"seconds": seconds, "grace_seconds": 1}).trajectory
            except ProgramFailed as failed:
                ended = failed
            if asked:
                return ended, seconds
        raise AssertionError(f"the model was not asked within {4 * self.start_seconds:g} seconds: {ended}")

    def _attempt(self, turn: Turn, task: Task = TASK, skill: Skill = SKILL, trial: int = 0, **options: Any) -> "Seen":
        def script(request: ChatRequest) -> Line | Awaitable[Line]:
            return turn(request, sum(message.role == "tool" for message in request.messages))

        model = ScriptedModel(script)
        return Seen(self._run(model, task, skill, trial, **options), model)

    def _run(
        self, model: ScriptedModel, task: Task = TASK, skill: Skill = SKILL, trial: int = 0, **options: Any
    ) -> Trajectory:
        mark = f"contract-{uuid.uuid4().hex}"

        async def attempt() -> Trajectory:
            agent = self.make_agent(model, env={"CONTRACT_MARK": mark}, **options)
            try:
                return await asyncio.wait_for(agent.attempt(task, skill, trial), MOST_SECONDS)
            finally:
                await agent.aclose()

        try:
            return asyncio.run(attempt())
        finally:
            assert processes_with(mark) == []


def _says(text: str) -> Turn:
    return lambda request, results: Reply(text=text, usage=USED)


def _sent(request: ChatRequest) -> str:
    return "\n".join(message.text for message in request.messages)


def processes_with(mark: str) -> list[str]:
    """Living processes with `mark` in their arguments or their environment."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        if folder.name == str(os.getpid()):
            continue
        try:
            known = (folder / "cmdline").read_bytes() + b"\0" + (folder / "environ").read_bytes()
            zombie = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if mark.encode() in known and not zombie:
            found.append(f"{folder.name}: {known[:200]!r}")
    return found
