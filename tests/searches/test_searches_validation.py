"""Validation begins beside the epoch that is probably the last one, and nothing comes of it when that is wrong."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Skill, StopRun, Task, Trainer
from etude.errors import RejectedRole
from etude.events import Event, StageFinished, StageStarted
from etude.records import ChatRequest
from etude.records.summary import Span, Summary
from etude.testing import ScriptedModel

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
    """Every training task fails until the skill has its rule. In each of these readings the optimizer proposes one,
    for an equal share of the tasks; the validation tasks want the first."""

    def __init__(self, *good: int) -> None:
        self.readings = 0
        self.validated: list[str] = []
        self.attempted = 0
        self._good = good
        self.target = ScriptedModel(self._attempt, name="scripted:target")
        self.optimizer = ScriptedModel(self._read, name="scripted:optimizer")

    def _attempt(self, request: ChatRequest) -> str:
        skill, task = (message.text for message in request.messages)
        rules = skill.count("Rule ")
        solved = rules > 0
        if task.startswith("Val"):
            self.validated.append("new" if solved else "old")
        else:
            self.attempted += 1
            solved = int(task[6:-1]) < rules * len(TRAIN) // len(self._good)
        return f"<answer>{'yes' if solved else 'no'}</answer>"

    def _read(self, request: ChatRequest) -> str:
        self.readings += 1
        rule = f"{'Rule' if self.readings in self._good else 'Useless'} {self.readings}."
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
    world, events = World(99), Events()
    summary = run(tmp_path, world, events)
    assert events.stages() == [
        "+rollout 1", "-rollout 1", "+validation 1", "+rollout 2", "-rollout 2", "-validation 1",
    ]  # fmt: skip
    assert (summary.best.val.mean, world.validated) == (0.0, ["old"] * len(VAL))


def test_it_is_given_up_where_a_skill_is_accepted_after_all(tmp_path) -> None:
    world, events = World(2), Events()
    summary = run(tmp_path, world, events, limits={"concurrency": 1})
    assert summary.best.val.mean == 1.0
    assert world.validated.count("new") == len(VAL)
    assert 0 < world.validated.count("old") <= len(VAL)
    notes = [event.note for event in events if isinstance(event, StageFinished) and event.stage == "validation"]
    assert notes == ["discarded: the skill has changed", "1.000"]


def test_a_run_that_brings_something_in_each_epoch_validates_once(tmp_path) -> None:
    world, events = World(1), Events()
    run(tmp_path, world, events, train={"epochs": 2, "batch_size": 6})
    assert world.validated == ["new"] * len(VAL)
    assert events.stages()[-2:] == ["+validation 2", "-validation 2"]


@pytest.mark.parametrize("calls", [9, 14, 16, 20])
def test_a_run_that_a_budget_stops_meanwhile_goes_on_to_the_same_end(tmp_path, calls: int) -> None:
    whole = run(tmp_path / "whole", World(2), Events())
    world = World(2)
    with pytest.raises(StopRun, match=f"limits.calls = {calls}"):
        run(tmp_path / "cut", world, Events(), limits={"calls": calls})
    summary = run(tmp_path / "cut", world, Events(), limits={"calls": 200})
    assert (summary.accepted, summary.best) == (whole.accepted, whole.best)


def test_an_outage_meanwhile_stops_the_run_and_loses_nothing(tmp_path) -> None:
    """The endpoint is gone for validation tasks only, which no step of the last epoch asks for."""
    world, events = World(99), Events()

    def attempt(request: ChatRequest) -> str | Exception:
        return RuntimeError("gone") if request.messages[1].text.startswith("Val") else "<answer>no</answer>"

    world.target = ScriptedModel(attempt, name="scripted:target")
    with pytest.raises(StopRun, match="val attempts errored"):
        run(tmp_path, world, events)
    assert world.readings == 2


def test_a_stop_meanwhile_begins_no_further_attempts(tmp_path) -> None:
    """The optimizer's key is refused while the first of the validation attempts is under way."""
    world, begun = World(99), list[str]()
    attempt, read = world._attempt, world._read

    async def slowly(request: ChatRequest) -> str:
        if request.messages[1].text.startswith("Val"):
            begun.append(request.messages[1].text)
            await asyncio.sleep(0.3)
        return attempt(request)

    world.target = ScriptedModel(slowly, name="scripted:target")
    world.optimizer = ScriptedModel(
        lambda request: RejectedRole("no such key") if world.readings else read(request), name="scripted:optimizer"
    )
    with pytest.raises(StopRun, match="no such key"):
        run(tmp_path, world, Events(), limits={"concurrency": 1})
    assert len(begun) == 1


def test_a_finished_run_that_gave_one_up_costs_nothing_when_it_is_started_again(tmp_path) -> None:
    first = run(tmp_path, World(2), Events(), limits={"concurrency": 2})
    world = World(2)
    again = run(tmp_path, world, Events(), limits={"concurrency": 2})
    assert again.cost.target_calls == first.cost.target_calls
    assert (world.attempted, world.validated, world.readings) == (0, [], 0)


def test_it_begins_too_early_once_at_most_and_the_forecast_says_so(tmp_path) -> None:
    world, events = World(2, 4, 6), Events()
    summary = run(tmp_path, world, events, train={"epochs": 8, "batch_size": 6}, limits={"concurrency": 1})
    assert summary.accepted == 3
    assert [line for line in events.stages() if line.startswith("+validation")] == ["+validation 1", "+validation 8"]
    assert world.validated.count("new") == len(VAL)


@pytest.mark.parametrize(("epochs", "most"), [(1, 1), (2, 2), (8, 2)])
def test_the_forecast_knows_that_it_may_begin_too_early(tmp_path, epochs: int, most: int) -> None:
    summary = run(tmp_path, World(99), Events(), train={"epochs": epochs, "batch_size": 6})
    assert summary.forecast is not None
    validation = next(stage for stage in summary.forecast.stages if stage.name == "validation")
    assert validation.attempts == Span(low=len(VAL), high=most * len(VAL))
