"""What a night trains on and what it holds out: mined tasks, a reviewed file, tasks of earlier nights, dreams."""

import json
from pathlib import Path
from typing import Any

import pytest
from briefs_sessions import strict_checks, training_checks
from small_night import Small
from task_files import mark_reviewed

from etude.errors import BudgetStop
from etude.sleep.adoption.proposal import read_proposal, readable
from etude.sleep.report import read_report
from etude.sleep.tasks.files import write
from etude.sleep.tasks.mined import MinedTask


def sides(small: Small, night: int = 1) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for task in small.tasks(night):
        found.setdefault(task["split"], []).append(task)
    return found


def asked_of_target(small: Small, intent: str) -> int:
    """How often the target was asked that."""
    return sum(intent in text for text in small.target.answered)


def a_file(small: Small, splits: list[str], strict: tuple[str, ...] = ("val", "test")) -> Path:
    """A task file with a task for each split, on topics of their own."""
    tasks = [
        MinedTask(
            id=f"t{number}",
            intent=small.turns[number].prompt,
            checks=strict_checks("structure") if split in strict else training_checks("structure"),  # type: ignore[arg-type]
            split=split,  # type: ignore[arg-type]
        )
        for number, split in enumerate(splits)
    ]
    path = small.root / "tasks.json"
    write(path, tasks, project=str(small.project))
    mark_reviewed(path)
    return path


def test_a_file_with_sides_of_its_own_is_used_as_it_is_and_test_is_never_val(small: Small) -> None:
    report = small.night({"tasks": str(a_file(small, ["train", "train", "val", "test", "test"]))})
    assert report.status == "proposed"
    assert report.tasks == {"train": 2, "val": 1, "test": 2}
    assert report.documents[0].held_out == 1
    tests = [small.turns[3].prompt, small.turns[4].prompt]
    # Nobody is asked about a test task.
    assert [asked_of_target(small, prompt) for prompt in tests] == [0, 0]
    assert not any(prompt in text for prompt in tests for text in small.optimizer.answered)
    # It uses up no session, and nothing of it is recalled.
    assert (small.ledger(), small.state.archive.exists()) == ({}, False)


def test_a_file_that_changed_since_an_interrupted_night_begins_a_new_one(small: Small) -> None:
    sleep = {"tasks": str(a_file(small, ["train", "train", "val"]))}
    with pytest.raises(BudgetStop):
        small.night(sleep, limits={"calls": 6, "concurrency": 1})
    a_file(small, ["train", "train", "train", "val"])
    report = small.night(sleep)
    assert (report.night, report.tasks) == (2, {"train": 3, "val": 1})
    old = small.report()
    assert old.reason == "night 1 began with other settings: sleep.tasks"


@pytest.mark.parametrize("sides", [["train", "train"], ["holdout", "holdout"], ["replay", "test"]])
def test_where_nothing_is_held_out_rules_are_tried_on_their_own_tasks_and_proposed_as_not_tested(
    small: Small, sides: list[str]
) -> None:
    divided = {} if sides != ["train", "train"] else {"val_fraction": 0.0}
    report = small.night({"tasks": str(a_file(small, sides, strict=())), "auto_adopt": True, **divided})
    assert (report.status, [one.status for one in report.documents]) == ("proposed", ["unverified"])
    assert report.tasks == {"train": 2} if "test" not in sides else {"train": 1, "test": 1}
    assert any(note.startswith("nothing was held out") for note in report.notes)
    assert report.held_back[0].endswith("It was not tested on its own.")
    assert not small.skill.exists()


def test_with_the_gate_off_all_is_proposed_unverified_and_no_validation_is_paid_for(small: Small) -> None:
    report = small.night({"auto_adopt": True}, search={"gate": False})
    document = report.documents[0]
    assert (report.status, document.status, document.verdict) == ("proposed", "unverified", None)
    assert document.reason == "the gate is off: it was not tried on held-out tasks"
    assert report.held_back[0].endswith("It was not tested on its own.")
    assert not small.skill.exists()
    proposal = read_proposal(Path(report.proposal))
    assert [rule.evidence.trial for one in proposal.documents for rule in one.added] == [None]
    assert readable(proposal).startswith(".claude/skills/learned/SKILL.md: not tested: - ")
    held = [task["intent"] for task in sides(small)["val"]]
    assert [asked_of_target(small, intent) for intent in held] == [0] * len(held)


def test_with_nothing_but_test_tasks_nothing_is_attempted(small: Small) -> None:
    report = small.night({"tasks": str(a_file(small, ["test", "test"]))})
    assert (report.status, report.reason) == ("no change", "there is nothing to train on")
    assert len(small.target.answered) == 1


def test_recall_and_dreams_enlarge_training_only(tmp_path: Path) -> None:
    small = Small(tmp_path, n=8)
    small.night({"max_tasks": 5})
    assert {task["origin"] for task in small.tasks(1)} == {"real"}
    report = small.night({"dream": 1})
    by_origin: dict[str, set[str]] = {}
    for task in small.tasks(2):
        by_origin.setdefault(task["origin"], set()).add(task["split"])
    assert by_origin["recall"] == by_origin["dream"] == {"train"}
    assert {"train", "val"} >= by_origin["real"]
    held = {task["cluster"] for night in (1, 2) for task in small.tasks(night) if task["split"] != "train"}
    assert not held & {task["cluster"] for task in small.tasks(2) if task["split"] == "train"}
    assert report.sessions == {"claude-code": 3}
    archived = [json.loads(line) for line in small.state.archive.read_text().splitlines()]
    assert {task["origin"] for task in archived} == {"real"}
    assert len(archived) == 8


def auto(small: Small, **sleep: Any) -> Any:
    return small.night({"auto_adopt": True, "confirm_trials": 3, "val_fraction": 0.5, **sleep})


def test_a_proposal_that_is_settled_and_harmless_is_adopted_at_once(tmp_path: Path) -> None:
    small = Small(tmp_path, n=12)
    report = auto(small)
    assert (report.status, report.held_back, report.documents[0].verdict) == ("adopted", (), "ship")
    assert "Key Risks" in small.skill.read_text()
    assert read_report(small.state, report.night) == report


def test_a_proposal_without_a_verdict_that_settles_it_waits_and_says_why(small: Small) -> None:
    report = auto(small)
    assert (report.status, report.documents[0].verdict) == ("proposed", "inconclusive")
    assert "the verdict is 'inconclusive'" in report.held_back[0]
    assert not small.skill.exists()
