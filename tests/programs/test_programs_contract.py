"""Two real programs keep the contract of program agents; the others are in tests/slow."""

from pathlib import Path
from typing import Any

import pytest
from program_contract import ProgramContract

from etude.agents.program import ClaudeCodeAgent, CodexAgent, ProgramAgent
from etude.prompts import Prompts
from etude.testing import ScriptedModel

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"

pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]


class TestCodex(ProgramContract):
    start_seconds = 8.0  # after ten seconds it lets a command go on in the background

    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return CodexAgent.from_options(options, target, Prompts(), where="agent")


class TestClaudeCode(ProgramContract):
    def make_agent(self, target: ScriptedModel, **options: Any) -> ProgramAgent:
        return ClaudeCodeAgent.from_options(options, target, Prompts(), where="agent")
