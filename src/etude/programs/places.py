"""Where each agent program keeps the skills and the memory file of a project. Imports nothing heavy."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Place(NamedTuple):
    """Paths in the project's folder."""

    skills: str
    """The folder of skills that every version of the program reads. Most read `.agents/skills` as well."""
    memory: str = "AGENTS.md"
    """The file that the program reads at every start."""


PLACES: Mapping[str, Place] = MappingProxyType(
    {
        "agents": Place(".agents/skills"),
        "claude": Place(".claude/skills", "CLAUDE.md"),
        "codex": Place(".codex/skills"),
        "copilot": Place(".github/skills", ".github/copilot-instructions.md"),
        "cursor": Place(".agents/skills", ".cursor/rules/etude.mdc"),
        "gemini": Place(".gemini/skills", "GEMINI.md"),
        "opencode": Place(".opencode/skills"),
        "openhands": Place(".openhands/skills"),
        "pi": Place(".pi/skills"),
        "qwen": Place(".qwen/skills", "QWEN.md"),
    }
)
"""By the short name of the program; `agents` is what most of them share."""
_SOURCES = {
    "claude-code": "claude",
    "copilot-cli": "copilot",
    "vscode-copilot": "copilot",
    "gemini-cli": "gemini",
    "qwen-code": "qwen",
}
"""Short names of programs whose source of transcripts is called otherwise."""


def place_of(agent: str) -> Place:
    """The places of an agent, by its short name or the name of its source of transcripts."""
    return PLACES.get(_SOURCES.get(agent, agent), PLACES["agents"])
