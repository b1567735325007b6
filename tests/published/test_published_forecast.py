"""What runs of the published loop are said to come to, at least and at most."""

from typing import Any

from etude.config import make_config
from etude.records import Split
from etude.records.summary import Span
from etude.searches import Known, StageWork, policy_of

TASKS: dict[Split, int] = {"train": 60, "val": 50, "test": 40}
BASE: dict[str, dict[str, Any]] = {
    "train": {"epochs": 3, "batch_size": 20},
    "search": {"policy": "paper"},
    "reflect": {"mode": "shallow"},
}
BOTH = {"slow_update": {"enabled": True}, "meta_skill": {"enabled": True}}


def works(kinds: int = 1, **sections: dict[str, Any]) -> dict[str, StageWork]:
    config = make_config({**BASE, **sections})
    return {work.stage: work for work in policy_of(config).forecast(Known(config, TASKS, kinds))}


def test_the_baseline_is_one_pass_over_validation() -> None:
    assert works()["baseline"].attempts == Span(low=50, high=50)


def test_known_attempts_are_not_made_again_in_later_epochs() -> None:
    assert works()["rollout"].attempts == Span(low=60, high=180)
    fresh = works(train={"epochs": 3, "batch_size": 20, "fresh_attempts": True})
    assert fresh["rollout"].attempts == Span(low=180, high=180)


def test_a_rewrite_may_have_nothing_to_do_where_validation_tells_so() -> None:
    rewrite = {"search": {"policy": "rewrite_first"}, "train": {"epochs": 3, "attempts": 2}}
    found = works(**rewrite)
    assert (found["rollout"].attempts, found["analyses"].calls.low) == (Span(low=0, high=360), 0)
    blind = works(**rewrite, gate={"enabled": False})
    assert (blind["rollout"].attempts.low, "gate" in blind, "baseline" in blind) == (120, False, False)


def test_every_step_and_every_slow_update_may_have_a_candidate_that_is_validated_whole() -> None:
    assert works()["gate"].attempts == Span(low=0, high=9 * 50)
    assert works(**BOTH)["gate"].attempts.high == (9 + 2) * 50
    first = {"search": {"policy": "rewrite_first"}}
    assert works(**first)["gate"].attempts.high == (1 + 2 * 3) * 50


def test_a_fresh_bar_takes_every_accepted_candidate_once_more() -> None:
    for search in ("paper", "rewrite_first"):
        more: dict[str, Any] = {"search": {"policy": search}}
        most = works(**more)["gate"].attempts.high
        assert works(**more, gate={"remeasure": True})["gate"].attempts.high == 2 * most
    assert works(gate={"remeasure": True, "enabled": False})["gate"].attempts.high == 9 * 50


def test_epochs_are_compared_where_that_is_asked_for_and_there_are_two() -> None:
    found = works(**BOTH)["slow update"]
    assert (found.attempts, found.calls) == (Span(low=0, high=2 * 20 * 2), Span(low=0, high=4))
    changed = works(slow_update={"enabled": True, "pairs": "changed"})["slow update"]
    assert (changed.attempts.high, changed.calls.high) == (2 * 60 * 2, 2)
    assert "slow update" not in works()
    assert "slow update" not in works(**BOTH, train={"epochs": 1, "batch_size": 20})


def test_every_batch_is_read_unless_only_failures_are() -> None:
    assert works()["analyses"].calls.low == 9
    assert works(reflect={"mode": "shallow", "failure_only": True})["analyses"].calls.low == 0


def test_each_analysis_may_need_a_merge_and_each_kind_of_task_an_analysis() -> None:
    # Of 20 attempts 2 minibatches of 8, one more of failures and one of successes, each asked twice for citations;
    # 3 merges, selection, update.
    assert works()["analyses"].calls.high == 9 * (2 * 4 + 3 + 2)
    assert works(kinds=3)["analyses"] == works()["analyses"]
    deep = works(kinds=3, reflect={"mode": "deep"})["analyses"].calls.high
    assert deep == 9 * (3 * 8 + 1)
    twice = {"epochs": 3, "batch_size": 20, "accumulation": 2}
    assert works(train=twice)["analyses"].calls.high == 6 * (3 * 8 + 1)
