"""What a run under `evidence` is said to come to, at least and at most."""

from typing import Any

from etude.config import make_config
from etude.records import Split
from etude.records.summary import Span
from etude.searches import Known, StageWork, policy_of

TASKS: dict[Split, int] = {"train": 60, "val": 50, "test": 40}


def works(tasks: dict[Split, int] = TASKS, **sections: dict[str, Any]) -> dict[str, StageWork]:
    config = make_config({"train": {"epochs": 3}, **sections})
    return {work.stage: work for work in policy_of(config).forecast(Known(config, tasks))}


def test_a_run_that_finds_nothing_visits_the_tasks_once_and_races_no_longer_than_it_has_to() -> None:
    assert {name: (work.attempts.low, work.calls.low) for name, work in works().items()} == {
        "rollout": (60, 0),
        "failure analyses": (0, 0),
        "proof": (0, 0),
        "tidy": (0, 0),
        "validation": (16, 0),
    }
    assert works({**TASKS, "val": 3})["validation"].attempts.low == 3


def test_a_search_that_finds_nothing_ends_early_however_many_tasks_there_are() -> None:
    some, many = (works({**TASKS, "train": count})["rollout"].attempts for count in (1_000, 1_000_000))
    assert some.low == many.low < 200
    assert many.high == 1_000 * some.high


def test_at_most_each_task_fails_in_each_epoch_and_is_repeated() -> None:
    assert works()["rollout"].attempts.high == 2 * 3 * 60


def test_a_step_that_looks_for_fewer_failures_is_shorter_so_there_may_be_more_of_them() -> None:
    short, long = (works(search={"failures": count})["failure analyses"].calls.high for count in (2, 10))
    assert short > 2 * long


def test_each_edit_may_use_its_attempts() -> None:
    few, many = (works(search={"edits": count})["proof"].attempts.high for count in (2, 12))
    assert 60 * 3 < few < many < 6 * few


def test_harm_is_looked_for_without_the_optimizer() -> None:
    assert works()["tidy"].calls == Span(low=0, high=0)


def test_what_evidence_ignores_changes_no_forecast() -> None:
    other = {"train": {"epochs": 3, "batch_size": 2}, "slow_update": {"enabled": True}, "gate": {"racing": False}}
    assert works(**other) == works()
