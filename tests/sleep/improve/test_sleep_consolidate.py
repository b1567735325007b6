"""`consolidate`: the skill, then the memory under the new skill, in a world where documents do what a test says."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import written

from etude import Skill, Task
from etude.errors import BudgetStop, DataError, EtudeError
from etude.protocols import Environment
from etude.records import ChatRequest, Score, Split, Trajectory
from etude.sleep.improve.consolidate import Consolidation, consolidate
from etude.sleep.improve.context import Documents
from etude.testing import ScriptedModel
from trials_sent import trial_sent

BLOCK = "<!-- etude:begin learned -->\n{}<!-- etude:end learned -->\n"
SKILL = Skill(
    name="learned",
    text="---\nname: learned\ndescription: Learnt rules.\n---\n\nWhat was learned:\n\n" + BLOCK.format(""),
)
MEMORY = Skill(name="memory", text="# Our project\r\n\r\nUse   tabs.\r\n\r\n\r\n" + BLOCK.format(""))
TRAIN = [Task(id=f"t{number}", input=f"Task {number}.") for number in range(3)]
VAL = [Task(id=f"v{number}", input=f"Task {number}.") for number in (5, 6)]
Solves = Callable[[str], bool]
"""Whether documents of this text solve the tasks."""


class World(Environment):
    def __init__(self, val: list[Task] = VAL) -> None:
        self._tasks: dict[Split, list[Task]] = {"train": TRAIN, "val": val, "test": []}

    def tasks(self, split: Split) -> list[Task]:
        return self._tasks[split]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        right = trajectory.answer == "yes"
        return Score(hard=right, soft=right, feedback="" if right else "no line says yes")


class Optimizer(ScriptedModel):
    """Writes a rule into whichever document it is shown."""

    def __init__(self, skill_rule: str, memory_rule: str = "Whatever.") -> None:
        super().__init__(self._answer, name="scripted:optimizer")
        self._rules = {True: skill_rule, False: memory_rule}

    def _answer(self, request: ChatRequest) -> str:
        rule = self._rules["What was learned" in request.messages[1].text]
        return written(request, f"- {rule}\n")


def night(
    folder: Path, solves: Solves, optimizer: Optimizer, *, val: list[Task] = VAL, **more: Any
) -> tuple[Consolidation, ScriptedModel]:
    def answer(request: ChatRequest) -> str:
        return "yes" if solves(request.messages[0].text) else "no"

    target = ScriptedModel(more.pop("answer", answer), name=more.pop("target_name", "scripted:target"))
    config = {
        "target": {"model": "scripted:target"},
        "optimizer": {"model": "scripted:optimizer"},
        "sleep": more.pop("sleep", {}),
        **more.pop("config", {}),
    }
    documents = more.pop("documents", Documents(skill=SKILL, memory=MEMORY))
    found = consolidate(World(val), documents, config, folder, target=target, optimizer=optimizer, **more)
    return found, target


def test_a_rule_that_helps_is_accepted_and_nothing_else_of_the_document_changes(tmp_path: Path) -> None:
    found, _ = night(tmp_path, lambda text: "Say yes." in text, Optimizer("Say yes."))
    skill = found.change("skill")
    assert skill is not None
    assert (skill.status, skill.baseline, skill.candidate) == ("accepted", 0.0, 1.0)
    assert skill.after.text == SKILL.text.replace(BLOCK.format(""), BLOCK.format("- Say yes.\n"))
    assert skill.confirmed is not None
    assert skill.confirmed.difference.mean == 1.0
    assert found.documents.skill == skill.after
    # The memory is tried with the new skill, which leaves it nothing to mend.
    memory = found.change("memory")
    assert memory is not None
    assert (memory.status, memory.baseline) == ("unchanged", 1.0)


def test_the_memory_is_improved_under_the_new_skill_and_keeps_every_byte_of_its_own(tmp_path: Path) -> None:
    found, target = night(tmp_path, lambda text: "Loudly." in text, Optimizer("Say nothing.", "Loudly."))
    skill, memory = found.changes
    assert (skill.status, memory.status) == ("rejected", "accepted")
    assert memory.after.text == MEMORY.text.replace(BLOCK.format(""), BLOCK.format("- Loudly.\n"))
    said = target.requests[-1].messages[0].text
    assert "Use   tabs." in said
    assert "etude:begin" not in said


def test_without_held_out_tasks_a_change_is_tried_on_its_own_tasks_and_proposed_as_not_tested(tmp_path: Path) -> None:
    found, _ = night(tmp_path, lambda text: "Say yes." in text, Optimizer("Say yes."), val=[])
    skill = found.change("skill")
    assert skill is not None
    assert (skill.status, skill.proposed) == ("unverified", True)
    assert skill.reason == "nothing was held out: it was tried on the tasks that it comes from, and is not tested"
    assert "Say yes." in skill.after.text
    assert found.documents.skill == skill.after
    assert (skill.baseline, skill.candidate, skill.confirmed) == (0, 1, None)
    useless, _ = night(tmp_path / "useless", lambda text: False, Optimizer("Say yes."), val=[])
    assert [(change.status, change.proposed) for change in useless.changes] == [("rejected", False)] * 2


def test_each_document_can_be_switched_off(tmp_path: Path) -> None:
    found, _ = night(tmp_path, lambda text: False, Optimizer("Say yes."), sleep={"skill": False})
    assert [change.place for change in found.changes] == ["memory"]
    found, _ = night(
        tmp_path / "b", lambda text: False, Optimizer("Say yes."), documents=Documents(memory=MEMORY, skill=None)
    )
    assert [change.place for change in found.changes] == ["memory"]


def test_what_was_asked_and_answered_explains_a_night_that_changed_nothing(tmp_path: Path) -> None:
    found, _ = night(tmp_path, lambda text: False, Optimizer("Say yes."), sleep={"memory": False})
    change = found.changes[0]
    assert change.status == "rejected"
    assert "candidate 0.0000 = current 0.0000" in change.reason


def test_a_consolidation_that_is_called_again_pays_nothing(tmp_path: Path) -> None:
    first, _ = night(tmp_path, lambda text: "Say yes." in text, Optimizer("Say yes."))
    again, target = night(tmp_path, lambda text: "Say yes." in text, Optimizer("Say yes."))
    assert again == first
    assert target.requests == []


def test_a_part_of_which_nothing_is_left_is_not_begun(tmp_path: Path) -> None:
    first, _ = night(tmp_path / "a", lambda text: False, Optimizer("No."), sleep={"memory": False})
    used = first.changes[0].spent.calls
    with pytest.raises(BudgetStop, match="used up by the parts of the night before"):
        night(tmp_path / "b", lambda text: False, Optimizer("No."), config={"limits": {"calls": used}})


def test_without_training_tasks_nothing_is_begun(tmp_path: Path) -> None:
    class Nothing(World):
        def tasks(self, split: Split) -> list[Task]:
            return []

    with pytest.raises(DataError, match="no training tasks"):
        consolidate(
            Nothing(),
            Documents(skill=SKILL),
            {"target": {"model": "simulated:target"}, "optimizer": {"model": "simulated:optimizer"}},
            tmp_path,
        )


def lucky(request: ChatRequest) -> str:
    """Solves the first training task at the second attempt, and all where it is told to."""
    said, asked = request.messages[0].text, request.messages[-1].text
    return "yes" if "Say yes." in said or ("Task 0." in asked and trial_sent(request, TRAIN) == 1) else "no"


def shown_tasks(request: ChatRequest) -> set[str]:
    return set(re.findall(r"Task (\d)\.", request.messages[-1].text))


def attempts_of(requests: list[ChatRequest], number: int) -> int:
    return sum(f"Task {number}." in request.messages[-1].text for request in requests)


def test_where_the_contrast_proposes_nothing_the_failures_are_read(tmp_path: Path) -> None:
    class Slow(Optimizer):
        """Has nothing to say at first."""

        def _answer(self, request: ChatRequest) -> str:
            if shown_tasks(request) == {"0"}:
                return json.dumps({"reasoning": "r", "document": "", "edits": [], "cites": []})
            return super()._answer(request)

    optimizer = Slow("Say yes.")
    three = {"train": {"epochs": 1}, "search": {"attempts": 3}}
    found, target = night(
        tmp_path, bool, optimizer, answer=lucky, config=three, sleep={"memory": False, "confirm_trials": 0}
    )
    assert found.changes[0].status == "accepted"
    assert shown_tasks(optimizer.requests[0]) == {"0"}
    assert shown_tasks(optimizer.requests[-1]) == {"0", "1", "2"}
    # The second reading is of the same attempts.
    assert attempts_of(target.requests, 1) == 3


def test_with_several_attempts_that_do_not_differ_the_failures_are_read_at_once(tmp_path: Path) -> None:
    optimizer = Optimizer("Say yes.")
    found, _ = night(
        tmp_path,
        lambda text: "Say yes." in text,
        optimizer,
        config={"search": {"attempts": 2}},
        sleep={"memory": False, "confirm_trials": 0},
    )
    assert found.changes[0].status == "accepted"
    assert shown_tasks(optimizer.requests[0]) == {"0", "1", "2"}


def test_a_change_that_makes_one_held_out_task_worse_is_rejected_though_the_mean_is_better(tmp_path: Path) -> None:
    val = [Task(id=f"v{number}", input=f"Task {number}.") for number in (5, 6, 7)]

    def answer(request: ChatRequest) -> str:
        said, asked = request.messages[0].text, request.messages[-1].text
        return "yes" if ("Task 5." in asked) != ("Say yes." in said) else "no"

    found, _ = night(tmp_path, bool, Optimizer("Say yes."), val=val, answer=answer, sleep={"memory": False})
    change = found.changes[0]
    assert change.status == "rejected"
    assert "v5" in change.reason
    assert change.baseline == pytest.approx(1 / 3)
    assert change.candidate is None
    allowed, _ = night(
        tmp_path / "allowed",
        bool,
        Optimizer("Say yes."),
        val=val,
        answer=answer,
        sleep={"memory": False, "confirm_trials": 0},
        config={"search": {"no_regression": False}},
    )
    assert allowed.changes[0].status == "accepted"


def test_a_change_that_fresh_attempts_do_not_bear_out_is_rejected(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        # Only the attempts that the gate looks at are better.
        return "yes" if "Say yes." in request.messages[0].text and trial_sent(request, (*TRAIN, *VAL)) == 0 else "no"

    found, _ = night(tmp_path, bool, Optimizer("Say yes."), answer=answer, sleep={"memory": False})
    change = found.changes[0]
    assert (change.status, change.candidate) == ("rejected", 1.0)
    assert change.reason.endswith("but fresh attempts show no gain")
    assert change.held_out.accepted  # by the gate
    assert found.documents.skill == SKILL


def test_a_target_that_never_answers_is_an_error_also_where_nothing_is_held_out(tmp_path: Path) -> None:
    with pytest.raises(EtudeError, match="no attempt has an answer") as error:
        night(
            tmp_path, bool, Optimizer("Say yes."), val=[], answer=lambda request: "", config={"train": {"epochs": 1}}
        )
    assert error.value.exit_code == 1


def test_a_document_without_a_block_changes_as_a_whole(tmp_path: Path) -> None:
    whole = Skill(name="learned", text="What was learned:\n\nNothing yet.\n")
    found, _ = night(
        tmp_path, lambda text: "Say yes." in text, Optimizer("Say yes."), documents=Documents(skill=whole)
    )
    assert found.documents.skill is not None
    assert found.documents.skill.text == "- Say yes.\n"
