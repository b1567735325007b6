"""The most that a run under `evidence` does."""

from typing import Any

from etude.config import make_config
from etude.records import Split
from etude.searches import Known, Most, policy_of

TASKS: dict[Split, int] = {"train": 60, "val": 50, "test": 40}


def most(tasks: dict[Split, int] = TASKS, **sections: dict[str, Any]) -> Most:
    config = make_config({"train": {"epochs": 3}, **sections})
    return policy_of(config).most(Known(config, tasks, kinds=1))


def test_each_task_may_fail_in_each_epoch_and_is_repeated_and_tests_each_edit() -> None:
    assert most({**TASKS, "train": 1_060}).attempts - most().attempts > 3 * 1_000 * (2 + 12)


def test_validation_tasks_are_attempted_under_two_skills() -> None:
    assert most({**TASKS, "val": 150}).attempts - most().attempts == 2 * 100


def test_a_step_that_looks_for_fewer_failures_is_shorter_so_there_may_be_more_of_them() -> None:
    short, long = (most(search={"failures": count}).calls for count in (2, 10))
    assert short > 2 * long


def test_each_edit_may_use_its_attempts() -> None:
    few, many = (most(search={"edits": count}).attempts for count in (2, 12))
    assert 60 * 3 < few < many < 6 * few
