"""The real programs that are too slow for every run of the tests keep the contract of program agents, too."""

from pathlib import Path
from typing import Any

import pytest
from program_contract import ProgramContract
from program_training import training_raises_the_score

from etude.agents.program import ProgramAgent, QwenCodeAgent
from etude.prompts import Prompts
from etude.testing import ScriptedModel

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "more"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="not installed here: scripts/programs --all"),
]


class TestQwenCode(ProgramContract):
    start_seconds = 20.0

    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return QwenCodeAgent.from_options(options, target, Prompts(), where="agent")


@pytest.mark.parametrize("program", ["qwen-code"])
def test_training_through_a_program_that_decides_whether_to_read_the_skill_raises_the_score(
    tmp_path: Path, program: str
) -> None:
    training_raises_the_score(tmp_path, program, "install")
