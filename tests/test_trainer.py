"""The loop as a user sees it: what options change, what is reported, what objects may be given."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from etude import ChatModel, Environment, ListEnvironment, OutageStop, Reply, Skill, Task, Trainer
from etude.config import merge
from etude.errors import ConfigError, DataError, Interrupted, UnusableReply
from etude.simulation import SEED_SKILL, make_tasks
from etude.testing import ScriptedModel
from etude.workbench import StopSwitch

TASKS = make_tasks(None, 50, seed=3)
SKILL = Skill(name="everyday-tasks", text=SEED_SKILL)
PAPER: dict[str, Any] = {
    "search": {"policy": "paper", "batch_size": 10, "slow_update": True, "meta_skill": True},
    "reflect": {"mode": "shallow"},
}
"""The published loop, with all of its parts."""


def env() -> ListEnvironment:
    return ListEnvironment(TASKS[:20], TASKS[20:30], TASKS[40:], scorer="exact")


def run(folder: Path, **config: Any):
    given = config.pop("given", {})
    settings = {"train": {"epochs": 2}, "run": {"folder": str(folder)}}
    return Trainer(merge(PAPER, merge(settings, config)), **{"env": env(), "skill": SKILL, **given}).train()


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / "run" / name).read_text())


def test_a_skill_over_its_limit_is_not_evaluated(tmp_path) -> None:
    summary = run(tmp_path, skill={"max_tokens": 90}, train={"epochs": 1})
    assert (summary.accepted, summary.rejected) == (0, 0)
    assert "more than skill.max_tokens = 90" in read(tmp_path, "steps/0001/update.json")["skipped"]


def test_an_environment_needs_two_methods(tmp_path) -> None:
    class Mine(Environment):
        def tasks(self, split):
            return {"train": TASKS[:10], "val": TASKS[20:30], "test": TASKS[40:50]}[split]

        def score(self, task, trajectory):
            return trajectory.answer.casefold() == str(task.gold).casefold()

    assert run(tmp_path, given={"env": Mine()}, train={"epochs": 1}).best.test.n == 10


def test_an_environment_with_an_empty_test_split_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="the test split is empty"):
        run(tmp_path, given={"env": ListEnvironment(TASKS[:10], TASKS[20:30], scorer="exact")})
    assert not (tmp_path / "run").exists()


def test_a_given_model_answers_and_is_not_closed(tmp_path) -> None:
    target = ScriptedModel(lambda request: "<answer>?</answer>")
    summary = run(tmp_path, given={"target": target}, train={"epochs": 1})
    assert len(target.requests) >= 30
    assert not target.closed
    assert summary.initial.test.mean == 0


def test_two_runs_at_the_same_time_do_not_disturb_each_other(tmp_path) -> None:
    def trainer(name: str) -> Trainer:
        settings = {
            "train": {"epochs": 1},
            "test": {"enabled": False},
            "run": {"folder": str(tmp_path), "name": name},
        }
        return Trainer(settings, env=ListEnvironment(TASKS[:4], TASKS[20:24]), skill=SKILL)

    async def both():
        return await asyncio.gather(trainer("one").atrain(), trainer("two").atrain())

    one, two = asyncio.run(both())
    assert one.best == two.best


def test_a_run_that_is_asked_to_stop_says_what_it_has_and_goes_on_later(tmp_path) -> None:
    switch = StopSwitch()

    class StopAtStepTwo:
        def emit(self, event) -> None:
            if event.kind == "stage_started" and event.step == 2:
                switch.stop()

    with pytest.raises(Interrupted) as stop:
        run(tmp_path, given={"switch": switch, "sinks": [StopAtStepTwo()]})
    assert stop.value.summary.stopped == "interrupted"
    assert stop.value.summary.steps == 1
    assert run(tmp_path).steps == 4


def test_a_silent_optimizer_ends_the_search_and_the_run_measures_what_it_has(tmp_path) -> None:
    optimizer = ScriptedModel(lambda request: "I would rather not.")
    summary = run(tmp_path, given={"optimizer": optimizer})
    assert (summary.steps, summary.stopped, summary.verdict) == (2, None, "do not ship")
    assert summary.best.hash == summary.initial.hash
    assert summary.best.test is not None
    *_, doubt = summary.doubts
    assert doubt.what.startswith("the search ended early, at step 2")
    assert doubt.example.startswith("the optimizer gave no usable answer in 2 steps in a row: scripted:model")
    for way in ("in a fork", "optimizer.structured: json_schema, tool, prompt", "max_output_tokens"):
        assert way in doubt.todo
    assert read(tmp_path, "steps/0001/gate.json")["reason"] == "the optimizer gave no usable answer"


def test_a_rubric_is_scored_by_the_judge_and_without_one_refused_before_the_run_exists(tmp_path) -> None:
    rows = [{"id": task.id, "input": task.input, "gold": task.gold} for task in TASKS[:30]]
    data = tmp_path / "tasks.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings: dict[str, Any] = {
        "env": {"path": str(data), "ratio": [1, 1, 1], "scorer": {"name": "rubric", "rubric": "Is it right?"}},
        "train": {"epochs": 1},
        "run": {"folder": str(tmp_path / "runs")},
    }
    with pytest.raises(ConfigError, match="judge"):
        Trainer(settings).train()
    assert not (tmp_path / "runs").exists()
    assert Trainer({**settings, "judge": {"model": "simulated:judge"}}, skill=SKILL).train().cost.judge_calls > 0


class Silent(ChatModel):
    name = "silent:model"

    async def complete(self, request) -> Reply:
        raise UnusableReply("never")


def test_an_error_of_a_given_model_that_is_no_model_error_makes_the_attempt_void(tmp_path) -> None:
    with pytest.raises(Exception, match="never"):
        run(tmp_path, given={"target": Silent()})


class Lenient(Environment):
    def tasks(self, split):
        return {"train": TASKS[:10], "val": TASKS[20:30], "test": TASKS[40:50]}[split]

    def score(self, task, trajectory):
        return 0.0


class LenientToday(Lenient):
    def score(self, task, trajectory):
        return 1.0


def test_changed_scoring_code_scores_anew_without_attempting_anew(tmp_path) -> None:
    config = merge(PAPER, {"train": {"epochs": 1}, "test": {"enabled": False}})
    Trainer({**config, "run": {"folder": str(tmp_path), "name": "a"}}, env=Lenient(), skill=SKILL).train()
    again = {**config, "run": {"folder": str(tmp_path), "name": "b"}}
    summary = Trainer(again, env=LenientToday(), skill=SKILL, fork="a").train()
    assert summary.initial.val.mean == 1
    assert summary.cost.target_calls == 0


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"traget": ScriptedModel([])}, "unknown argument 'traget'\nhint: did you mean 'target'"),
        ({"target": "simulated:target"}, "target = 'simulated:target' is not a ChatModel"),
    ],
)
def test_an_object_that_cannot_be_used_is_refused(tmp_path, given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        run(tmp_path, given=given)


def test_an_ordinary_word_in_a_secret_variable_changes_no_score(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("POSTGRES_PASSWORD", "password")
    tasks = [Task(id=str(i), input=f"Say password {i}.", gold=f"password {i}") for i in range(12)]
    listed = ListEnvironment(tasks[:4], tasks[4:8], tasks[8:], scorer="exact")
    echo = ScriptedModel(lambda request: f"<answer>{request.messages[-1].text[4:-1]}</answer>")
    summary = run(tmp_path, given={"env": listed, "target": echo}, train={"epochs": 1})
    assert summary.initial.test.mean == 1


def test_an_optimizer_that_breaks_stops_the_run_and_names_itself(tmp_path) -> None:
    with pytest.raises(OutageStop, match="optimizer: KeyError: 'gone'"):
        run(tmp_path, given={"optimizer": ScriptedModel(lambda request: KeyError("gone"))})
