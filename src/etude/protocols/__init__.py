"""The seams. Families implement these classes, `build` and the user inject them, stages see nothing else."""

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
from etude.protocols.places import Ask, Executor, Here, Place, R, Recipe, T

__all__ = [
    "Agent",
    "Ask",
    "ChatModel",
    "Environment",
    "EnvironmentTool",
    "Executor",
    "Here",
    "Journal",
    "Place",
    "R",
    "Recipe",
    "Scorer",
    "Sink",
    "Spend",
    "T",
    "Texts",
    "ToolSource",
    "Wrapper",
]
