"""Where each agent program keeps the skills and the memory file of a project. Imports nothing heavy."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple


class ProjectPaths(NamedTuple):
    """Paths in the project's folder."""

    skills: str
    """The folder of skills that every version of the program reads. Most read `.agents/skills` as well."""
    memory: str = "AGENTS.md"
    """The file that the program reads at every start."""


PLACES: Mapping[str, ProjectPaths] = MappingProxyType(
    {
        "agents": ProjectPaths(".agents/skills"),
        "claude": ProjectPaths(".claude/skills", "CLAUDE.md"),
        "codex": ProjectPaths(".codex/skills"),
        "copilot": ProjectPaths(".github/skills", ".github/copilot-instructions.md"),
        "cursor": ProjectPaths(".agents/skills", ".cursor/rules/etude.mdc"),
        "gemini": ProjectPaths(".gemini/skills", "GEMINI.md"),
        "opencode": ProjectPaths(".opencode/skills"),
        "openhands": ProjectPaths(".openhands/skills"),
        "pi": ProjectPaths(".pi/skills"),
        "qwen": ProjectPaths(".qwen/skills", "QWEN.md"),
    }
)
"""By the short name of the program; `agents` is what most of them share."""
_SOURCES = {"claude-code": "claude", "copilot-cli": "copilot", "gemini-cli": "gemini", "qwen-code": "qwen"}
"""Short names of programs whose source of transcripts is called otherwise."""


def agent_of(skill: Path) -> str:
    """The program in whose folder of skills a skill lies, as a source of transcripts is called; empty where it lies
    in none, or in that which programs share."""
    folder = skill.resolve().parent
    own = {name: paths.skills for name, paths in PLACES.items() if paths.skills != PLACES["agents"].skills}
    found = next((name for name, skills in own.items() if folder.as_posix().endswith(f"/{skills}")), "")
    return next((source for source, name in _SOURCES.items() if name == found), found)


def place_of(agent: str) -> ProjectPaths:
    """The places of an agent, by its short name or the name of its source of transcripts."""
    return PLACES.get(_SOURCES.get(agent, agent), PLACES["agents"])
