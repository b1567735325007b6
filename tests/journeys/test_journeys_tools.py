"""Training with the agent that has tools: attempts leave files, files are scored, and the optimizer reads it all."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from small_run import World, agrees, tree
from watched import watched_writes

from etude import ChatModel, Environment, Score, Skill, Task, Trainer
from etude.errors import ConfigError
from etude.protocols import EnvironmentTool
from etude.records import ChatRequest, Reply, Split, ToolCall, Trajectory
from etude.simulation import SEED_SKILL, make_tasks
from etude.testing.doubles import ScriptedModel

FILE = "answer.txt"
SKILL = Skill(name="everyday-tasks", text=SEED_SKILL)


class AnswerFile(Environment):
    """Tasks of the simulated world whose answers belong into a file."""

    name = "answer-file"

    def tasks(self, split: Split) -> Sequence[Task]:
        first, count = {"train": (0, 8), "val": (10, 6), "test": (20, 12)}[split]
        found = make_tasks("sorting", 40, seed=3)[first : first + count]
        return [task.model_copy(update={"input": f"{task.input}\n\nWrite the answer to {FILE}."}) for task in found]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        file = trajectory.files.get(FILE)
        got = "" if file is None else file.data.decode().strip()
        return Score(hard=got == task.gold, soft=got == task.gold, feedback=f"expected: {task.gold}; got: {got}")


def settings(folder: Path, agent: Any = "tools", concurrency: int = 16) -> dict[str, Any]:
    return {
        "run": {"folder": str(folder), "name": "run"},
        "train": {"epochs": 2},
        "test": {"no_skill": False},
        "agent": {"name": agent} if isinstance(agent, str) else agent,
        "optimizer": {"model": "simulated:optimizer", "max_concurrency": 1},
        "limits": {"concurrency": concurrency},
    }


def parts(env: Environment, target: ChatModel, optimizer: ChatModel) -> dict[str, Any]:
    return {"env": env, "skill": SKILL, "target": target, "optimizer": optimizer}


class Counting(AnswerFile):
    """Counts its attempts."""

    has_tools = True

    def __init__(self) -> None:
        self.attempts = 0

    def tools(self, task: Task) -> Sequence[EnvironmentTool]:
        self.attempts += 1
        return ()


def test_a_skill_learns_from_attempts_that_write_files_and_a_finished_run_repeats_nothing(tmp_path: Path) -> None:
    world, env = World(), Counting()
    asked: list[str] = []

    async def noted(request: ChatRequest) -> Reply:
        asked.append(request.messages[-1].text)
        return await world.optimizer.complete(request)

    optimizer = ScriptedModel(noted, name="simulated:optimizer")
    config, given = settings(tmp_path, concurrency=8), parts(env, world.target, optimizer)
    summary = Trainer(config, **given).train()
    assert summary.simulated
    assert summary.test_gain.low > 0
    reading = next(text for text in asked if "# Attempts" in text)
    assert f'[assistant calls write] {{"path": "{FILE}"' in reading
    assert f" bytes to {FILE}\n" in reading
    assert f"\n[new {FILE}, " in reading

    before, answered, attempts = tree(tmp_path), world.answered, env.attempts
    assert attempts > 0
    Trainer(config, **given).train()
    assert agrees(config, **given)
    assert (world.answered, env.attempts) == (answered, attempts)
    assert tree(tmp_path) == before


class Few(AnswerFile):
    def tasks(self, split: Split) -> Sequence[Task]:
        return super().tasks(split)[:2]


class Killed(BaseException):
    """Stands for the end of the process."""


def test_a_run_killed_within_attempts_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    config = settings(tmp_path / "killed", {"name": "tools", "tools": ["bash"]}, concurrency=1)
    config["train"] = {"epochs": 1}

    def run(folder: Path, world: World, kill_at: int = 0) -> None:
        def kill(moment: str, number: int) -> None:
            if moment == "after" and number == kill_at:
                raise Killed

        place = {"run": {"folder": str(folder), "name": "run"}}
        with watched_writes(kill):
            Trainer(config | place, **parts(Few(), world.target, world.optimizer)).train()

    whole = World()
    run(tmp_path / "whole", whole)
    place, world = tmp_path / "killed", World()
    with pytest.raises(Killed):
        run(place, world, 10)
    run(place, world)
    assert tree(place) == tree(tmp_path / "whole")
    assert world.answered == whole.answered
    assert agrees(config, **parts(Few(), world.target, world.optimizer))


class Counter(AnswerFile):
    """Brings a tool; solved when it was called twice."""

    name = "counter"
    has_tools = True

    def tools(self, task: Task) -> Sequence[EnvironmentTool]:
        count = 0

        async def press(arguments: Mapping[str, JsonValue]) -> str:
            nonlocal count
            count += 1
            return f"pressed {count} times"

        return [EnvironmentTool(name="press", description="Press.", parameters={"type": "object"}, call=press)]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        solved = any(message.text == "pressed 2 times" for message in trajectory.messages)
        return Score(hard=solved, soft=solved)


def press_twice(request: ChatRequest) -> Reply:
    done = sum(message.role == "tool" for message in request.messages)
    call = ToolCall(id=f"c{done}", name="press", arguments=json.dumps({}))
    return Reply(text="Done.") if done == 2 else Reply(tool_calls=(call,), finish="tool_calls")


def test_an_environment_brings_tools_and_scores_what_was_done_with_them(tmp_path: Path) -> None:
    target = ScriptedModel(press_twice)
    config, given = settings(tmp_path), parts(Counter(), target, World().optimizer)
    summary = Trainer(config, **given).train()
    assert agrees(config, **given)
    assert summary.initial.test.mean == 1
    assert [tool.name for tool in target.requests[0].tools] == ["bash", "read", "write", "edit", "press"]


def test_tools_for_an_agent_that_calls_none_are_refused_before_anything_is_paid_for(tmp_path: Path) -> None:
    target = ScriptedModel([])
    with pytest.raises(ConfigError, match="cannot call the tools that the environment brings"):
        Trainer(settings(tmp_path, "chat"), **parts(Counter(), target, World().optimizer)).train()
    assert target.requests == []
