"""Validation begins beside the epoch that is probably the last one, and nothing comes of it when that is wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from skillgrad import ListEnvironment, Skill, StopRun, Task, Trainer
from skillgrad.events import Event, StageFinished, StageStarted
from skillgrad.records import ChatRequest
from skillgrad.summary import Summary
from skillgrad.testing import ScriptedModel

TRAIN = [Task(id=f"t{number}", input=f"Train {number}.", gold="yes") for number in range(6)]
VAL = [Task(id=f"v{number}", input=f"Val {number}.", gold="yes") for number in range(8)]


class Events(list[Event]):
    """All that happened, in its order."""

    def emit(self, event: Event) -> None:
        self.append(event)

    def stages(self) -> list[str]:
        """As in `+rollout 1` and `-rollout 1`, without what is of no matter here."""
        told = [
            f"{'+' if isinstance(event, StageStarted) else '-'}{event.stage} {event.step}"
            for event in self
            if isinstance(event, StageStarted | StageFinished)
        ]
        return [line for line in told if line[1:].split()[0] in ("rollout", "validation")]


class World:
    """Every training task fails until the skill has the rule, and the optimizer proposes it in this reading."""

    def __init__(self, good: int) -> None:
        self.readings = 0
        self.validated: list[str] = []
        self._good = good
        self.target = ScriptedModel(self._attempt, name="scripted:target")
        self.optimizer = ScriptedModel(self._read, name="scripted:optimizer")

    def _attempt(self, request: ChatRequest) -> str:
        skill, task = (message.text for message in request.messages)
        if task.startswith("Val"):
            self.validated.append("new" if "Rule." in skill else "old")
        return f"<answer>{'yes' if 'Rule.' in skill else 'no'}</answer>"

    def _read(self, request: ChatRequest) -> str:
        self.readings += 1
        rule = "Rule." if self.readings == self._good else f"Useless {self.readings}."
        cites = re.findall(r'<attempt id="([^"]+)"', request.messages[1].text)
        edit = {"op": "append", "target": "", "content": rule, "reason": "why", "cites": cites}
        return json.dumps({"reasoning": "because", "edits": [edit]})


def run(folder: Path, world: World, events: Events, **more: Any) -> Summary:
    return Trainer(
        {
            "train": {"epochs": 5, "batch_size": 6},
            "search": {"failures": 6},
            "test": {"enabled": False},
            "run": {"folder": str(folder)},
            **more,
        },
        env=ListEnvironment(TRAIN, VAL, scorer="exact"),
        skill=Skill(name="s", text="Answer.\n"),
        target=world.target,
        optimizer=world.optimizer,
        sinks=[events],
    ).train()


def test_it_begins_beside_the_epoch_after_one_that_brought_nothing(tmp_path) -> None:
    world, events = World(good=99), Events()
    summary = run(tmp_path, world, events)
    assert events.stages() == [
        "+rollout 1", "-rollout 1", "+validation 1", "+rollout 2", "-rollout 2", "-validation 1",
    ]  # fmt: skip
    assert (summary.best.val.mean, world.validated) == (0.0, ["old"] * len(VAL))


def test_it_is_given_up_where_a_skill_is_accepted_after_all(tmp_path) -> None:
    world, events = World(good=2), Events()
    summary = run(tmp_path, world, events, limits={"concurrency": 1})
    assert summary.best.val.mean == 1.0
    assert world.validated.count("new") == len(VAL)
    assert 0 < world.validated.count("old") <= len(VAL)
    notes = [event.note for event in events if isinstance(event, StageFinished) and event.stage == "validation"]
    assert notes == ["begun too early: the skill has changed", "1.000"]


def test_a_run_that_brings_something_in_each_epoch_validates_once(tmp_path) -> None:
    world, events = World(good=1), Events()
    run(tmp_path, world, events, train={"epochs": 2, "batch_size": 6})
    assert world.validated == ["new"] * len(VAL)
    assert events.stages()[-2:] == ["+validation 2", "-validation 2"]


@pytest.mark.parametrize("calls", [9, 14, 16, 20])
def test_a_run_that_a_budget_stops_meanwhile_goes_on_to_the_same_end(tmp_path, calls: int) -> None:
    whole = run(tmp_path / "whole", World(good=2), Events())
    world = World(good=2)
    with pytest.raises(StopRun, match=f"limits.calls = {calls}"):
        run(tmp_path / "cut", world, Events(), limits={"calls": calls})
    summary = run(tmp_path / "cut", world, Events(), limits={"calls": 200})
    assert (summary.accepted, summary.best) == (whole.accepted, whole.best)


def test_an_outage_meanwhile_stops_the_run_and_loses_nothing(tmp_path) -> None:
    """The endpoint is gone for validation tasks only, which no step of the last epoch asks for."""
    world, events = World(good=99), Events()

    def attempt(request: ChatRequest) -> str | Exception:
        return RuntimeError("gone") if request.messages[1].text.startswith("Val") else "<answer>no</answer>"

    world.target = ScriptedModel(attempt, name="scripted:target")
    with pytest.raises(StopRun, match="val attempts have no score"):
        run(tmp_path, world, events)
    assert world.readings == 2
