"""One small training against a server that misbehaves, and what has to come of it."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from http_run import make_project
from misbehaving import Asked, Behaviour, Server, misbehaving

from etude.cli.main import main

Settings = Mapping[str, Any]


class Ended(NamedTuple):
    """What became of a training."""

    code: int
    said: str
    """All that was printed, in one line."""
    result: dict[str, Any]
    """Scores, verdict and the text of the skill that is handed out; empty where there is no summary."""
    asked: dict[str, int]
    """Requests by role."""
    usd: float | None
    """What the run says that it cost."""


Expectation = Callable[[Ended, dict[str, Any]], list[str]]
"""What is wrong with an end, beside the result of a training against a good server."""


@dataclass(frozen=True)
class Row:
    """A behaviour, and what a training against it has to come to."""

    name: str
    behaviour: Behaviour
    expect: Expectation
    settings: Settings = field(default_factory=dict[str, Any])
    good: str = "chat"
    """Which training against a good server it is compared with."""


def right(*says: str, unsaid: str = "", most: int | None = None, **scores: float) -> Expectation:
    """Exit code 0 and the result of the good run.

    Args:
        says: expressions that are found in what is printed.
        unsaid: one that is not.
        most: requests to the optimizer.
        scores: a mean that differs from the good run's, as `best_test`: the behaviour takes a task away.
    """

    def problems(ended: Ended, good: dict[str, Any]) -> list[str]:
        found = _unsaid(ended, says)
        if ended.code != 0:
            found.append(f"exit code {ended.code}")
        wanted = {**good, **scores} if not scores else {**_means(good), **scores}
        got = ended.result if not scores else {name: ended.result.get(name) for name in wanted}
        if ended.code == 0 and got != wanted:
            found.append(f"wrong with exit 0: {_means(ended.result)}")
        if unsaid and re.search(unsaid, ended.said):
            found.append(f"says {unsaid!r}")
        if most is not None and ended.asked.get("optimizer", 0) > most:
            found.append(f"the optimizer was asked {ended.asked['optimizer']} times")
        return found

    return problems


def stops(*says: str, most: int | None = None) -> Expectation:
    """An exit code that is not 0, with a hint, no verdict, and at most so many requests."""

    def problems(ended: Ended, good: dict[str, Any]) -> list[str]:
        found = _unsaid(ended, (*says, "hint: "))
        if ended.code not in (1, 2, 3):
            found.append(f"exit code {ended.code}: {_means(ended.result)}")
        if ended.result.get("verdict") is not None:
            found.append("there is a verdict")
        if most is not None and sum(ended.asked.values()) > most:
            found.append(f"{sum(ended.asked.values())} requests")
        return found

    return problems


def told(*says: str) -> Expectation:
    """The model gives no usable answer at all: a stop, or no skill is handed out; and the cause is said."""

    def problems(ended: Ended, good: dict[str, Any]) -> list[str]:
        found = _unsaid(ended, says)
        if ended.code == 0 and ended.result["verdict"] == "ship":
            found.append(f"ships: {_means(ended.result)}")
        return found

    return problems


def costing(usd: float) -> Expectation:
    """As `right`, and each request cost so much."""

    def problems(ended: Ended, good: dict[str, Any]) -> list[str]:
        wanted = usd * sum(ended.asked.values())
        wrong = ended.usd is None or abs(ended.usd - wanted) > usd / 2
        return right()(ended, good) + ([f"cost {ended.usd}, not {wanted}"] if wrong else [])

    return problems


def either(*ways: Expectation) -> Expectation:
    """One of several ends is as good as another."""

    def problems(ended: Ended, good: dict[str, Any]) -> list[str]:
        found = [way(ended, good) for way in ways]
        return [] if [] in found else [" and ".join(one) for one in found]

    return problems


def _unsaid(ended: Ended, says: tuple[str, ...]) -> list[str]:
    return [f"does not say {one!r}" for one in says if not re.search(one, ended.said)]


def _means(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "skill"}


COMMON: Settings = {
    "train": {"epochs": 1},
    "search": {"policy": "paper", "batch_size": 6, "edit_budget": 12},
    "reflect": {},
    "test": {"no_skill": False},
    "limits": {"outage_seconds": 5},
}
"""28 attempts and 2 calls of the optimizer, and a skill that is clearly better."""
_MODELS = {"target": "target-steady", "optimizer": "optimizer-perfect", "judge": "judge"}


def train(folder: Path, behaviour: Behaviour, settings: Settings, printed: Callable[[], str]) -> Ended:
    """A training by the command; `printed` gives what it wrote."""
    with misbehaving(behaviour) as server:
        code = main(["train", str(_project(folder, server, settings))])
        asked = dict(server.asked)
    summary = _summary(folder)
    return Ended(
        code, " ".join(printed().split()), _result(folder, summary), asked, summary.get("cost", {}).get("usd")
    )


def _project(folder: Path, server: Server, settings: Settings) -> Path:
    more = {name: section for name, section in settings.items() if name not in (*_MODELS, "env")}
    merged = {**COMMON, **{name: {**COMMON.get(name, {}), **section} for name, section in more.items()}}
    path = make_project(folder, server.url, family="parcels", sizes=(6, 3, 8), **merged)
    config = json.loads(path.read_text())
    for role, name in _MODELS.items():
        if role == "judge" and role not in settings:
            continue
        own = {"base_url": server.url, "api_key_env": "NO_SUCH_KEY", "timeout": 5, "model": f"openai:{name}"}
        config[role] = {**own, **settings.get(role, {})}
    config["env"].update(settings.get("env", {}))
    path.write_text(json.dumps(config))
    return path


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / "runs/run/summary.json"
    return json.loads(path.read_text()) if path.exists() else {}


def _result(folder: Path, summary: dict[str, Any]) -> dict[str, Any]:
    if not summary:
        return {}
    means = {
        f"{skill}_{split}": scores and scores["mean"]
        for skill in ("initial", "best")
        for split in ("val", "test")
        for scores in [summary[skill][split]]
    }
    skill = (folder / "runs/run" / summary["best"]["skill"]).read_text()
    return {**means, "verdict": summary["verdict"], "skill": skill}


def good(asked: Asked) -> None:
    """Nothing but good answers."""
