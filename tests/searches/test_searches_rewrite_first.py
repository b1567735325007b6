"""`search.policy: rewrite_first`, in a world where skills do what a test says."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skillgrad import Skill, Task, Trainer, make_config
from skillgrad.build import Past
from skillgrad.errors import IdentityError
from skillgrad.prompts import Prompts
from skillgrad.protocols import Environment
from skillgrad.records import ChatRequest, Edit, LedgerEntry, Score, Split, Trajectory
from skillgrad.summary import Summary
from skillgrad.testing import ScriptedModel

TASKS = [Task(id=f"t{number}", input=f"Task {number}.", gold="yes", type="kind") for number in range(4)]
HELD_OUT = [Task(id=f"v{number}", input=f"Task {number}.", gold="yes", type="kind") for number in (7, 8)]
Solves = Callable[[int, str, int], bool]
"""Whether the target solves the task of a number with a skill of this text in a trial."""


def target(solves: Solves) -> ScriptedModel:
    def answer(request: ChatRequest) -> str:
        skill, task = (message.text for message in request.messages)
        right = solves(int(re.findall(r"Task (\d)\.", task)[0]), skill, request.seed or 0)
        return f"<answer>{'yes' if right else 'no'}</answer>"

    return ScriptedModel(answer, name="scripted:target")


class Optimizer(ScriptedModel):
    """Returns the document, when one is asked for, and else the edits' rule. `asked` are names of the prompts."""

    def __init__(self, document: str, rule: str = "") -> None:
        super().__init__(self._answer, name="scripted:optimizer")
        self.asked: list[str] = []
        self.told: list[str] = []
        self._document, self._rule = document, rule

    def _answer(self, request: ChatRequest) -> str:
        prompts, told = Prompts(), request.messages[0].text
        self.told.append(told)
        names = ("reflect_deep", "reflect_failures", "merge_failures", "merge_final", "select")
        self.asked.append(next((name for name in names if told.startswith(prompts[name])), "other"))
        cites = re.findall(r'<attempt id="([^"]+)"', request.messages[1].text)
        if prompts["return_document"] in told:
            return json.dumps({"reasoning": "because", "document": self._document, "cites": cites})
        edits = [{"op": "append", "target": "", "content": self._rule, "reason": "why", "cites": cites}]
        return json.dumps({"reasoning": "because", "edits": edits if self._rule else []})


def run(
    folder: Path, solves: Solves, optimizer: Optimizer, *, val: bool = True, past: Past | None = None, **config: Any
) -> Summary:
    settings = {
        "train": {"epochs": 3, **config.pop("train", {})},
        "search": {"policy": "rewrite_first"},
        "reflect": {"mode": "shallow", "failure_only": True, **config.pop("reflect", {})},
        "test": {"enabled": False},
        "run": {"folder": str(folder)},
        **config,
    }
    env = World(HELD_OUT if val else [])
    given: dict[str, Any] = {"past": past} if past else {}
    return Trainer(
        settings, env=env, target=target(solves), optimizer=optimizer, skill=Skill(text="Be brief.\n"), **given
    ).train()


class World(Environment):
    """May have no validation tasks."""

    warnings = ()

    def __init__(self, val: list[Task]) -> None:
        self._tasks: dict[Split, list[Task]] = {"train": TASKS, "val": val, "test": []}

    def tasks(self, split: Split) -> list[Task]:
        return self._tasks[split]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        right = trajectory.answer == task.gold
        return Score(hard=right, soft=right, feedback="" if right else "not what was wanted")


def view(folder: Path, name: str) -> Any:
    return json.loads((folder / "run" / name).read_text())


def best(folder: Path) -> str:
    return (folder / "run/best/skill/SKILL.md").read_text()


def test_one_rewrite_that_solves_validation_is_all_that_is_paid_for(tmp_path: Path) -> None:
    optimizer = Optimizer("Always say yes.")
    summary = run(tmp_path, lambda number, skill, trial: "Always" in skill, optimizer)
    assert best(tmp_path).strip() == "Always say yes."
    assert (summary.accepted, summary.steps) == (1, 2)
    assert optimizer.asked == ["reflect_failures"]
    # Baseline, training, candidate; then training once more, which tells that nothing fails.
    assert summary.cost.target_calls == 2 + 4 + 2 + 4


def test_where_the_rewrite_does_not_suffice_edits_follow(tmp_path: Path) -> None:
    optimizer = Optimizer("Say maybe.", "Always say yes.")
    summary = run(tmp_path, lambda number, skill, trial: "Always" in skill, optimizer)
    assert summary.rejected == 1
    assert summary.accepted == 1
    assert best(tmp_path) == "Be brief.\n\nAlways say yes.\n"


def test_nothing_is_attempted_in_training_when_there_is_nothing_to_gain(tmp_path: Path) -> None:
    optimizer = Optimizer("Say maybe.")
    summary = run(tmp_path, lambda number, skill, trial: True, optimizer)
    assert (summary.cost.target_calls, summary.cost.optimizer_calls) == (2, 0)
    assert view(tmp_path, "held_out.json")["reason"] == "every validation task is solved already"


def test_two_epochs_that_bring_nothing_end_it(tmp_path: Path) -> None:
    optimizer = Optimizer("Say maybe.", "Say perhaps.")
    summary = run(tmp_path, lambda number, skill, trial: False, optimizer, train={"epochs": 9})
    assert (summary.steps, summary.rejected) == (2, 2)


def test_held_out_tasks_are_shown_with_what_was_answered_and_why_it_counts_so(tmp_path: Path) -> None:
    run(tmp_path, lambda number, skill, trial: "Always" in skill, Optimizer("Say maybe."), train={"epochs": 1})
    held_out = view(tmp_path, "held_out.json")
    assert [shown["task"] for shown in held_out["initial"]] == ["v7", "v8"]
    assert {shown["response"] for shown in held_out["candidate"]} == {"no"}
    assert {shown["hard"] for shown in held_out["candidate"]} == {0.0}
    assert all(shown["why"] for shown in held_out["candidate"])
    assert held_out["accepted"] is False
    assert "candidate 0.0000 = current 0.0000" in held_out["reason"]
    assert [json.loads(reply)["document"] for reply in held_out["optimizer_replies"]] == ["Say maybe."]


@pytest.mark.parametrize("why", ["no validation tasks", "gate off"])
def test_without_validation_every_change_is_accepted_and_nothing_is_evaluated(tmp_path: Path, why: str) -> None:
    more = {"gate": {"enabled": False}} if why == "gate off" else {}
    optimizer = Optimizer("Always say yes.")
    summary = run(
        tmp_path,
        lambda number, skill, trial: "Always" in skill,
        optimizer,
        val=why == "gate off",
        train={"epochs": 1},
        **more,
    )
    assert summary.cost.target_calls == len(TASKS)
    assert summary.best.val is None
    assert best(tmp_path).strip() == "Always say yes."
    assert view(tmp_path, "held_out.json")["reason"] == "accepted without validation"


def test_attempts_that_differ_at_the_same_task_are_read_side_by_side(tmp_path: Path) -> None:
    optimizer = Optimizer("Always say yes.")
    run(
        tmp_path,
        lambda number, skill, trial: "Always" in skill or (number == 2 and trial == 1),
        optimizer,
        train={"attempts": 2, "epochs": 1},
    )
    assert optimizer.asked[0] == "reflect_deep"
    question = optimizer.requests[0].messages[1].text
    assert "Task 2." in question
    assert "Task 1." not in question


def test_where_no_attempts_differ_the_failures_are_read_as_they_are(tmp_path: Path) -> None:
    optimizer = Optimizer("Always say yes.")
    summary = run(
        tmp_path, lambda number, skill, trial: "Always" in skill, optimizer, train={"attempts": 3, "epochs": 1}
    )
    assert optimizer.asked[0] == "reflect_failures"
    assert summary.cost.target_calls == 2 + 3 * 4 + 2


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
        train={"attempts": 2, "epochs": 1},
    )
    assert optimizer.asked == ["reflect_deep", "reflect_failures"]
    assert best(tmp_path).strip() == "Always say yes."


def test_a_candidate_that_loses_one_task_is_rejected_when_none_may_get_worse(tmp_path: Path) -> None:
    def better(number: int, skill: str, trial: int) -> bool:
        return number in (8, 9) if "Always" in skill else number == 7

    for strict in (False, True):
        summary = Trainer(
            {
                "train": {"epochs": 1},
                "search": {"policy": "rewrite_first"},
                "gate": {"no_regression": strict},
                "test": {"enabled": False},
                "run": {"folder": str(tmp_path), "name": f"strict-{strict}"},
            },
            env=World([*HELD_OUT, Task(id="v9", input="Task 9.", gold="yes")]),
            target=target(better),
            optimizer=Optimizer("Always say yes."),
            skill=Skill(text="Be brief.\n"),
        ).train()
        assert summary.accepted == (0 if strict else 1)
    gate = json.loads((tmp_path / "strict-True/steps/0001/gate.json").read_text())
    assert gate["reason"] == (
        "candidate 0.6667 > current 0.3333, but 1 of 3 tasks score lower, and gate.no_regression is set: 'v7'"
    )


def test_house_rules_go_to_the_optimizer_with_every_call(tmp_path: Path) -> None:
    optimizer = Optimizer("Say maybe.", "Say perhaps.")
    run(tmp_path, lambda *_: False, optimizer, reflect={"preferences": "Write British English."})
    assert len(optimizer.told) >= 2
    assert all("Write British English." in told for told in optimizer.told)


def test_what_earlier_searches_tried_is_shown_to_the_optimizer_and_counts_for_the_identity(tmp_path: Path) -> None:
    entry = LedgerEntry(step=1, edit=Edit(op="append", content="Say nay."), fate="applied", accepted=False)
    optimizer = Optimizer("Say maybe.")
    run(tmp_path, lambda *_: False, optimizer, past=Past(ledger=[entry]), train={"epochs": 1})
    assert "Say nay." in optimizer.requests[0].messages[1].text
    with pytest.raises(IdentityError, match="past"):
        run(tmp_path, lambda *_: False, optimizer, train={"epochs": 1})


def test_a_finished_run_calls_nobody(tmp_path: Path) -> None:
    def solves(number: int, skill: str, trial: int) -> bool:
        return "Always" in skill

    run(tmp_path, solves, Optimizer("Say maybe.", "Always say yes."))
    again = Optimizer("never", "asked")
    run(tmp_path, solves, again)
    assert again.asked == []


def test_settings_that_only_it_reads_are_named_with_other_policies() -> None:
    assert list(make_config({"train": {"attempts": 2}}).unused()) == ["train.attempts"]
    assert list(make_config({"train": {"attempts": 2}, "search": {"policy": "rewrite_first"}}).unused()) == []
    assert "gate.no_regression" in list(make_config({"gate": {"no_regression": True}}).unused())
