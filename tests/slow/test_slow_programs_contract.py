"""The real programs that are too slow for every run of the tests keep the contract of program agents, too."""

from pathlib import Path
from typing import Any

import pytest
from program_contract import ProgramContract
from program_training import training_changes_the_skill

from etude.agents.program import CopilotCliAgent, GeminiCliAgent, OpenCodeAgent, PiAgent, ProgramAgent, QwenCodeAgent
from etude.config import ModelSection
from etude.gateway import Gateway
from etude.models import build_model
from etude.prompts import Prompts
from etude.records import ChatRequest, system, user
from etude.testing import ScriptedModel

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "more"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="not installed here: scripts/programs --all"),
]


class TestCopilotCli(ProgramContract):
    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return CopilotCliAgent.from_options(options, target, Prompts(), where="agent")


class TestGeminiCli(ProgramContract):
    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return GeminiCliAgent.from_options(options, target, Prompts(), where="agent")


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


@pytest.mark.parametrize("program", ["copilot-cli", "gemini-cli", "qwen-code"])
def test_training_through_a_program_that_decides_whether_to_read_the_skill_raises_the_score(
    tmp_path: Path, program: str
) -> None:
    training_changes_the_skill(tmp_path, program, "install")


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
