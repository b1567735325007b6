"""The exact test of fresh attempts: what it counts, and what it promises."""

import itertools
import math
import random
from collections.abc import Sequence

import pytest

from etude.intervals import Arms, permutation
from rows import few, rows


def counted(tasks: Sequence[Arms]) -> float:
    """The same by going through every way to divide the attempts."""
    ways = [
        [sum(chosen) for chosen in itertools.combinations((*task.before, *task.after), len(task.after))]
        for task in tasks
    ]
    seen = sum(sum(task.after) for task in tasks)
    reached = [math.fsum(one) >= seen - 1e-9 for one in itertools.product(*ways)]
    return sum(reached) / len(reached)


@rows(
    ("tasks", "p"),
    [
        ([Arms((0, 0, 0), (1, 1, 1))], 1 / 20),
        ([Arms((0, 0, 0), (1, 1, 1))] * 2, 1 / 400),
        ([Arms((0,), (1,))] * 2, 1 / 4),
        ([Arms((0,), (1,))] * 5, 1 / 32),
        ([Arms((0, 0, 0), (0, 1, 1))], 4 / 20),
        ([Arms((1, 1, 1), (1, 1, 1))], 1.0),
        ([Arms((1, 1, 1), (0, 0, 0))], 1.0),
        ([Arms((0, 0), (1, 1, 1))], 1 / 10),  # two voids
    ],
)
def test_the_p_of_plain_outcomes_can_be_counted_by_hand(tasks: list[Arms], p: float) -> None:
    assert permutation(tasks) == pytest.approx(p, abs=1e-15)


@rows("seed", range(30))
def test_partial_scores_are_permuted_exactly(seed: int) -> None:
    dice = random.Random(seed)
    parts = dice.choice((3, 4, 7, 10))
    tasks = [
        Arms(*(tuple(dice.randrange(parts + 1) / parts for _ in range(3)) for _ in range(2)))
        for _ in range(dice.choice((1, 2, 3)))
    ]
    assert permutation(tasks) == pytest.approx(counted(tasks), abs=1e-12)


@pytest.mark.parametrize(
    ("count", "solved"), few([(2, 0.3), (5, 0.6), (1, 0.3), (1, 0.6), (2, 0.6), (5, 0.3)], first=2)
)
def test_without_a_difference_p_is_at_most_alpha_as_seldom_as_that(count: int, solved: float) -> None:
    dice = random.Random(count)
    rounds = 3_000

    def attempts() -> tuple[float, ...]:
        return tuple(float(dice.random() < solved) for _ in range(3))

    low = sum(permutation([Arms(attempts(), attempts()) for _ in range(count)]) <= 0.05 for _ in range(rounds))
    assert low <= 0.05 * rounds + 3 * math.sqrt(0.05 * 0.95 * rounds)


@rows(("count", "trials"), [(14, 3), (8, 10), (30, 10)])
def test_many_trials_with_scores_of_any_size_are_no_matter_either(count: int, trials: int) -> None:
    dice = random.Random(count)
    plain = [Arms(*([dice.random() for _ in range(trials)] for _ in range(2))) for _ in range(count)]
    better = [Arms(task.before, [min(1.0, value + 0.5) for value in task.after]) for task in plain]
    p = permutation(plain)
    assert 0.01 < p < 0.99
    assert 1 <= p + permutation([Arms(task.after, task.before) for task in plain]) < 1.1
    assert permutation(better) < 1e-6


@pytest.mark.parametrize("count", [30, 120])
def test_plain_outcomes_are_counted_exactly_however_many_there_are(count: int) -> None:
    tasks = [Arms((0, 1, 0), (1, 0, 1))] * count
    ways, most = {0: 1}, [1, 9, 9, 1]  # how many of a task's three solved attempts the new skill has
    for _ in range(count):
        more: dict[int, int] = {}
        for total, times in ways.items():
            for solved, each in enumerate(most):
                more[total + solved] = more.get(total + solved, 0) + times * each
        ways = more
    reached = sum(times for total, times in ways.items() if total >= 2 * count)
    assert permutation(tasks) == reached / 20**count


@pytest.mark.parametrize("tasks", [[], [Arms((), ())]])
def test_nothing_can_be_said_of_no_attempts(tasks: list[Arms]) -> None:
    with pytest.raises(ValueError, match="needs tasks with attempts under both skills"):
        permutation(tasks)
