"""Every attempt has a seed of its own. At temperature 0 and by handoff, no seed makes a further trial tell."""

from pathlib import Path
from typing import Any

import pytest

from etude.build import open_workbench
from etude.config import another_trial_tells, make_config
from etude.envs import ListEnvironment
from etude.envs.function import environment
from etude.envs.target import Target
from etude.events import Event, Notice
from etude.measure.evaluate import aevaluate_skill
from etude.protocols import Environment, Sink
from etude.records import Attempt, Skill, Task
from etude.records.tasks import for_each_target
from etude.simulation import make_tasks
from etude.simulation.endpoint import running_endpoint
from etude.simulation.service import Faults
from etude.simulation.world import best_skill
from rows import few

TASKS = make_tasks("sorting", 34, seed=1)
SPLITS = {"train": TASKS[:2], "val": TASKS[2:4], "test": TASKS[4:]}
COLD = "at temperature 0"
TARGETS = [{"model": "simulated:target", "name": name, "temperature": heat} for name, heat in (("a", 0), ("b", 1))]


def test_a_seed_is_small_and_differs_between_trials_and_tasks_but_not_between_targets() -> None:
    tasks = [Task(id=f"t{number}", input="1 + 1") for number in range(20)]
    seeds = [task.seed(trial) for task in tasks for trial in range(5)]
    assert len(set(seeds)) == 100
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert {each.seed(3) for each in for_each_target(tasks[:1], ["a", "b"])} == {tasks[0].seed(3)}


@environment(**SPLITS, scorer="exact")
async def asking(task: Task, skill: Skill, target: Target) -> str:
    said = await target.ask(task.input, system=skill.text)
    return said.rpartition("Answer: ")[2]


LISTED = ListEnvironment(**SPLITS, scorer="exact")
WAYS = [
    (LISTED, {"model": "openai:target-steady"}, "chat"),
    (LISTED, {"model": "openai:target-steady", "api": "responses"}, "chat"),
    (LISTED, {"model": "anthropic:target-steady"}, "chat"),
    (LISTED, {"model": "openai:target-steady"}, "tools"),
    (asking, {"model": "openai:target-steady"}, "chat"),
]


@pytest.mark.parametrize(("env", "target", "agent"), few(WAYS, WAYS[2], WAYS[3]))
async def test_luck_that_comes_from_the_seed_alone_is_not_that_of_all_tasks(
    tmp_path: Path, env: Environment, target: dict[str, Any], agent: str
) -> None:
    attempts: list[Attempt] = []
    with running_endpoint(faults=Faults(bad_seeds=0.5)) as endpoint:
        settings = {
            "target": {"base_url": endpoint.url, "api_key_env": "NO_SUCH_KEY", **target},
            "agent": {"name": agent},
            "run": {"folder": str(tmp_path)},
        }
        skill = Skill(text=best_skill(TASKS))
        await aevaluate_skill(make_config(settings), "test", 2, env=env, skill=skill, attempts=attempts)
    for trial in range(2):
        values = [attempt.score.hard for attempt in attempts if attempt.score and attempt.trial == trial]
        assert len(values) == 30
        assert 0.3 < sum(values) / 30 < 0.7
    tried = {(attempt.task.id, attempt.trial): attempt.solved for attempt in attempts}
    assert any(tried[task.id, 0] != tried[task.id, 1] for task in SPLITS["test"])


@pytest.mark.parametrize(
    ("settings", "silent", "where"),
    [
        ({"target": {"model": "openai:m", "temperature": 0}}, {""}, f"{COLD} a further trial"),
        ({"target": {"model": "openai:m", "temperature": 0, "send_seed": False}}, {""}, f"{COLD} a further trial"),
        ({"target": {"model": "openai:m", "api": "responses", "temperature": 0}}, {""}, f"{COLD} a further trial"),
        ({"target": {"model": "anthropic:m", "temperature": 0}}, {""}, f"{COLD} a further trial"),
        ({"target": {"model": "openai:m", "temperature": 1}}, set(), ""),
        ({"target": {"model": "openai:m", "send_seed": False}}, set(), ""),
        ({"target": {"model": "handoff:questions"}}, {""}, "by handoff a further trial"),
        ({"targets": TARGETS}, {"a"}, f"{COLD} a further trial of 'a'"),
        ({"targets": TARGETS[::-1]}, {"a"}, f"{COLD} a further trial of 'a'"),
        (
            {"targets": [TARGETS[0], {"model": "handoff:questions", "name": "b"}]},
            {"a", "b"},
            f"{COLD} and by handoff a further trial of 'a', 'b'",
        ),
        (
            {"targets": [target | {"temperature": 0} for target in TARGETS]},
            {"a", "b"},
            f"{COLD} a further trial of 'a', 'b'",
        ),
    ],
)
async def test_a_run_warns_where_a_further_trial_tells_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], silent: set[str], where: str
) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "k")
    config = make_config({**settings, "test": {"trials": 2}, "run": {"folder": str(tmp_path)}})
    said: list[Event] = []
    env = ListEnvironment(TASKS[:4], TASKS[4:8], TASKS[8:], scorer="exact")
    async with open_workbench(config, {"env": env, "sinks": [Told(said)]}) as bench:
        assert {task.target for task in bench.tasks["train"] if not another_trial_tells(config, task)} == silent
    told = [event.text for event in said if isinstance(event, Notice) and "a further trial" in event.text]
    warning = f"{where} tells nothing new about any task, with or without a seed: test.trials = 2"
    assert told == [warning] * bool(silent)


class Told(Sink):
    """Remembers what it is told."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events

    def emit(self, event: Event) -> None:
        self.events.append(event)
