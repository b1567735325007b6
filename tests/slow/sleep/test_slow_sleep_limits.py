"""Patterns of tasks and programs that take too long: each test waits for their time limit."""

from pathlib import Path

import pytest
from scripted import task_file
from small_night import Small

from etude.errors import EtudeError
from etude.sleep.tasks.probe import SLOW
from etude.testing import ScriptedModel
from etude.workbench import Given


def test_a_task_whose_mined_pattern_takes_too_long_is_dropped_and_the_night_continues(tmp_path: Path) -> None:
    small = Small(tmp_path)
    slow = {"op": "not_regex", "arg": r"(([\s\S])+)+\x01$"}
    quick = {"op": "section_present", "arg": "Key Risks"}
    tasks = [
        {"id": f"t{n}", "intent": small.turns[n].prompt, "split": split, "night": 1, "checks": [check]}
        for n, (split, check) in enumerate([("train", quick)] * 3 + [("val", slow), ("val", quick)])
    ]
    report = small.night(task_file(tmp_path, tasks))
    assert report.status == "proposed"
    assert report.dropped == {SLOW: 1}
    assert report.tasks == {"train": 3, "val": 1}
    assert "t3" not in [task["id"] for task in small.tasks()]
    assert report.spent.calls == small.answered


def test_regex_bombs_in_a_task_file_cost_their_time_limit_and_are_no_score(tmp_path: Path) -> None:
    small, bomb = Small(tmp_path, n=0), {"op": "regex", "arg": "^(a+)+$"}
    tasks = [
        {"id": f"t{n}", "intent": f"Write many letters, {n} of them.", "split": split, "checks": [bomb]}
        for n, split in enumerate(["train", "val"])
    ]
    given = Given(target=ScriptedModel(lambda request: "a" * 5_000 + "!", name="x:target"))
    with pytest.raises(EtudeError, match="simplify nested or repeated wildcards") as error:
        small.night(task_file(tmp_path, tasks), given=given)
    assert error.value.exit_code == 1
    assert "1 of 1 val attempts errored" in error.value.message


def test_a_program_that_never_ends_is_an_error_and_no_score(tmp_path: Path) -> None:
    small = Small(tmp_path, n=4)
    agent = {"name": "command", "command": ["sleep", "1000"], "limits": {"seconds": 0.3}}
    with pytest.raises(EtudeError) as error:
        small.night(agent=agent, limits={"concurrency": 4})
    assert error.value.exit_code == 1
    report = small.report()
    assert (report.status, report.resumes, report.proposal) == ("error", False, "")
    assert set(small.ledger().values()) == {"queued"}
