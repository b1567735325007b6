"""The most that runs of the published loop do."""

from typing import Any

from etude.config import make_config, merge
from etude.records import Split
from etude.searches import Known, Most, policy_of
from rows import rows

TASKS: dict[Split, int] = {"train": 60, "val": 50, "test": 40}
BASE: dict[str, dict[str, Any]] = {
    "train": {"epochs": 3},
    "search": {"policy": "paper", "batch_size": 20},
    "reflect": {"mode": "shallow"},
}
BOTH = {"search": {"slow_update": True, "meta_skill": True}}
FIRST = {"search": {"policy": "rewrite_first"}}


def most(kinds: int = 1, **sections: dict[str, Any]) -> Most:
    config = make_config(merge(BASE, sections))
    return policy_of(config).most(Known(config, TASKS, kinds))


@rows(
    ("sections", "attempts"),
    [
        # The baseline, every task in each epoch, and a candidate of each of 9 steps that is validated whole.
        ({}, 50 + 180 + 9 * 50),
        ({"search": {"gate": False}}, 50 + 180 + 9 * 50),
        (BOTH, 50 + 180 + (9 + 2) * 50 + 2 * 20 * 2),
        ({**BOTH, "train": {"epochs": 1}}, 50 + 60 + 3 * 50),
        ({"search": {"slow_update": True, "slow_update_pairs": "changed"}}, 50 + 180 + (9 + 2) * 50 + 2 * 60 * 2),
        (FIRST, 50 + 180 + (1 + 2 * 3) * 50),
        ({"search": {**FIRST["search"], "gate": False}}, 180),
        ({"search": {**FIRST["search"], "attempts": 2}}, 50 + 360 + (1 + 2 * 3) * 50),
    ],
)
def test_every_step_and_every_slow_update_may_have_a_candidate(sections: dict[str, Any], attempts: int) -> None:
    assert most(**sections).attempts == attempts
