"""The gate: strictly better is accepted, and racing never changes the verdict."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgrad.records import Task
from skillgrad.stages.gate import Race, race_order

scores = st.sampled_from([0.0, 1.0, 0.5, 0.25, 1 / 3, 0.1])
maybe = st.one_of(scores, st.none())


def full(bar: list[float | None], values: list[float | None]) -> bool:
    """The published rule over the tasks scored under both skills: a strictly higher mean."""
    pairs = [(b, v) for b, v in zip(bar, values, strict=True) if b is not None and v is not None]
    from fractions import Fraction

    return sum((Fraction(v) - Fraction(b) for b, v in pairs), Fraction(0)) > 0


def run(bar: list[float | None], values: list[float | None], order: list[int]) -> Race:
    race = Race(bar)
    for index in order:
        if race.lost_after is not None:
            break
        race.add(index, values[index], f"a-{index}")
    return race


@given(st.lists(st.tuples(maybe, maybe), max_size=12), st.randoms())
def test_racing_gives_the_verdict_of_full_validation(rows, rng: random.Random) -> None:
    bar, values = [row[0] for row in rows], [row[1] for row in rows]
    order = list(range(len(rows)))
    rng.shuffle(order)
    assert run(bar, values, order).early_verdict().accepted == full(bar, values)


@given(st.lists(st.tuples(maybe, maybe), max_size=12), st.randoms())
def test_the_verdict_does_not_depend_on_the_order_of_arrival(rows, rng: random.Random) -> None:
    bar, values = [row[0] for row in rows], [row[1] for row in rows]
    order = list(range(len(rows)))
    in_order = run(bar, values, order).early_verdict()
    rng.shuffle(order)
    shuffled = run(bar, values, order)
    # More may have arrived than the prefix that decides: the verdict is still that prefix's.
    for index in order:
        if index not in shuffled._seen:
            shuffled.add(index, values[index], f"a-{index}")
    assert shuffled.early_verdict() == in_order


def test_ten_thousand_random_validations_agree() -> None:
    rng = random.Random(5)
    early = 0
    for _ in range(10_000):
        n = rng.randint(1, 60)
        p, q = rng.random(), rng.random()
        bar = [float(rng.random() < p) for _ in range(n)]
        values = [float(rng.random() < q) for _ in range(n)]
        order = list(range(n))
        rng.shuffle(order)
        race = run(bar, values, order)
        assert race.early_verdict().accepted == full(bar, values)
        early += race.prefix < n
    assert early > 1000


def test_a_tie_is_rejected() -> None:
    race = run([0.0, 1.0], [1.0, 0.0], [0, 1])
    verdict = race.early_verdict()
    assert (verdict.accepted, verdict.reason) == (False, "candidate 0.5000 = current 0.5000")


def test_a_candidate_that_cannot_win_any_more_loses_early() -> None:
    # Two unsolved tasks first: failing both leaves nothing to win.
    race = run([0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0, 1, 2, 3])
    verdict = race.early_verdict()
    assert (verdict.accepted, verdict.decided_after, verdict.candidate) == (False, 2, None)
    assert verdict.reason == "cannot win any more after 2 of 4 tasks"


def test_a_perfect_current_skill_cannot_be_beaten() -> None:
    assert Race([1.0, 1.0]).lost_after == 0


def test_nothing_to_compare_is_a_rejection() -> None:
    verdict = run([None], [1.0], [0]).early_verdict()
    assert not verdict.accepted


def test_attempts_without_a_score_are_named_and_not_compared() -> None:
    verdict = run([0.0, 0.0], [None, 1.0], [0, 1]).early_verdict()
    assert (verdict.accepted, verdict.compared, verdict.voids) == (True, 1, ("a-0",))


@pytest.mark.parametrize("bar", [{"a": 1.0, "b": 0.0, "c": 0.5}])
def test_tasks_the_current_skill_does_not_solve_go_first(bar) -> None:
    tasks = [Task(id=name, input=name) for name in "abcd"]
    assert [task.id for task in race_order(tasks, bar)] == ["b", "c", "a", "d"]
