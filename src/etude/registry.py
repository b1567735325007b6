"""Names to classes: the same door for built-ins and plugins.

A name is a built-in short name, the name of an entry point in the group `etude.<family>`, or an import path
`package.module:Class`.
"""

import inspect
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import lru_cache, reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, NamedTuple, cast

from etude.errors import ConfigError, did_you_mean, not_installed

Family = Literal["environments", "agents", "models", "scorers", "executors", "searches", "sources", "trackers"]

BUILT_IN: dict[Family, dict[str, str]] = {
    "environments": {
        "command": "etude.envs.command:CommandEnvironment",
        "dataset": "etude.envs.dataset:DatasetEnvironment",
        "harbor": "etude_annexes.foreign.harbor.environment:HarborEnvironment",
        "inspect": "etude_annexes.foreign.inspect:InspectEnvironment",
        "spreadsheet": "etude_annexes.spreadsheet.environment:SpreadsheetEnvironment",
        "verifiers": "etude_annexes.foreign.verifiers:VerifiersEnvironment",
    },
    "agents": {
        "chat": "etude.agents.chat:ChatAgent",
        "claude-code": "etude.agents.program:ClaudeCodeAgent",
        "codex": "etude.agents.program:CodexAgent",
        "command": "etude.agents.program:CommandAgent",
        "copilot-cli": "etude.agents.program:CopilotCliAgent",
        "gemini-cli": "etude.agents.program:GeminiCliAgent",
        "opencode": "etude.agents.program:OpenCodeAgent",
        "pi": "etude.agents.program:PiAgent",
        "qwen-code": "etude.agents.program:QwenCodeAgent",
        "tools": "etude.agents.tools:ToolsAgent",
    },
    "models": {
        "agent": "etude.models.program:ProgramModel",
        "anthropic": "etude.models.anthropic:AnthropicModel",
        "handoff": "etude.models.handoff:HandoffModel",
        "openai": "etude.models.openai:OpenAIModel",
        "simulated": "etude.models.simulated:SimulatedModel",
    },
    "scorers": {
        "exact": "etude.envs.scorers.text:Exact",
        "f1": "etude.envs.scorers.text:F1",
        "anls": "etude.envs.scorers.text:ANLS",
        "numeric": "etude.envs.scorers.numeric:Numeric",
        "math": "etude.envs.scorers.math:Math",
        "choice": "etude.envs.scorers.choice:Choice",
        "regex": "etude.envs.scorers.regex:Regex",
        "json": "etude.envs.scorers.json:Json",
        "checks": "etude.envs.scorers.checks:Checks",
        "rubric": "etude.envs.scorers.rubric:Rubric",
    },
    "executors": {"local": "etude.executors.local:LocalExecutor", "ray": "etude_annexes.workers.ray:RayExecutor"},
    "searches": {
        "evidence": "etude.searches.evidence:EvidenceSearch",
        "paper": "etude.published.paper:PaperSearch",
        "rewrite_first": "etude.published.rewrite_first:RewriteFirstSearch",
    },
    "sources": {
        "claude-code": "etude.sleep.transcripts.sources.record_files:ClaudeCodeTranscripts",
        "codex": "etude.sleep.transcripts.sources.record_files:CodexTranscripts",
        "copilot-cli": "etude.sleep.transcripts.sources.record_files:CopilotCliTranscripts",
        "gemini-cli": "etude.sleep.transcripts.sources.record_files:GeminiCliTranscripts",
        "opencode": "etude.sleep.transcripts.sources.opencode:OpenCodeTranscripts",
        "pi": "etude.sleep.transcripts.sources.record_files:PiTranscripts",
        "qwen-code": "etude.sleep.transcripts.sources.record_files:QwenCodeTranscripts",
    },
    "trackers": {
        "mlflow": "etude_annexes.trackers.mlflow:MLflow",
        "opentelemetry": "etude_annexes.trackers.opentelemetry:OpenTelemetry",
        "trackio": "etude_annexes.trackers.trackio:Trackio",
        "wandb": "etude_annexes.trackers.wandb:Wandb",
    },
}

_ANNEXES = "etude_annexes"
"""The package of built-ins that few need."""


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
        except ValueError:  # made of C, without a signature
            return True
        return True


_CONTRACTS: Mapping[Family, _Contract] = {
    "environments": _Contract("from_options(options, *, where, judge)", ("tasks", "score")),
    "agents": _Contract("from_options(options, target, prompts, *, where)", ("attempt",)),
    "models": _Contract("(name, settings)", ("complete",)),
    "scorers": _Contract("from_options(options, where, judge)", ("score",)),
    "executors": _Contract("from_options(options, *, concurrency, where)", ("stream", "drain", "cancel")),
    "searches": _Contract("(bench, options)", ("epoch", "finish", "most", "check")),
    "sources": _Contract("()", ("find", "read")),
    "trackers": _Contract("()", ("begin", "point", "end")),
}


def names(family: Family) -> list[str]:
    """All names of a family: built-ins and installed plugins."""
    return sorted({*BUILT_IN[family], *(point.name for point in plugins(family))})


def plugins(family: Family) -> list[EntryPoint]:
    """The entry points of a family. Nothing is imported."""
    return [*_points(family, tuple((place, _changed(place)) for place in sys.path))]


@lru_cache(maxsize=len(BUILT_IN))
def _points(family: Family, places: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """Reading them takes half of the time of a start, so they are read again only where the search path or one of its
    folders has changed."""
    return tuple(sorted(entry_points(group=f"etude.{family}"), key=lambda point: (point.name, point.value)))


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


def origin(point: EntryPoint) -> str:
    """Name and version of the package that an entry point came with."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"


def find(family: Family, name: str) -> Any:
    """The class behind a name. Imports it when asked, not before.

    A built-in wins over plugins of its name. Raises ConfigError: nothing has that name, several plugins have it,
    importing it failed, or it lacks what its family needs."""
    if name in BUILT_IN[family]:
        return _loaded(family, name, BUILT_IN[family][name], hint="install etude again")
    points = [point for point in plugins(family) if point.name == name]
    if len({point.value for point in points}) > 1:
        given = " and ".join(f"{origin(point)} ({point.value})" for point in points)
        raise ConfigError(
            f"{_one(family)} {name!r} is the name of several plugins: {given}",
            hint="give the import path of the one that is meant as the name, or uninstall the others",
        )
    if points:
        return load(family, points[0])
    if ":" not in name:
        raise ConfigError(
            f"unknown {_one(family)} {name!r}",
            hint=f"{did_you_mean(name, names(family)).removesuffix('?')}, or an import path 'package.module:Class'",
        )
    return _loaded(
        family, name, name, hint="it must be installed or in the current folder, and import without errors"
    )


def load(family: Family, point: EntryPoint) -> Any:
    """The class behind one entry point.
    Raises ConfigError: importing it failed, or it lacks what its family needs."""
    path = point.value.partition("[")[0].strip()  # what follows are extras, which decide nothing here
    if ":" not in path:
        raise ConfigError(
            f"{_one(family)} {point.name!r} has the entry point {point.value!r}, which names no class",
            hint="its package must write it as 'package.module:Class'",
        )
    return _loaded(family, point.name, path, hint=f"fix or uninstall {origin(point)}")


def _loaded(family: Family, name: str, path: str, *, hint: str) -> Any:
    """What stands at an import path, if it has what its family needs; `hint` is for a module that cannot be used."""
    where = f"{_one(family)} {name!r}"
    module, _, attribute = path.partition(":")
    failed = f"{where} cannot be loaded from {path!r}"
    try:
        # Standard output is for results: one line of a module that prints would spoil what programs read there.
        with redirect_stdout(sys.stderr):
            found = reduce(getattr, attribute.split("."), import_module(module))
    except (ImportError, AttributeError) as error:
        if isinstance(error, ImportError) and error.name == _ANNEXES:
            raise not_installed(where, f"the package {_ANNEXES!r}", "annexes") from None
        raise ConfigError(f"{failed}: {error}", hint=hint) from None
    # The boundary: the module is not ours, and running it can fail in any way, or try to end the program.
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{failed}: {type(error).__name__}: {error}", hint=hint) from error
    problem = _breach(family, found)
    if problem:
        raise ConfigError(f"{where} from {path!r} {problem}", hint="what it needs: docs/python.md#plugins")
    return found


def _one(family: Family) -> str:
    return "search policy" if family == "searches" else family.removesuffix("s")


def _breach(family: Family, found: Any) -> str:
    """What is missing from a class, empty when nothing is. A model may also be made by a function."""
    contract = _CONTRACTS[family]
    make = contract.makes(found)
    if not callable(make) or not contract.takes(make):
        return f"{'cannot be called with' if make is found else 'has no'} `{contract.made_by}`"
    if not isinstance(found, type):
        return "" if family == "models" else "is not a class"
    lacking = [name for name in contract.methods if not callable(getattr(found, name, None))]
    lacking += sorted(cast(frozenset[str], getattr(found, "__abstractmethods__", frozenset[str]())) - set(lacking))
    return f"has no `{lacking[0]}`" if lacking else ""
