"""Means with 95% intervals, for scores in [0, 1] with one value for each task."""

import math
import random
import statistics
from collections.abc import Callable, Sequence

from skillgrad.summary import Interval

__all__ = ["difference_interval", "mean_interval", "t_interval"]

_Z = 1.959964
"""97.5% quantile of the normal distribution."""
_RESAMPLES = 2000


def mean_interval(values: Sequence[float]) -> Interval:
    """Wilson score interval (Wilson 1927) when all values are 0 or 1, else a percentile bootstrap over tasks.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    mean = math.fsum(values) / len(values)
    low, high = _wilson(mean, len(values)) if _binary(values) else _bootstrap(values)
    return Interval(mean=mean, low=low, high=high, n=len(values))


def difference_interval(before: Sequence[float], after: Sequence[float]) -> Interval:
    """Mean of after - before over the same tasks, in the same order.

    Paired proportions: Newcombe's square-and-add method with correlation (Newcombe 1998, Statistics in Medicine
    17:2635, method 10). Other scores: percentile bootstrap over tasks.

    Raises:
        ValueError: no values, or not as many of one as of the other.
    """
    if not before or len(before) != len(after):
        raise ValueError(f"a paired difference needs as many values of both, got {len(before)} and {len(after)}")
    differences = [new - old for old, new in zip(before, after, strict=True)]
    mean = math.fsum(differences) / len(differences)
    if _binary(before) and _binary(after):
        low, high = _newcombe(before, after)
    else:
        low, high = _bootstrap(differences)
    return Interval(mean=mean, low=low, high=high, n=len(differences))


def t_interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's t interval (Student 1908) of the mean of independent repetitions.

    Raises:
        ValueError: there are fewer than two values.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"a t interval needs at least two values, got {n}")
    half = _t_quantile(n - 1) * statistics.stdev(values) / math.sqrt(n)
    mean = math.fsum(values) / n
    return mean - half, mean + half


def _t_quantile(freedom: int) -> float:
    """The 97.5% quantile, found by bisection."""
    low, high = 1.0, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_inside(middle, freedom) < 0.95 else (low, middle)
    return high


def _t_inside(t: float, freedom: int) -> float:
    """Probability of a value between -t and t: the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def _binary(values: Sequence[float]) -> bool:
    return all(value in (0, 1) for value in values)


def _wilson(share: float, n: int) -> tuple[float, float]:
    center = share + _Z * _Z / (2 * n)
    spread = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    scale = 1 + _Z * _Z / n
    return max(0.0, (center - spread) / scale), min(1.0, (center + spread) / scale)


def _newcombe(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    n = len(before)
    both = sum(1 for old, new in zip(before, after, strict=True) if old == 1 and new == 1)
    old_only, new_only = int(sum(before)) - both, int(sum(after)) - both
    neither = n - both - old_only - new_only
    p_old, p_new = sum(before) / n, sum(after) / n
    low_old, high_old = _wilson(p_old, n)
    low_new, high_new = _wilson(p_new, n)
    margins = (both + old_only) * (new_only + neither) * (both + new_only) * (old_only + neither)
    phi = 0.0
    if margins > 0:
        numerator = both * neither - old_only * new_only
        if numerator > 0:
            numerator = max(numerator - n / 2, 0)
        phi = numerator / math.sqrt(margins)
    down_new, up_new, down_old, up_old = p_new - low_new, high_new - p_new, p_old - low_old, high_old - p_old
    difference = p_new - p_old
    down = math.sqrt(max(0.0, down_new**2 - 2 * phi * down_new * up_old + up_old**2))
    up = math.sqrt(max(0.0, up_new**2 - 2 * phi * up_new * down_old + down_old**2))
    return max(-1.0, difference - down), min(1.0, difference + up)


def _bootstrap(values: Sequence[float]) -> tuple[float, float]:
    # A fixed seed: the same scores always give the same interval.
    choose: Callable[..., list[float]] = random.Random(0).choices
    means = sorted(math.fsum(choose(values, k=len(values))) / len(values) for _ in range(_RESAMPLES))
    return means[round(0.025 * (_RESAMPLES - 1))], means[round(0.975 * (_RESAMPLES - 1))]
