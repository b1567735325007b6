"""Means and paired differences with intervals, and what it takes to settle a difference.

Scores lie in [0, 1] and tasks are the sampling unit: one value for each task, which is the mean of its trials. Trials
of a task are no further tasks. How the intervals hold in simulations is in docs/method.md.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from etude.records.summary import Interval

_POWER_Z = 0.841621
"""80% quantile of the normal distribution: what is needed is what settles it in 4 of 5 comparisons."""
_MOST_TASKS = 1_000_000
_GRIDS = (2_520, 840, 240, 120, 60, 24, 12, 6, 4, 2)
"""Scores are permuted in units of 1/2520, so that shares of up to ten parts are whole numbers of them, or in coarser
ones where those are too many to count."""
_MOST_STEPS = 500_000
"""Additions in a count of all ways, about a tenth of a second. The coarsest steps are counted whatever it takes."""
_SERIES_FROM = 20
"""Degrees of freedom from which the asymptotic series of the t quantile is off by less than 0.00002."""


def mean_interval(values: Sequence[float]) -> Interval:
    """Mean of the values with the 95% t interval over them and four more: two zeros and two ones.

    For proportions that is the interval of Agresti and Coull (1998, The American Statistician 52:119) with Student's
    quantile. The added values keep it honest where the seen ones hardly vary.
    Raises ValueError: there are no values."""
    if not values:
        raise ValueError("an interval needs at least one value")
    low, high = _t_ends([*values, 0.0, 0.0, 1.0, 1.0], 0.95)
    return Interval(mean=math.fsum(values) / len(values), low=max(0.0, low), high=min(1.0, high), n=len(values))


def difference_interval(before: Sequence[float], after: Sequence[float], confidence: float = 0.95) -> Interval:
    """Mean of after - before over the same tasks, in the same order, with the t interval over the differences and two
    more: -1 and +1.

    For paired proportions that is the interval of Bonett and Price (2012, Journal of Educational and Behavioral
    Statistics 37:479) with Student's quantile. The added tasks stand for losses and gains too rare to have been seen.
    `confidence` is that of the two-sided interval, in (0, 1); each end of a 0.90 interval is a one-sided 95% bound.
    Raises ValueError: no values, or not as many of one as of the other."""
    if not before or len(before) != len(after):
        raise ValueError(f"a paired difference needs as many values of both, got {len(before)} and {len(after)}")
    differences = [new - old for old, new in zip(before, after, strict=True)]
    low, high = _t_ends([*differences, -1.0, 1.0], confidence)
    mean = math.fsum(differences) / len(differences)
    return Interval(mean=mean, low=max(-1.0, low), high=min(1.0, high), n=len(differences))


def t_interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's 95% t interval (Student 1908) of the mean of independent repetitions.
    Raises ValueError: there are fewer than two values."""
    if len(values) < 2:
        raise ValueError(f"a t interval needs at least two values, got {len(values)}")
    return _t_ends(values, 0.95)


def tasks_needed(mean: float, variance: float, above: float = 0.0) -> int | None:
    """With how many tasks 4 of 5 comparisons have a one-sided 95% lower bound of the difference above `above`, if the
    true difference is `mean` and the tasks' means have this variance. None: more than a million.
    """
    low, high = 0, 1
    while not _tells(mean, variance, high, above):
        if high == _MOST_TASKS:
            return None
        low, high = high, min(2 * high, _MOST_TASKS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _tells(mean, variance, middle, above) else (middle, high)
    return high


class Arms(NamedTuple):
    """Values of the attempts at one task under two skills."""

    before: Sequence[float]
    after: Sequence[float]


def permutation(tasks: Sequence[Arms]) -> float:
    """The p of the one-sided permutation test, stratified by task: how often the sum of all `after` would be as high
    as it is if it did not matter which skill an attempt had.

    All ways to divide each task's attempts among the two are counted, so the test is exact (Fisher 1935, The Design
    of Experiments). It is about these very tasks; `difference_interval` is about all tasks that are like them. Where
    there are too many ways to count, scores are rounded to coarser steps first, whichever skill had them. It takes
    some seconds for 100 tasks with 20 trials each. Raises ValueError: there are no tasks, or one without attempts."""
    if not tasks or not all(task.before and task.after for task in tasks):
        raise ValueError("a permutation test needs tasks with attempts under both skills")
    strata = next((each for grid in _GRIDS if _steps(each := _whole(tasks, grid)) <= _MOST_STEPS), None)
    ways, everything, seen = {0: 1}, 1, 0
    for before, after in strata or _whole(tasks, _GRIDS[-1]):
        values = [*before, *after]
        seen += sum(after)
        everything *= math.comb(len(values), len(after))
        ways = _convolved(ways, _sums(values, len(after)))
    return sum(count for total, count in ways.items() if total >= seen) / everything


def discoveries(ps: Sequence[float], share: float) -> list[bool]:
    """Which of several results are held to be real, by their p: at most `share` of those are not, on average over
    many tables, where the results do not depend on each other (Benjamini and Hochberg 1995, Journal of the Royal
    Statistical Society B 57:289)."""
    bar = max((p for rank, p in enumerate(sorted(ps), 1) if p <= share * rank / len(ps)), default=-1.0)
    return [p <= bar for p in ps]


def _whole(tasks: Sequence[Arms], grid: int) -> list[tuple[list[int], list[int]]]:
    """The values of each task above its lowest one, in the largest unit that has whole numbers of it, of those that
    are whole numbers of 1/grid."""
    found: list[tuple[list[int], list[int]]] = []
    for task in tasks:
        before, after = ([round(value * grid) for value in values] for values in task)
        least = min(*before, *after)
        found.append(([value - least for value in before], [value - least for value in after]))
    unit = math.gcd(*(value for arms in found for values in arms for value in values)) or 1
    return [([value // unit for value in before], [value // unit for value in after]) for before, after in found]


def _steps(strata: Sequence[tuple[Sequence[int], Sequence[int]]]) -> int:
    """How many additions a count of all ways has at most."""
    steps, sums, span = 0, 1, 0
    for before, after in strata:
        values, chosen = sorted([*before, *after]), len(after)
        mine = sum(values[-chosen:]) - sum(values[:chosen])
        most = min(mine + 1, math.comb(len(values), chosen))
        span += mine
        steps += len(values) * chosen * most // 2 + sums * most
        sums = min(sums * most, span + 1)
    return steps


def smallest_gain(tasks: int, noise: float, trials: int = 1) -> float | None:
    """The smallest true gain in the share of solved tasks that 4 of 5 paired comparisons of this many tasks tell from
    nothing: 80% power, 5% one-sided. None: not even a gain of 1.

    It is the g for which `difference_interval` has its lower bound above 0 with that power, when the better skill
    solves the same tasks and a share g more, so that the outcomes of a task disagree with probability noise + g and
    the differences have the variance noise / trials + g - g^2. For many tasks and one trial this is the formula
    n = (1.645 sqrt(d) + 0.842 sqrt(d - g^2))^2 / g^2 of Connor (1987, Biometrics 43:207) with d = noise + g.

    `noise` is the share of tasks whose outcome differs between two trials of one skill, in [0, 1]; `trials` are those
    of each task under each skill."""

    def detects(gain: float) -> bool:
        return _tells(gain, noise / trials + gain - gain * gain, tasks, 0.0)

    if tasks < 1 or not detects(1.0):
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if detects(middle) else (middle, high)
    return high


def _tells(mean: float, variance: float, n: int, above: float) -> bool:
    # What `difference_interval` gives on average, with its two added tasks.
    center = n * mean / (n + 2)
    squares = (n - 1) * variance + n * mean * mean + 2 - (n + 2) * center * center
    bound = center - _t_quantile(n + 1, 0.90) * math.sqrt(squares / (n + 1) / (n + 2))
    return bound - _POWER_Z * math.sqrt(variance / n) > above


def _sums(values: Sequence[int], chosen: int) -> dict[int, int]:
    """How many ways there are to choose this many of the values, by their sum."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(chosen))]
    for value in values:
        for size in range(chosen, 0, -1):
            for total, count in ways[size - 1].items():
                ways[size][total + value] = ways[size].get(total + value, 0) + count
    return ways[chosen]


def _convolved(first: Mapping[int, int], second: Mapping[int, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for a, m in first.items():
        for b, n in second.items():
            found[a + b] = found.get(a + b, 0) + m * n
    return found


def _t_ends(values: Sequence[float], confidence: float) -> tuple[float, float]:
    n = len(values)
    mean = math.fsum(values) / n
    squares = math.fsum((value - mean) ** 2 for value in values)
    half = _t_quantile(n - 1, confidence) * math.sqrt(squares / (n - 1) / n)
    return mean - half, mean + half


def _t_quantile(freedom: int, inside: float) -> float:
    """The t for which a value lies between -t and t with probability `inside`."""
    if freedom >= _SERIES_FROM:
        return _t_series(freedom, inside)
    low, high = 0.0, 1.0
    while _t_inside(high, freedom) < inside:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_inside(middle, freedom) < inside else (low, middle)
    return high


def _t_series(freedom: int, inside: float) -> float:
    """The asymptotic expansion of Abramowitz and Stegun, 26.7.5."""
    z = statistics.NormalDist().inv_cdf((1 + inside) / 2)
    terms = ((z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


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
