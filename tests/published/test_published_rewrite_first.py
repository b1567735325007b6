"""`search.policy: rewrite_first`, in a world where skills do what a test says."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from etude import Skill, Task, Trainer
from etude.config import merge
from etude.errors import RejectedRequest
from etude.prompts import Prompts
from etude.protocols import Environment
from etude.records import ChatRequest, Reply, Score, Split, Trajectory, digest
from etude.records.summary import Summary
from etude.sleep.improve.held_out import HeldOutObserver
from etude.testing import ScriptedModel
from etude.workbench import Observer
from trials_sent import trial_sent

TASKS = [Task(id=f"t{number}", input=f"Task {number}.", gold="yes", type="kind") for number in range(4)]
*HELD_OUT, V9 = [Task(id=f"v{number}", input=f"Task {number}.", gold="yes", type="kind") for number in (7, 8, 9)]
Solves = Callable[[int, str, int], bool]
"""Whether the target solves the task of a number with a skill of this text in a trial."""


def target(solves: Solves) -> ScriptedModel:
    def answer(request: ChatRequest) -> str:
        skill, task = (message.text for message in request.messages)
        right = solves(int(re.findall(r"Task (\d)\.", task)[0]), skill, trial_sent(request, (*TASKS, *HELD_OUT, V9)))
        return f"<answer>{'yes' if right else 'no'}</answer>"

    return ScriptedModel(answer, name="scripted:target")


class Optimizer(ScriptedModel):
    """Returns the document, when one is asked for, and else the edits' rule. `asked` are names of the prompts."""

    def __init__(self, document: str, rule: str = "") -> None:
        super().__init__(self._answer, name="scripted:optimizer")
        self.asked: list[str] = []
        self.reported: list[str] = []
        self._document, self._rule = document, rule

    def _answer(self, request: ChatRequest) -> str:
        prompts, reported = Prompts(), request.messages[0].text
        self.reported.append(reported)
        names = ("reflect_deep", "reflect_failures", "merge_failures", "merge_final", "select")
        self.asked.append(next((name for name in names if reported.startswith(prompts[name])), "other"))
        cites = re.findall(r'<attempt id="([^"]+)"', request.messages[1].text)
        if prompts["return_document"] in reported:
            return json.dumps({"reasoning": "because", "document": self._document, "cites": cites})
        edits = [{"op": "append", "target": "", "content": self._rule, "reason": "why", "cites": cites}]
        return json.dumps({"reasoning": "because", "edits": edits if self._rule else []})


def run(
    folder: Path,
    solves: Solves | ScriptedModel,
    optimizer: Optimizer,
    *,
    val: bool = True,
    observer: Observer | None = None,
    **config: Any,
) -> Summary:
    env, skill = config.pop("env", None) or World(HELD_OUT if val else []), config.pop("skill", "Be brief.\n")
    settings = {
        "train": {"epochs": 3},
        "search": {"policy": "rewrite_first", "failure_only": True},
        "reflect": {"mode": "shallow"},
        "test": {"enabled": False},
        "run": {"folder": str(folder)},
    }
    given: dict[str, Any] = {"observer": observer} if observer else {}
    return Trainer(
        merge(settings, config),
        env=env,
        target=solves if isinstance(solves, ScriptedModel) else target(solves),
        optimizer=optimizer,
        skill=Skill(text=skill),
        **given,
    ).train()


class World(Environment):
    """May have no validation tasks."""

    warnings = ()

    def __init__(self, val: list[Task], train: list[Task] = TASKS) -> None:
        self._tasks: dict[Split, list[Task]] = {"train": train, "val": val, "test": []}

    def tasks(self, split: Split) -> list[Task]:
        return self._tasks[split]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        right = trajectory.answer == task.gold
        return Score(hard=right, soft=right, feedback="" if right else "not what was wanted")


def view(folder: Path, name: str) -> Any:
    return json.loads((folder / "run" / name).read_text())


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "run/events.jsonl").read_text().splitlines()]


def best(folder: Path) -> str:
    return (folder / "run/best/skill/SKILL.md").read_text()


def test_once_validation_is_solved_training_tasks_that_fail_cost_nothing_more(tmp_path: Path) -> None:
    optimizer = Optimizer("Say maybe.", "Always say yes.")
    summary = run(
        tmp_path,
        lambda number, skill, trial: "Always" in skill and number != 0,
        optimizer,
        train={"epochs": 4},
        search={"batch_size": 2},
    )
    # The second epoch ends with its first step, and there is no third one.
    assert (summary.accepted, summary.steps) == (1, 2)
    assert best(tmp_path) == "Be brief.\n\nAlways say yes.\n"


def test_nothing_is_attempted_in_training_when_there_is_nothing_to_gain(tmp_path: Path) -> None:
    optimizer = Optimizer("Say maybe.")
    summary = run(tmp_path, lambda number, skill, trial: True, optimizer)
    assert (summary.cost.target_calls, summary.cost.optimizer_calls) == (2, 0)


def test_epochs_that_bring_nothing_do_not_end_it(tmp_path: Path) -> None:
    optimizer = Optimizer("Say maybe.", "Say perhaps.")
    summary = run(tmp_path, lambda number, skill, trial: False, optimizer, train={"epochs": 4})
    assert summary.steps == 4
    assert summary.accepted == 0


@pytest.mark.parametrize("why", ["no validation tasks", "gate off"])
def test_without_validation_training_ends_once_every_training_task_is_solved(tmp_path: Path, why: str) -> None:
    more = {"gate": False} if why == "gate off" else {}
    summary = run(
        tmp_path,
        lambda number, skill, trial: "Always" in skill,
        Optimizer("Always say yes."),
        val=why == "gate off",
        train={"epochs": 8},
        search={**more, "batch_size": 2},
    )
    # The rewrite, and both batches of the epoch that sees it solve everything.
    assert (summary.steps, summary.cost.target_calls) == (3, 2 * len(TASKS))


def test_without_validation_one_solved_batch_does_not_end_training(tmp_path: Path) -> None:
    summary = run(
        tmp_path,
        lambda number, skill, trial: number != 0,
        Optimizer("Say maybe."),
        val=False,
        train={"epochs": 3},
        search={"batch_size": 1},
    )
    assert summary.steps == 1 + 2 * len(TASKS)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_validation_training_ends_once_the_same_skill_solves_every_task(tmp_path: Path, seed: int) -> None:
    tried = dict[str, set[int]]()

    def solves(number: int, skill: str, trial: int) -> bool:
        tried.setdefault(skill, set()).add(number)
        return number != 0 or "Mended." in skill

    train, one = {"epochs": 9, "seed": seed}, {"batch_size": 1}
    run(tmp_path, solves, Optimizer("Say maybe.", "Mended."), val=False, train=train, search=one)
    assert [numbers for skill, numbers in tried.items() if "Mended." in skill] == [{0, 1, 2, 3}]


def test_attempts_that_differ_at_the_same_task_are_read_side_by_side(tmp_path: Path) -> None:
    optimizer = Optimizer("Always say yes.")
    run(
        tmp_path,
        lambda number, skill, trial: "Always" in skill or (number == 2 and trial == 1),
        optimizer,
        train={"epochs": 1},
        search={"attempts": 2},
    )
    assert optimizer.asked[0] == "reflect_deep"
    question = optimizer.requests[0].messages[1].text
    assert "Task 2." in question
    assert "Task 1." not in question


def test_where_no_attempts_differ_the_failures_are_read_as_they_are(tmp_path: Path) -> None:
    optimizer = Optimizer("Always say yes.")
    summary = run(
        tmp_path,
        lambda number, skill, trial: "Always" in skill,
        optimizer,
        train={"epochs": 1},
        search={"attempts": 3},
    )
    assert optimizer.asked[0] == "reflect_failures"
    assert summary.cost.target_calls == 2 + 3 * 4 + 2
    assert summary.voids == 0


def test_contrast_that_proposes_nothing_falls_back_to_the_failures(tmp_path: Path) -> None:
    class Silent(Optimizer):
        def _answer(self, request: ChatRequest) -> str:
            reply = super()._answer(request)
            return reply if self.asked[-1] != "reflect_deep" else json.dumps(json.loads(reply) | {"document": ""})

    optimizer = Silent("Always say yes.")
    run(
        tmp_path,
        lambda number, skill, trial: "Always" in skill or (number == 2 and trial == 1),
        optimizer,
        train={"epochs": 1},
        search={"attempts": 2},
    )
    assert optimizer.asked == ["reflect_deep", "reflect_failures"]
    assert best(tmp_path).strip() == "Always say yes."
    assert [len(reading["patch"]["edits"]) for reading in view(tmp_path, "steps/0001/patches.json")] == [0, 1]
    begun = [event for event in events(tmp_path) if event.get("stage") == "rollout" and "total" in event]
    assert [event["total"] for event in begun] == [2 * len(TASKS)]


def test_attempts_at_the_same_task_do_not_wait_for_each_other(tmp_path: Path) -> None:
    most = under_way = 0

    async def slowly(request: ChatRequest) -> str:
        nonlocal most, under_way
        under_way += 1
        most = max(most, under_way)
        for _ in range(50):
            await asyncio.sleep(0)
        under_way -= 1
        return "<answer>no</answer>"

    model = ScriptedModel(slowly, name="scripted:target")
    run(tmp_path, model, Optimizer("Say maybe."), train={"epochs": 1}, search={"attempts": 3})
    assert most > len(TASKS)


def test_what_lost_a_race_is_not_attempted_for_the_report(tmp_path: Path) -> None:
    def worse(number: int, skill: str, trial: int) -> bool:
        return number == 8 and "Always" not in skill

    observer = HeldOutObserver()
    one = {"limits": {"concurrency": 1}, "train": {"epochs": 1}}
    summary = run(tmp_path, worse, Optimizer("Always say yes."), observer=observer, **one)
    # The candidate fails the first of two tasks, the one that it could have gained.
    assert view(tmp_path, "steps/0001/gate.json")["verdict"]["decided_after"] == 1
    assert summary.cost.target_calls == 2 + 4 + 1
    assert (len(observer.found.before), observer.found.after, observer.found.accepted) == (2, {}, False)


def test_a_held_out_task_that_had_no_score_is_shown_so_and_not_attempted_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def once_gone(request: ChatRequest) -> str | Exception:
        asked.append(request.messages[1].text)
        gone = "Task 7." in asked[-1] and sum("Task 7." in text for text in asked) == 1
        return RejectedRequest("gone") if gone else "<answer>no</answer>"

    model = ScriptedModel(once_gone, name="scripted:target")
    observer = HeldOutObserver()
    run(tmp_path, model, Optimizer(""), train={"epochs": 1}, limits={"max_void_eval": 0.5}, observer=observer)
    assert sum("Task 7." in text for text in asked) == 1
    assert list(observer.found.before) == ["v8"]


def test_the_report_is_the_same_whatever_came_first(tmp_path: Path) -> None:
    class Turned(Optimizer):
        """Each question has an answer of its own; some take longer where `slow` says so."""

        def __init__(self, slow: int) -> None:
            super().__init__("Say maybe.")
            self._slow = slow

        async def complete(self, request: ChatRequest) -> Reply:
            reply = await super().complete(request)
            for _ in range(1 + 200 * (len(self.requests) % 5 == self._slow)):
                await asyncio.sleep(0)
            said = json.loads(reply.text) | {"reasoning": digest([message.text for message in request.messages])}
            return reply.model_copy(update={"text": json.dumps(said)})

    many = [Task(id=f"m{number}", input=f"Number {number}.", gold="yes") for number in range(40)]
    texts: list[str] = []
    for slow in (0, 3):
        observer = HeldOutObserver()
        world = World(HELD_OUT, many)
        model = ScriptedModel(lambda request: "<answer>no</answer>", name="scripted:target")
        one = {"train": {"epochs": 1}, "search": {"minibatch_size": 1}}
        run(tmp_path / str(slow), model, Turned(slow), env=world, observer=observer, **one)
        texts.append(observer.found.model_dump_json())
    assert texts[0] == texts[1]


def test_a_candidate_that_loses_one_task_is_rejected_when_none_may_get_worse(tmp_path: Path) -> None:
    def better(number: int, skill: str, trial: int) -> bool:
        return number in (8, 9) if "Always" in skill else number == 7

    for strict in (False, True):
        summary = Trainer(
            {
                "train": {"epochs": 1},
                "search": {"policy": "rewrite_first", "no_regression": strict},
                "test": {"enabled": False},
                "run": {"folder": str(tmp_path), "name": f"strict-{strict}"},
            },
            env=World([*HELD_OUT, V9]),
            target=target(better),
            optimizer=Optimizer("Always say yes."),
            skill=Skill(text="Be brief.\n"),
        ).train()
        assert summary.accepted == (0 if strict else 1)
    gate = json.loads((tmp_path / "strict-True/steps/0001/gate.json").read_text())
    assert gate["reason"] == (
        "candidate 0.6667 > current 0.3333, but 1 of 3 tasks score lower, and search.no_regression is set: 'v7'"
    )


def test_house_rules_go_to_the_optimizer_with_every_call(tmp_path: Path) -> None:
    optimizer = Optimizer("Say maybe.", "Say perhaps.")
    run(tmp_path, lambda *_: False, optimizer, reflect={"preferences": "Write British English."})
    assert len(optimizer.reported) >= 2
    assert all("Write British English." in reported for reported in optimizer.reported)


def test_a_finished_run_calls_nobody(tmp_path: Path) -> None:
    def solves(number: int, skill: str, trial: int) -> bool:
        return "Always" in skill

    run(tmp_path, solves, Optimizer("Say maybe.", "Always say yes."))
    again = Optimizer("never", "asked")
    run(tmp_path, solves, again)
    assert again.asked == []
