"""The real programs that are too slow for every run of the tests keep the contract of program agents, too."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from program_contract import SKILL, ProgramContract
from program_training import training_changes_the_skill, training_is_in_the_account

from etude.agents.program import (
    AiderAgent,
    CopilotCliAgent,
    GeminiCliAgent,
    GooseAgent,
    MiniSweAgentAgent,
    OpenCodeAgent,
    PiAgent,
    ProgramAgent,
    QwenCodeAgent,
)
from etude.config import ModelSection
from etude.gateway import Gateway
from etude.models import build_model
from etude.prompts import Prompts
from etude.records import ChatRequest, File, Reply, Task, Trajectory, system, user
from etude.testing import ScriptedModel

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "more"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="not installed here: scripts/programs --all"),
]


class TestAider(ProgramContract):
    start_seconds = 20.0
    runs_commands = False

    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return AiderAgent.from_options(options, target, Prompts(), where="agent")

    def test_files_are_seen_and_edited_and_attempts_at_the_same_time_do_not_mix(self) -> None:
        def turn(request: ChatRequest) -> str:
            sent = "\n".join(message.text for message in request.messages)
            number = next(number for number in (0, 1) if f"item {number}?" in sent)
            assert f"seen {number}" in sent
            return f"colour {number}\n\nin/a.txt\n```\n{number}\n```\n"

        async def attempt_all() -> list[Trajectory]:
            agent = self.make_agent(ScriptedModel(turn))
            files = [{"in/a.txt": File(data=f"seen {number}\n".encode())} for number in (0, 1, 0)]
            tasks = [
                Task(id=f"t{number}", input=f"Which colour has item {number}?", files=files[number])
                for number in (0, 1, 0)
            ]
            try:
                return await asyncio.gather(*(agent.attempt(task, SKILL, 0) for task in tasks))
            finally:
                await agent.aclose()

        found = asyncio.run(attempt_all())
        assert [each.answer.splitlines()[0] for each in found] == ["colour 0", "colour 1", "colour 0"]
        assert [each.files for each in found] == [{"in/a.txt": File(data=f"{n}\n".encode())} for n in (0, 1, 0)]
        assert found[0] == found[2]


class TestCopilotCli(ProgramContract):
    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return CopilotCliAgent.from_options(options, target, Prompts(), where="agent")


class TestGeminiCli(ProgramContract):
    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return GeminiCliAgent.from_options(options, target, Prompts(), where="agent")


class TestGoose(ProgramContract):
    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return GooseAgent.from_options(options, target, Prompts(), where="agent")


class TestMiniSweAgent(ProgramContract):
    start_seconds = 20.0

    def finish(self, request: ChatRequest, text: str) -> Reply:
        return self.shell(request, f"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo '{text}'")

    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return MiniSweAgentAgent.from_options(options, target, Prompts(), where="agent")


class TestOpenCode(ProgramContract):
    start_seconds = 20.0

    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return OpenCodeAgent.from_options(options, target, Prompts(), where="agent")


class TestPi(ProgramContract):
    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return PiAgent.from_options(options, target, Prompts(), where="agent")


class TestQwenCode(ProgramContract):
    start_seconds = 20.0

    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return QwenCodeAgent.from_options(options, target, Prompts(), where="agent")


@pytest.mark.parametrize("program", ["copilot-cli", "gemini-cli", "goose", "qwen-code"])
def test_training_through_a_program_that_decides_whether_to_read_the_skill_raises_the_score(
    tmp_path: Path, program: str
) -> None:
    training_changes_the_skill(tmp_path, program, "install")


def test_training_through_a_program_that_looks_for_no_skills_is_in_the_account(tmp_path: Path) -> None:
    training_is_in_the_account(tmp_path, "mini-swe-agent", "inline")


async def test_gemini_cli_is_a_model_that_answers_without_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    target = ScriptedModel(["blue"])
    gateway = Gateway(target)
    try:
        async with gateway.session(seed=0) as session:
            monkeypatch.setenv("SESSION_KEY", session.key)
            section = ModelSection(
                model="agent:gemini-cli/any", base_url=f"{session.url}/v1", api_key_env="SESSION_KEY"
            )
            reply = await build_model(section).complete(
                ChatRequest(messages=(system("Answer in one word."), user("Which colour has the sky?")))
            )
    finally:
        await gateway.aclose()
    assert reply.text == "blue"
    (asked,) = target.requests
    assert asked.tools == ()
    assert asked.messages[0].text == "Answer in one word."
