"""The seams. Families implement these classes, `build` and the user inject them, stages see nothing else."""

from etude.protocols.executor import Ask, Executor, Here, R, Recipe, T, Workplace, scored
from etude.protocols.parts import (
    Agent,
    ChatModel,
    Environment,
    EnvironmentTool,
    Journal,
    Scorer,
    Sink,
    Spend,
    Texts,
    ToolSource,
    Wrapper,
)

__all__ = [
    "Agent",
    "Ask",
    "ChatModel",
    "Environment",
    "EnvironmentTool",
    "Executor",
    "Here",
    "Journal",
    "R",
    "Recipe",
    "Scorer",
    "Sink",
    "Spend",
    "T",
    "Texts",
    "ToolSource",
    "Workplace",
    "Wrapper",
    "scored",
]
