from typing import Any

import pytest

from etude.config import TrainConfig, make_config
from etude.records import Split
from etude.records.summary import Span
from etude.searches import policy_of
from etude.searches.evidence import EvidenceSearch
from etude.searches.forecast import Known, StageWork

TASKS: dict[Split, int] = {"train": 60, "val": 50, "test": 40}


def known(failing: float | None = None, *, kinds: int = 1, **sections: dict[str, Any]) -> Known:
    settings = {
        "train": {"epochs": 3, "batch_size": 20},
        "search": {"policy": "paper"},
        "reflect": {"mode": "shallow"},
        "slow_update": {"enabled": True},
        "meta_skill": {"enabled": True},
    } | sections
    return Known(make_config(settings), TASKS, kinds, failing)


def stage(works: tuple[StageWork, ...], name: str) -> StageWork:
    return next(work for work in works if work.stage == name)


def attempts(works: tuple[StageWork, ...]) -> Span:
    return Span(low=sum(work.attempts.low for work in works), high=sum(work.attempts.high for work in works))


def work_of(found: Known) -> tuple[StageWork, ...]:
    return policy_of(found.config).forecast(found)


def paper_work(found: Known) -> tuple[StageWork, ...]:
    return policy_of(make_config({"search": {"policy": "paper"}})).forecast(found)


def evidence_work(
    failing: float | None = None, *, kinds: int = 1, **sections: dict[str, Any]
) -> tuple[StageWork, ...]:
    search = {"policy": "evidence"} | sections.pop("search", {})
    return work_of(known(failing, kinds=kinds, search=search, **sections))


def test_the_policy_of_the_settings_is_forecast() -> None:
    assert work_of(known()) == paper_work(known())
    assert work_of(known(search={"policy": "evidence"})) == evidence_work()
    assert policy_of(TrainConfig()).search is EvidenceSearch


@pytest.mark.parametrize("policy", ["paper", "evidence", "rewrite_first"])
def test_no_range_is_turned_round_or_negative(policy: str) -> None:
    for failing in (None, 0.0, 0.02, 0.5, 1.0):
        for work in work_of(known(failing, search={"policy": policy})):
            for span in (work.attempts, work.calls, work.attempt_waits, work.call_waits):
                assert 0 <= span.low <= span.high, (failing, work)


@pytest.mark.parametrize(("policy", "widest"), [("paper", 6.5), ("evidence", 20)])
def test_a_range_of_attempts_is_at_most_so_wide(policy: str, widest: float) -> None:
    """A search by evidence ends early where it finds nothing."""
    for epochs in (1, 2, 4):
        total = attempts(work_of(known(search={"policy": policy}, train={"epochs": epochs, "batch_size": 40})))
        assert total.high / total.low <= widest


def test_the_baseline_is_one_pass_over_validation() -> None:
    assert stage(paper_work(known()), "baseline").attempts == Span(low=50, high=50)


def test_known_attempts_are_not_made_again_in_later_epochs() -> None:
    assert stage(paper_work(known()), "rollout").attempts == Span(low=60, high=180)
    fresh = known(train={"epochs": 3, "batch_size": 20, "fresh_attempts": True})
    assert stage(paper_work(fresh), "rollout").attempts == Span(low=180, high=180)


def test_a_rewrite_may_have_nothing_to_do_where_validation_tells_so() -> None:
    rewrite = {"search": {"policy": "rewrite_first"}}
    works = work_of(known(**rewrite, train={"epochs": 3, "attempts": 2}))
    assert attempts(works).low == 50 + 40  # baseline and test
    assert (stage(works, "rollout").attempts, stage(works, "analyses").calls.low) == (Span(low=0, high=360), 0)
    blind = work_of(known(**rewrite, gate={"enabled": False}))
    assert (stage(blind, "rollout").attempts.low, stage(blind, "analyses").calls.low) == (60, 1)


def test_without_a_race_every_candidate_is_validated_whole() -> None:
    raced = stage(paper_work(known()), "gate").attempts
    whole = stage(paper_work(known(gate={"racing": False})), "gate").attempts
    assert whole.low == 2 * raced.low
    assert whole.high == raced.high == (9 + 2) * 50  # nine steps, two slow updates


def test_a_fresh_bar_takes_every_accepted_candidate_once_more() -> None:
    most = stage(paper_work(known()), "gate").attempts.high
    assert stage(paper_work(known(gate={"remeasure": True})), "gate").attempts.high == 2 * most
    assert stage(paper_work(known(gate={"remeasure": True, "enabled": False})), "gate").attempts.high == most
    first = known(search={"policy": "rewrite_first"}, gate={"remeasure": True})
    once = stage(work_of(known(search={"policy": "rewrite_first"})), "gate").attempts.high
    assert stage(work_of(first), "gate").attempts.high == 2 * once


def test_a_race_that_a_single_task_ends_may_be_that_short() -> None:
    whole = stage(paper_work(known(gate={"racing": False})), "gate").attempts.low
    assert stage(paper_work(known(gate={"no_regression": True})), "gate").attempts.low * 50 == whole


def test_one_skill_is_tested_when_nothing_better_is_found() -> None:
    assert stage(paper_work(known(test={"trials": 3})), "test").attempts == Span(low=120, high=240)
    assert stage(paper_work(known(test={"enabled": False})), "test").attempts == Span(low=0, high=0)


def test_a_single_epoch_has_nothing_to_compare() -> None:
    once = known(train={"epochs": 1, "batch_size": 20})
    assert "slow update" not in [work.stage for work in paper_work(once)]
    neither = known(slow_update={"enabled": False}, meta_skill={"enabled": False})
    assert "slow update" not in [work.stage for work in paper_work(neither)]
    assert stage(paper_work(known(meta_skill={"enabled": False})), "slow update").calls == Span(low=0, high=2)


def test_every_minibatch_is_read_once() -> None:
    readings = stage(paper_work(known()), "analyses")
    assert readings.calls.low == 3 * 3 * 3  # epochs, batches, minibatches of 8 in 20
    assert stage(paper_work(known(reflect={"failure_only": True})), "analyses").calls.low == 9


def test_evidence_validates_both_skills_until_eight_clear_gains_or_to_the_end() -> None:
    works = evidence_work()
    assert stage(works, "validation").attempts == Span(low=16, high=100)
    assert "gate" not in [work.stage for work in works]


def test_a_measured_share_of_failures_narrows_the_forecast_of_evidence() -> None:
    guessed = attempts(evidence_work())
    for share in (0.1, 0.5, 0.7):
        measured = attempts(evidence_work(share))
        assert measured.high / measured.low < guessed.high / guessed.low
    assert attempts(evidence_work(0.1)).high < guessed.high
    assert stage(evidence_work(0.1), "proof").attempts.low == 0


def test_what_fails_nowhere_needs_only_the_passes_over_the_tasks() -> None:
    works = evidence_work(0.0)
    assert attempts(works).low == 60 + 16 + 40
    assert stage(works, "failure analyses").calls.low == 0


def test_the_first_epoch_visits_every_task_and_failures_are_repeated() -> None:
    once = stage(evidence_work(0.5, train={"epochs": 1}), "rollout").attempts
    assert once.low == 60
    assert 60 * 1.5 <= once.high <= 60 * 2
    assert stage(evidence_work(0.5, train={"epochs": 2}), "rollout").attempts.high > once.high


def test_revisits_are_forecast() -> None:
    none, few, all_of_them = (
        stage(evidence_work(0.3, search={"revisits": count}), "rollout").attempts.high for count in (0, 16, 60)
    )
    assert none < few < all_of_them


def test_a_step_that_looks_for_fewer_failures_is_shorter() -> None:
    short, long = (stage(evidence_work(0.7, search={"failures": count}), "failure analyses") for count in (2, 10))
    assert short.call_waits.high > 2 * long.call_waits.high
    assert short.calls.high > long.calls.high


def test_harm_is_looked_for_with_few_attempts_and_without_the_optimizer() -> None:
    tidy = stage(evidence_work(), "tidy")
    assert tidy.calls == Span(low=0, high=0)
    assert tidy.attempts.low == 0 < tidy.attempts.high < 0.3 * attempts(evidence_work()).high
    assert "tidy" not in [work.stage for work in paper_work(known())]


def test_what_evidence_ignores_changes_no_forecast() -> None:
    assert evidence_work(train={"batch_size": 2}) == evidence_work(train={"batch_size": 40})


def test_more_at_the_same_time_means_fewer_rounds() -> None:
    for policy in ("paper", "evidence"):
        few, many = (
            sum(
                work.attempt_waits.high
                for work in work_of(known(search={"policy": policy}, limits={"concurrency": n}))
            )
            for n in (4, 64)
        )
        assert many < few


def test_a_search_that_finds_nothing_ends_early_however_many_tasks_there_are() -> None:
    some, many = (
        stage(work_of(Known(make_config({}), {**TASKS, "train": count})), "rollout").attempts
        for count in (1_000, 1_000_000)
    )
    assert some.low == many.low < 200
    assert many.high > 1_000 * some.high / 2
