"""Names to classes: the same door for built-ins and plugins.

A name is a built-in short name, the name of an entry point in the group `skillgrad.<family>`, or an import path
`package.module:Class`.
"""

import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, NamedTuple, cast

from skillgrad.errors import ConfigError, did_you_mean

Family = Literal["environments", "agents", "models", "scorers", "executors"]

BUILT_IN: dict[Family, dict[str, str]] = {
    "environments": {"dataset": "skillgrad.envs.dataset:DatasetEnvironment"},
    "agents": {"chat": "skillgrad.agents.chat:ChatAgent"},
    "models": {
        "adapter": "skillgrad.models.adapter:AdapterModel",
        "anthropic": "skillgrad.models.anthropic:AnthropicModel",
        "azure": "skillgrad.models.azure:AzureModel",
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


class _Contract(NamedTuple):
    """What a class must have, and how it is made."""

    made_by: str
    """A class method and its arguments; those behind `*` are given by name. The class itself when it has no name."""
    methods: tuple[str, ...]

    def makes(self, found: Any) -> Any:
        name = self.made_by.partition("(")[0]
        return getattr(found, name, None) if name else found

    def takes(self, make: Any) -> bool:
        """Whether `make` can be called as it will be."""
        before, _, after = self.made_by.partition("(")[2].rstrip(")").partition("*")
        by_place, by_name = ([word.strip() for word in part.split(",") if word.strip()] for part in (before, after))
        try:
            inspect.signature(make).bind(*by_place, **dict.fromkeys(by_name))
        except TypeError:
            return False
        except ValueError:  # made of C, which does not tell
            return True
        return True


_CONTRACTS: Mapping[Family, _Contract] = {
    "environments": _Contract("from_options(options, *, where, judge)", ("tasks", "score")),
    "agents": _Contract("from_options(options, target, prompts, *, where)", ("attempt",)),
    "models": _Contract("(name, settings)", ("complete",)),
    "scorers": _Contract("from_options(options, where, judge)", ("score",)),
    "executors": _Contract("from_options(options, *, concurrency, where)", ("stream", "drain", "cancel")),
}


def names(family: Family) -> list[str]:
    """All names of a family: built-ins and installed plugins."""
    return sorted({*BUILT_IN[family], *(point.name for point in plugins(family))})


def plugins(family: Family) -> list[EntryPoint]:
    """The entry points of a family. Nothing is imported."""
    return sorted(entry_points(group=f"skillgrad.{family}"), key=lambda point: (point.name, point.value))


def find(family: Family, name: str) -> Any:
    """The class behind a name. Imports it when asked, not before.

    Raises:
        ConfigError: nothing has that name, importing it failed, or it lacks what its family needs.
    """
    path = BUILT_IN[family].get(name) or _entry_point(family, name) or name
    module, colon, attribute = path.partition(":")
    if not colon:
        raise ConfigError(
            f"unknown {_one(family)} {name!r}",
            hint=f"{did_you_mean(name, names(family))}; or give an import path 'package.module:Class'",
        )
    where = f"{_one(family)} {name!r}"
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{where} cannot be loaded from {path!r}: {error}") from None
    except Exception as error:  # the boundary: the module is not ours, and running it can fail in any way
        text = f"{where} cannot be loaded from {path!r}: {type(error).__name__}: {error}"
        raise ConfigError(text, hint="mend or uninstall it") from error
    problem = _breach(family, found)
    if problem:
        raise ConfigError(f"{where} from {path!r} {problem}", hint="what it needs: docs/guides/plugins.md")
    return found


def _one(family: Family) -> str:
    return family.removesuffix("s")


def _breach(family: Family, found: Any) -> str:
    """What is missing from a class, empty when nothing is. A model may also be made by a function."""
    contract = _CONTRACTS[family]
    make = contract.makes(found)
    if not callable(make) or not contract.takes(make):
        return f"{'cannot be called with' if make is found else 'has no'} `{contract.made_by}`"
    if not isinstance(found, type):
        return "" if family == "models" else "is no class"
    lacking = [name for name in contract.methods if not callable(getattr(found, name, None))]
    lacking += sorted(cast(frozenset[str], getattr(found, "__abstractmethods__", frozenset[str]())) - set(lacking))
    return f"has no `{lacking[0]}`" if lacking else ""


def _entry_point(family: Family, name: str) -> str | None:
    return next((point.value for point in plugins(family) if point.name == name), None)
