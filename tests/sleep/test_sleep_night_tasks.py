"""What a night trains on and what it holds out: mined tasks, a reviewed file, tasks of earlier nights, dreams."""

import json
from pathlib import Path
from typing import Any

import pytest
from briefs_sessions import strict_checks, training_checks
from small_night import MODELS, Counted, Small
from task_files import mark_reviewed

from etude.envs.scorers.checks import Check
from etude.errors import BudgetStop, DataError
from etude.records import ChatRequest, Reply
from etude.sleep.adoption.proposal import read_proposal
from etude.sleep.night import read_report
from etude.sleep.tasks.files import read, write
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.tasks.probe import SLOW


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path)


def sides(small: Small, night: int = 1) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for task in small.tasks(night):
        found.setdefault(task["split"], []).append(task)
    return found


def asked_of_target(small: Small, intent: str) -> int:
    """How often the target was asked that."""
    return sum(intent in text for text in small.target.answered)


def a_file(small: Small, splits: list[str], *, reviewed: bool = True) -> Path:
    """A task file with a task for each split, on topics of their own."""
    tasks = [
        MinedTask(
            id=f"t{number}",
            intent=small.turns[number].prompt,
            checks=strict_checks("structure") if split != "train" else training_checks("structure"),  # type: ignore[arg-type]
            split=split,  # type: ignore[arg-type]
        )
        for number, split in enumerate(splits)
    ]
    path = small.root / "tasks.json"
    write(path, tasks, project=str(small.project))
    if reviewed:
        mark_reviewed(path)
    return path


def test_a_task_file_nobody_has_reviewed_is_refused_and_nothing_is_paid_for(small: Small) -> None:
    path = a_file(small, ["train"] * 4, reviewed=False)
    with pytest.raises(DataError) as error:
        small.night({"tasks": str(path)})
    assert "no person has reviewed these tasks" in error.value.message
    assert small.answered == 0
    assert small.state.numbers() == []


def test_the_tasks_of_a_file_without_sides_are_divided(small: Small) -> None:
    report = small.night({"tasks": str(a_file(small, ["train"] * 6))})
    assert (report.status, report.sessions) == ("proposed", {})
    assert sum(report.tasks.values()) == 6
    assert min(report.tasks["train"], report.tasks["val"]) > 0


def test_a_file_with_sides_of_its_own_is_used_as_it_is_and_test_is_never_val(small: Small) -> None:
    report = small.night({"tasks": str(a_file(small, ["train", "train", "val", "test", "test"]))})
    assert report.status == "proposed"
    assert report.tasks == {"train": 2, "val": 1, "test": 2}
    assert report.test is not None
    assert report.test.mean == 1
    tests = [small.turns[3].prompt, small.turns[4].prompt]
    # Each test task is attempted once, at the end, and no optimizer ever sees it.
    assert [asked_of_target(small, prompt) for prompt in tests] == [1, 1]
    assert not any(prompt in text for prompt in tests for text in small.optimizer.answered)
    diagnosed = json.loads((small.state.night(1) / "diagnostics.json").read_text())
    assert {shown["task"] for one in diagnosed["documents"] for shown in one["after"]} == {"t2"}


def test_a_task_whose_mined_pattern_takes_too_long_is_dropped_and_the_night_continues(small: Small) -> None:
    path = a_file(small, ["train", "train", "train", "val", "val"])
    slow = Check(op="not_regex", arg=r"(([\s\S])+)+\x01$")
    tasks = [task.model_copy(update={"night": 1}) for task in read(path).tasks]
    tasks[3] = tasks[3].model_copy(update={"checks": (slow,)})
    write(path, tasks)
    mark_reviewed(path)
    report = small.night({"tasks": str(path)})
    assert report.status == "proposed"
    assert [(doubt.task, doubt.why) for doubt in report.doubts] == [(tasks[3].id, SLOW)]
    assert report.dropped == {SLOW: 1}
    assert report.tasks == {"train": 3, "val": 1}
    assert tasks[3].id not in [task["id"] for task in small.tasks()]
    assert report.spent.calls == small.answered


def test_a_file_uses_up_no_session_and_leaves_nothing_in_the_archive(small: Small) -> None:
    small.night({"tasks": str(a_file(small, ["train", "train", "val"]))})
    assert small.ledger() == {}
    assert not small.state.archive.exists()
    assert small.night().sessions == {"claude-code": 5}


def test_a_file_that_changed_since_an_interrupted_night_begins_a_new_one(small: Small) -> None:
    sleep = {"tasks": str(a_file(small, ["train", "train", "val"]))}
    with pytest.raises(BudgetStop):
        small.night(sleep, limits={"calls": 6, "concurrency": 1})
    a_file(small, ["train", "train", "train", "val"])
    report = small.night(sleep)
    assert (report.night, report.tasks) == (2, {"train": 3, "val": 1})
    old = read_report(small.state, 1)
    assert old is not None
    assert old.reason == "night 1 began with other settings: sleep.tasks"


def test_without_held_out_tasks_nothing_is_proposed(small: Small) -> None:
    report = small.night({"val_fraction": 0.0})
    assert (report.status, report.proposal) == ("no change", "")
    assert report.reason == "what was made is unverified: there are no held-out tasks"
    assert report.tasks == {"train": 5}
    assert [one.status for one in report.documents] == ["unverified"]
    assert not (small.state.night(1) / "proposal").exists()
    assert not small.skill.exists()


def test_with_the_gate_off_all_is_proposed_unverified_and_no_validation_is_paid_for(small: Small) -> None:
    report = small.night({"auto_adopt": True}, gate={"enabled": False})
    document = report.documents[0]
    assert (report.status, document.status, document.verdict) == ("proposed", "unverified", None)
    assert document.reason == "the gate is off: it was not tried on held-out tasks"
    assert report.held_back[0].endswith("was not tested on its own")
    assert not small.skill.exists()
    folder = Path(report.proposal)
    assert [rule.evidence.trial for one in read_proposal(folder).documents for rule in one.added] == [None]
    assert (folder / "proposal.diff").read_text().startswith(".claude/skills/learned/SKILL.md: not tested: - ")
    held = [task["intent"] for task in sides(small)["val"]]
    assert [asked_of_target(small, intent) for intent in held] == [0] * len(held)


def test_without_training_tasks_nothing_is_attempted(small: Small) -> None:
    report = small.night({"tasks": str(a_file(small, ["val", "val"]))})
    assert (report.status, report.reason) == ("no change", "there is nothing to train on")
    assert len(small.target.answered) == 1


def test_recall_and_dreams_enlarge_training_only(tmp_path: Path) -> None:
    small = Small(tmp_path, n=12)
    small.night({"max_tasks": 8})
    assert {task["origin"] for task in small.tasks(1)} == {"real"}
    report = small.night({"dream": 2})
    by_origin: dict[str, set[str]] = {}
    for task in small.tasks(2):
        by_origin.setdefault(task["origin"], set()).add(task["split"])
    assert by_origin["recall"] == by_origin["dream"] == {"train"}
    assert {"train", "val"} >= by_origin["real"]
    held = {task["cluster"] for night in (1, 2) for task in small.tasks(night) if task["split"] != "train"}
    assert not held & {task["cluster"] for task in small.tasks(2) if task["split"] == "train"}
    assert report.sessions == {"claude-code": 4}
    archived = [json.loads(line) for line in small.state.archive.read_text().splitlines()]
    assert {task["origin"] for task in archived} == {"real"}
    assert len(archived) == 12


def one_more(small: Small, side: str, more: int, **sleep: Any) -> dict[str, Any]:
    """Nights of one session each, until one has its own task on `side`; its report and tasks."""
    for number in range(5, 5 + more):
        small.write(number, number + 1)
        report = small.night(sleep)
        own = [task for task in small.tasks(report.night) if task["night"] == report.night]
        if [task["split"] for task in own] == [side]:
            return {"report": report, "own": own, "tasks": small.tasks(report.night)}
    raise AssertionError(f"no session's task came to {side}")


def test_a_night_with_nothing_to_hold_out_borrows_from_earlier_nights(small: Small) -> None:
    small.night({"max_tasks": 5})
    held = {task["id"] for task in small.tasks(1) if task["split"] == "val"}
    found = one_more(small, "train", 8)
    borrowed = [task for task in found["tasks"] if task["split"] == "val"]
    assert borrowed
    assert {task["night"] for task in borrowed} != {found["report"].night}
    assert held & {task["id"] for task in borrowed}
    note = f"{len(borrowed)} tasks of earlier nights stand in for 'val', which has none tonight"
    assert found["report"].notes == (note,)
    assert found["report"].status == "proposed"


def test_a_night_with_nothing_to_train_on_borrows_from_earlier_nights(small: Small) -> None:
    small.night()
    found = one_more(small, "val", 14)
    borrowed = [task for task in found["tasks"] if task["split"] == "train"]
    assert {task["origin"] for task in borrowed} == {"recall"}
    assert len({task["id"] for task in borrowed}) == len(borrowed) >= 3
    assert found["report"].notes[-1] == "3 tasks of earlier nights stand in for 'train', which has none tonight"
    assert found["report"].status == "proposed"


def test_the_first_night_with_one_task_says_what_it_lacks(tmp_path: Path) -> None:
    small = Small(tmp_path, n=1)
    report = small.night()
    assert report.status == "no change"
    assert len(report.notes) == 1
    assert report.notes[0].startswith("0 tasks of earlier nights stand in")


def test_more_tasks_than_wanted_are_dropped_from_the_tail(small: Small) -> None:
    report = small.night({"max_tasks": 4, "tasks": str(a_file(small, ["train"] * 5))})
    assert report.tasks == {"train": 3, "val": 1}
    assert report.dropped == {"more than sleep.max_tasks = 4": 1}
    assert report.status == "proposed"


def test_an_archive_that_cannot_be_read_is_named_before_anything_is_used(small: Small) -> None:
    small.night({"max_tasks": 2})
    small.state.archive.write_text("{}\n")
    with pytest.raises(DataError) as error:
        small.night()
    assert str(small.state.archive) in error.value.message
    assert sorted(small.ledger().values()) == ["queued"] * 3 + ["used"] * 2


def auto(small: Small, **sleep: Any) -> Any:
    return small.night({"auto_adopt": True, "confirm_trials": 3, "val_fraction": 0.5, **sleep})


def test_a_proposal_that_is_settled_and_harmless_is_adopted_at_once(tmp_path: Path) -> None:
    small = Small(tmp_path, n=16)
    report = auto(small)
    assert (report.status, report.held_back, report.documents[0].verdict) == ("adopted", (), "ship")
    assert "Key Risks" in small.skill.read_text()
    assert read_report(small.state, report.night) == report


def test_a_proposal_without_a_verdict_that_settles_it_waits_and_says_why(small: Small) -> None:
    for trials, said in ((3, "the verdict is 'inconclusive'"), (0, "was not tested on its own")):
        report = auto(small, confirm_trials=trials)
        assert report.status == "proposed"
        assert said in report.held_back[0]
        assert not small.skill.exists()
        small.base.rename(small.root / f"state-{trials}")


def test_a_rule_of_a_kind_that_a_person_has_to_see_waits(tmp_path: Path) -> None:
    class Commanding(Counted):
        """Adds a command to the rule that helps."""

        async def complete(self, request: ChatRequest) -> Reply:
            reply = await super().complete(request)
            text = reply.text.replace("Key Risks", "Key Risks (as `pytest` has them)")
            return reply.model_copy(update={"text": text}) if '"document"' in text else reply

    small = Small(tmp_path, n=16)
    small.optimizer = Commanding(MODELS["optimizer"], lambda request: None)
    report = auto(small)
    assert report.status == "proposed"
    assert report.held_back
    assert all(reason.startswith("rule ") for reason in report.held_back)
    assert not small.skill.exists()
