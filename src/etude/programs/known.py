"""The agent programs that are known by name."""

from collections.abc import Mapping

from etude.programs.claude_code import ClaudeCode
from etude.programs.codex import Codex
from etude.programs.copilot_cli import CopilotCli
from etude.programs.gemini_cli import GeminiCli
from etude.programs.opencode import OpenCode
from etude.programs.pi import Pi
from etude.programs.program import Program
from etude.programs.qwen_code import QwenCode


def known_programs() -> Mapping[str, Program]:
    """Name, as in `agent.name` and `agent:name`, to program."""
    programs = (ClaudeCode(), Codex(), CopilotCli(), GeminiCli(), OpenCode(), Pi(), QwenCode())
    return {program.name: program for program in programs}
