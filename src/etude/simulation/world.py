"""The simulated world: one pure function from model name and request to reply."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from etude.errors import ConfigError, did_you_mean
from etude.records import ChatRequest, Reply, Task
from etude.simulation.forms import wanted_form
from etude.simulation.judge import judge
from etude.simulation.noise import Target
from etude.simulation.optimizer import optimize
from etude.simulation.optimizer.profiles import (
    GOOD,
    GULLIBLE,
    HACKER,
    MISCITING,
    PERFECT,
    POOR,
    USELESS,
    Profile,
)
from etude.simulation.optimizer.reading import Reader, read_prompt
from etude.simulation.score import best_skill, expected_hard
from etude.simulation.target import attempt

TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "target": Target(),
        "target-steady": Target(slip=0.0, harmed=1.0, steady=True),
        "target-noisy": Target(slip=0.05),
        "target-sampled": Target(sampled=True),
    }
)
OPTIMIZERS: Mapping[str, Profile] = MappingProxyType(
    {
        "optimizer": GOOD,
        "optimizer-perfect": PERFECT,
        "optimizer-poor": POOR,
        "optimizer-useless": USELESS,
        "optimizer-misciting": MISCITING,
        "optimizer-hacker": HACKER,
        "optimizer-gullible": GULLIBLE,
    }
)
JUDGE = "judge"


def names() -> tuple[str, ...]:
    """All models of the simulated world."""
    return (*TARGETS, *OPTIMIZERS, JUDGE)


def check_name(model: str) -> None:
    """Make sure that there is such a model.

    Raises:
        ConfigError: there is none.
    """
    if model not in names():
        raise ConfigError(f"unknown simulated model {model!r}", hint=did_you_mean(model, names()))


def respond(model: str, request: ChatRequest, read: Reader = read_prompt) -> Reply:
    """What the model answers. The same model and request always give the same reply. An optimizer takes the request
    apart with `read`.

    Raises:
        ConfigError: there is no such model.
    """
    check_name(model)
    if model in TARGETS:
        return attempt(TARGETS[model], request)
    form = wanted_form(request)
    if model == JUDGE or (form is not None and "score" in form.names and "edits" not in form.names):
        return judge(request)
    return optimize(OPTIMIZERS[model], request, read)


def true_score(skill_text: str, tasks: Iterable[Task], model: str = "target") -> float:
    """The exact expected `hard` of a target with this skill, mean over the tasks, in [0, 1].

    A trial can be luckier or not; this is what many trials tend to.

    Raises:
        ConfigError: no target has that name.
        ValueError: there are no tasks.
    """
    return expected_hard(_target(model), skill_text, tasks)


def best_attainable(tasks: Iterable[Task], model: str = "target") -> float:
    """The exact `true_score` that no skill exceeds on these tasks, in [0, 1].

    It is the one of a skill that states every rule of their families once and nothing else. Where a gold answer is
    wrong, another skill may exceed it.

    Raises:
        ConfigError: no target has that name.
        ValueError: there are no tasks.
    """
    known = tuple(tasks)
    return expected_hard(_target(model), best_skill(known), known)


def _target(model: str) -> Target:
    if model not in TARGETS:
        raise ConfigError(f"{model!r} is not a simulated target", hint=did_you_mean(model, TARGETS))
    return TARGETS[model]
