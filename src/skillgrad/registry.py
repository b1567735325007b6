"""Names to classes: the same door for built-ins and plugins.

A name is a built-in short name, the name of an entry point in the group `skillgrad.<family>`, or an import path
`package.module:Class`.
"""

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from skillgrad.errors import ConfigError, did_you_mean

Family = Literal["environments", "agents", "models", "scorers", "executors"]

BUILT_IN: dict[Family, dict[str, str]] = {
    "environments": {"dataset": "skillgrad.envs.dataset:DatasetEnvironment"},
    "agents": {"chat": "skillgrad.agents.chat:ChatAgent"},
    "models": {
        "openai": "skillgrad.models.openai:OpenAIModel",
        "simulated": "skillgrad.models.simulated:SimulatedModel",
    },
    "scorers": {
        "exact": "skillgrad.envs.scorers.text:Exact",
        "f1": "skillgrad.envs.scorers.text:F1",
        "anls": "skillgrad.envs.scorers.text:ANLS",
        "numeric": "skillgrad.envs.scorers.numeric:Numeric",
        "choice": "skillgrad.envs.scorers.choice:Choice",
        "regex": "skillgrad.envs.scorers.regex:Regex",
        "json": "skillgrad.envs.scorers.json:Json",
        "rubric": "skillgrad.envs.scorers.rubric:Rubric",
    },
    "executors": {"local": "skillgrad.executors.local:LocalExecutor"},
}


def names(family: Family) -> list[str]:
    """All names of a family: built-ins and installed plugins."""
    return sorted({*BUILT_IN[family], *(point.name for point in entry_points(group=f"skillgrad.{family}"))})


def find(family: Family, name: str) -> Any:
    """The class behind a name. Imports it when asked, not before.

    Raises:
        ConfigError: nothing has that name, or importing it failed.
    """
    path = BUILT_IN[family].get(name) or _entry_point(family, name) or name
    module, colon, attribute = path.partition(":")
    if not colon:
        raise ConfigError(
            f"unknown {family.removesuffix('s')} {name!r}",
            hint=f"{did_you_mean(name, names(family))}; or give an import path 'package.module:Class'",
        )
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{family.removesuffix('s')} {name!r} cannot be loaded from {path!r}: {error}") from None


def _entry_point(family: Family, name: str) -> str | None:
    for point in entry_points(group=f"skillgrad.{family}", name=name):
        return point.value
    return None
