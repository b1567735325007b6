"""The agent programs that are known by name."""

from collections.abc import Mapping

from skillgrad.programs.base import Program
from skillgrad.programs.claude_code import ClaudeCode
from skillgrad.programs.codex import Codex
from skillgrad.programs.opencode import OpenCode
from skillgrad.programs.pi import Pi

__all__ = ["known_programs"]


def known_programs() -> Mapping[str, Program]:
    """Name, as in `agent.name` and `agent:name`, to program."""
    return {program.name: program for program in (ClaudeCode(), Codex(), OpenCode(), Pi())}
