"""The simulated world: one pure function from model name and request to reply."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from etude.errors import ConfigError, did_you_mean
from etude.records import ChatRequest, Reply, Task
from etude.simulation.forms import wanted_form
from etude.simulation.judge import judge
from etude.simulation.noise import HARSH, Reliability, drawn
from etude.simulation.optimizer import optimize
from etude.simulation.optimizer.profiles import GOOD, PROFILES, Profile, harsh
from etude.simulation.optimizer.reading import Reader, read_prompt
from etude.simulation.score import best_skill, expected_hard
from etude.simulation.target import attempt

TARGETS: Mapping[str, Reliability] = MappingProxyType(
    {
        "target": Reliability(),
        "target-steady": Reliability(slip=0.0, harmed=1.0, steady=True),
        "target-noisy": Reliability(slip=0.05),
        "target-sampled": Reliability(sampled=True),
        "target-contrary": Reliability(contrary=0.25, seed=1),
    }
)
OPTIMIZERS: Mapping[str, Profile] = MappingProxyType(
    {"optimizer": GOOD, **{f"optimizer-{profile.name}": profile for profile in PROFILES}}
)
JUDGE = "judge"


_IN_HARSH = re.compile(r"(?P<name>[a-z-]+?)-harsh(?:-(?P<number>[1-9]\d{0,5}))?")
"""A model of the harsh world; with a number, of one whose constants are drawn by it."""


def names() -> tuple[str, ...]:
    """All models of the simulated world, except those of worlds that are drawn by a number (`target-harsh-7`)."""
    harsh = ("target", *OPTIMIZERS)
    return (*TARGETS, *OPTIMIZERS, *(f"{name}-harsh" for name in harsh), JUDGE)


def check_name(model: str) -> None:
    """Make sure that there is such a model. Raises ConfigError: there is none."""
    if not is_model(model):
        raise ConfigError(f"unknown simulated model {model!r}", hint=did_you_mean(model, names()))


def is_model(model: str) -> bool:
    """Whether the simulated world has a model of that name."""
    return model == JUDGE or is_target(model) or _profile(model) is not None


def is_target(model: str) -> bool:
    """Whether the model of that name attempts tasks."""
    return _target(model) is not None


def _target(model: str) -> Reliability | None:
    found = _IN_HARSH.fullmatch(model)
    if found is None:
        return TARGETS.get(model)
    number = found["number"]
    return (HARSH if number is None else drawn(int(number))) if found["name"] == "target" else None


def _profile(model: str) -> Profile | None:
    found = _IN_HARSH.fullmatch(model)
    if found is None:
        return OPTIMIZERS.get(model)
    profile, number = OPTIMIZERS.get(found["name"]), found["number"]
    return None if profile is None else harsh(profile, None if number is None else int(number))


def respond(model: str, request: ChatRequest, read: Reader = read_prompt) -> Reply:
    """What the model answers. The same model and request always give the same reply. An optimizer takes the request
    apart with `read`. Raises ConfigError: there is no such model."""
    check_name(model)
    target, profile = _target(model), _profile(model)
    if target is not None:
        return attempt(target, request)
    form = wanted_form(request)
    if profile is None or (form is not None and {"score", "met"} & form.names and "edits" not in form.names):
        return judge(request)
    return optimize(profile, request, read)


def true_score(skill_text: str, tasks: Iterable[Task], model: str = "target") -> float:
    """The exact expected `hard` of a target with this skill, mean over the tasks, in [0, 1].

    A trial can be luckier or not; this is what trials of many tasks tend to. At one task an untaught step goes wrong
    in all trials or in none, so that few tasks can stay above or below it.
    Raises ConfigError: no target has that name; ValueError: there are no tasks."""
    return expected_hard(_known_target(model), skill_text, tasks)


def best_attainable(tasks: Iterable[Task], model: str = "target") -> float:
    """The exact `true_score` that no skill exceeds on these tasks, in [0, 1].

    It is the one of a skill that states every rule of their families once and nothing else. Where a gold answer is
    wrong, another skill may exceed it.
    Raises ConfigError: no target has that name; ValueError: there are no tasks."""
    known = tuple(tasks)
    return expected_hard(_known_target(model), best_skill(known), known)


def _known_target(model: str) -> Reliability:
    target = _target(model)
    if target is None:
        raise ConfigError(f"{model!r} is not a simulated target", hint=did_you_mean(model, TARGETS))
    return target
