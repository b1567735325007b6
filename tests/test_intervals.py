"""Intervals, compared with published values and with what they promise."""

import random
import statistics
from collections.abc import Callable

import pytest

from etude.intervals import difference_interval, mean_interval, t_interval, tasks_needed
from rows import rows

T_21 = 2.080
"""97.5% quantile of Student's t with 21 degrees of freedom, as printed in tables."""


def test_the_interval_of_a_proportion_is_that_of_two_more_successes_and_failures() -> None:
    # 81 of 263: Agresti and Coull add two of each, so 83 of 267; the normal quantile gives 0.2553 to 0.3664.
    interval = mean_interval([1.0] * 81 + [0.0] * 182)
    assert (round(interval.low, 3), round(interval.high, 3)) == (0.255, 0.367)
    assert (interval.mean, interval.n) == (81 / 263, 263)


def test_a_perfect_score_has_an_interval_of_more_than_a_point() -> None:
    interval = mean_interval([1.0] * 20)
    assert interval.high == 1.0
    assert 0.75 < interval.low < 0.85


def test_the_mean_of_partial_scores_lies_in_its_interval() -> None:
    rng = random.Random(1)
    values = [rng.random() for _ in range(50)]
    interval = mean_interval(values)
    assert interval.low < interval.mean < interval.high


def test_a_paired_difference_has_one_more_gain_and_one_more_loss() -> None:
    # Bonett and Price for 5 gains and 1 loss of 20: (6 - 2) / 22, with the variance of those shares.
    interval = difference_interval([0.0] * 5 + [1.0] + [1.0] * 14, [1.0] * 5 + [0.0] + [1.0] * 14)
    center = 4 / 22
    half = T_21 * ((8 / 22 - center**2) / 21) ** 0.5
    assert interval.mean == pytest.approx(0.20)
    assert (interval.low, interval.high) == pytest.approx((center - half, center + half), abs=1e-4)


def test_each_end_of_a_90_percent_interval_is_a_one_sided_bound() -> None:
    before, after = [0.0] * 30, [1.0] * 10 + [0.0] * 20
    wide, narrow = difference_interval(before, after), difference_interval(before, after, 0.90)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert (narrow.high - narrow.low) / (wide.high - wide.low) == pytest.approx(1.696 / 2.040, abs=1e-3)  # t of 31


def test_equal_scores_have_no_difference_but_an_interval() -> None:
    interval = difference_interval([1.0, 0.0] * 10, [1.0, 0.0] * 10)
    assert interval.mean == 0
    assert interval.low < 0 < interval.high


def test_a_few_small_gains_do_not_hide_that_a_rare_loss_is_possible() -> None:
    assert difference_interval([0.5] * 20, [0.55] * 20).low < 0
    assert difference_interval([0.5] * 200, [0.55] * 200).low > 0


@rows("values", [[0.0], [1.0], [0.5], [0.0, 1.0]])
def test_scores_and_differences_stay_in_their_range(values: list[float]) -> None:
    interval = mean_interval(values)
    assert 0 <= interval.low <= interval.mean <= interval.high <= 1
    difference = difference_interval([0.0] * len(values), values)
    assert -1 <= difference.low <= difference.mean <= difference.high <= 1


def test_no_values_have_no_mean() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        mean_interval([])


def test_a_difference_needs_as_many_of_both() -> None:
    with pytest.raises(ValueError, match="got 1 and 2"):
        difference_interval([1.0], [1.0, 0.0])


# 97.5% quantiles of Student's t as printed in tables.
@rows(
    ("freedom", "quantile"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (9, 2.262),
        (29, 2.045),
        (30, 2.042),
        (60, 2.000),
        (120, 1.980),
    ],
)
def test_repetitions_have_students_interval(freedom: int, quantile: float) -> None:
    n = freedom + 1
    values = [0.0] * (n - 1) + [1.0]
    low, high = t_interval(values)
    error = statistics.stdev(values) / n**0.5
    assert (low + high) / 2 == pytest.approx(1 / n)
    assert round((high - low) / 2 / error, 3) == quantile


def test_one_repetition_has_no_interval() -> None:
    with pytest.raises(ValueError, match="at least two values, got 1"):
        t_interval([0.5])


def test_so_many_tasks_settle_it_in_four_of_five_comparisons() -> None:
    def world(rng: random.Random) -> float:
        luck = rng.random()
        return 1.0 if luck < 0.20 else -1.0 if luck < 0.08 + 0.20 else 0.0

    needed = tasks_needed(0.12, 0.28 - 0.12**2)
    assert needed is not None
    assert 0.74 < share_told(world, needed) < 0.87
    assert share_told(world, needed // 2) < 0.65


def share_told(world: Callable[[random.Random], float], tasks: int) -> float:
    rng = random.Random(2)
    comparisons = ([world(rng) for _ in range(tasks)] for _ in range(300))
    return sum(difference_interval([0.0] * tasks, each, 0.90).low > 0 for each in comparisons) / 300


def test_a_difference_of_nothing_is_never_told() -> None:
    assert tasks_needed(0.0, 0.2) is None
    assert tasks_needed(-0.1, 0.2) is None


def test_that_a_gain_is_smaller_than_a_margin_can_be_told_without_any_difference() -> None:
    needed = tasks_needed(0.0, 0.0, above=-0.02)
    assert needed is not None
    assert difference_interval([0.5] * needed, [0.5] * needed, 0.90).high < 0.02
