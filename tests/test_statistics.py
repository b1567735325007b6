"""Intervals, compared with published values."""

import random
import statistics

import pytest

from skillgrad.statistics import difference_interval, mean_interval, t_interval


def test_the_interval_of_a_proportion_is_wilsons() -> None:
    # Newcombe 1998, Statistics in Medicine 17:857, table I: 81 of 263 gives 0.2553 to 0.3662.
    interval = mean_interval([1.0] * 81 + [0.0] * 182)
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)
    assert (interval.mean, interval.n) == (81 / 263, 263)


def test_a_perfect_score_has_an_interval_of_more_than_a_point() -> None:
    interval = mean_interval([1.0] * 20)
    assert interval.high == 1.0
    assert 0.8 < interval.low < 0.85


def test_partial_scores_are_resampled_and_always_give_the_same_interval() -> None:
    rng = random.Random(1)
    values = [rng.random() for _ in range(50)]
    interval = mean_interval(values)
    assert interval == mean_interval(values)
    assert interval.low < interval.mean < interval.high


def test_a_paired_difference_is_newcombes() -> None:
    # Newcombe 1998, Statistics in Medicine 17:2635, table II, method 10: (36, 12, 2, 0) of 50 gives 0.0569 to 0.3404.
    before = [1.0] * 36 + [0.0] * 12 + [1.0] * 2
    after = [1.0] * 36 + [1.0] * 12 + [0.0] * 2
    interval = difference_interval(before, after)
    assert interval.mean == pytest.approx(0.20)
    assert (round(interval.low, 3), round(interval.high, 3)) == (0.057, 0.340)


def test_equal_scores_have_no_difference_but_an_interval() -> None:
    interval = difference_interval([1.0, 0.0] * 10, [1.0, 0.0] * 10)
    assert interval.mean == 0
    assert interval.low < 0 < interval.high


def test_a_difference_of_partial_scores_is_resampled() -> None:
    interval = difference_interval([0.2, 0.4, 0.1] * 5, [0.5, 0.6, 0.9] * 5)
    assert 0 < interval.low < interval.mean < interval.high


def test_no_values_have_no_mean() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        mean_interval([])


def test_a_difference_needs_as_many_of_both() -> None:
    with pytest.raises(ValueError, match="got 1 and 2"):
        difference_interval([1.0], [1.0, 0.0])


# 97.5% quantiles of Student's t as printed in tables.
@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980)],
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
