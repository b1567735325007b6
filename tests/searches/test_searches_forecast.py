"""The most that a run under `evidence` does."""

from typing import Any

from etude.config import make_config
from etude.records import Split
from etude.searches import Known, Most, policy_of
from etude.searches.hand_out import RIVALS

TASKS: dict[Split, int] = {"train": 60, "val": 50, "test": 40}


def most(tasks: dict[Split, int] = TASKS, **sections: dict[str, Any]) -> Most:
    config = make_config({"train": {"epochs": 3}, **sections})
    return policy_of(config).most(Known(config, tasks, kinds=1))


def test_validation_tasks_are_attempted_under_two_skills_then_afresh_and_under_some_of_earlier_steps() -> None:
    assert most({**TASKS, "val": 150}).attempts - most().attempts == (2 + 4 + RIVALS) * 100
