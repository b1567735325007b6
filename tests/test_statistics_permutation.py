"""The exact test of fresh attempts: what it counts, and what it promises."""

import itertools
import math
import random
from collections.abc import Sequence

import pytest

from skillgrad.statistics import Arms, permutation_needed, permutation_p


def counted(tasks: Sequence[Arms]) -> float:
    """The same by going through every way to divide the attempts."""
    ways = [
        [sum(chosen) for chosen in itertools.combinations((*task.before, *task.after), len(task.after))]
        for task in tasks
    ]
    seen = sum(sum(task.after) for task in tasks)
    reached = [math.fsum(one) >= seen - 1e-9 for one in itertools.product(*ways)]
    return sum(reached) / len(reached)


@pytest.mark.parametrize(
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
    assert permutation_p(tasks) == pytest.approx(p, abs=1e-15)


def test_a_p_of_one_in_twenty_is_at_the_level_of_one_in_twenty() -> None:
    assert permutation_p([Arms((0, 0, 0), (1, 1, 1))]) <= 0.05


@pytest.mark.parametrize("seed", range(30))
def test_partial_scores_are_permuted_exactly(seed: int) -> None:
    dice = random.Random(seed)
    parts = dice.choice((3, 4, 7, 10))
    tasks = [
        Arms(*(tuple(dice.randrange(parts + 1) / parts for _ in range(3)) for _ in range(2)))
        for _ in range(dice.choice((1, 2, 3)))
    ]
    assert permutation_p(tasks) == pytest.approx(counted(tasks), abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("solved", [0.3, 0.6])
def test_without_a_difference_p_is_at_most_alpha_as_seldom_as_that(count: int, solved: float) -> None:
    dice = random.Random(count)
    rounds = 3_000

    def attempts() -> tuple[float, ...]:
        return tuple(float(dice.random() < solved) for _ in range(3))

    low = sum(permutation_p([Arms(attempts(), attempts()) for _ in range(count)]) <= 0.05 for _ in range(rounds))
    assert low <= 0.05 * rounds + 3 * math.sqrt(0.05 * 0.95 * rounds)


def test_many_tasks_with_scores_of_any_size_are_no_matter() -> None:
    dice = random.Random(1)
    tasks = [Arms(*(tuple(dice.random() for _ in range(3)) for _ in range(2))) for _ in range(8)]
    assert 0 < permutation_p(tasks) < 1


@pytest.mark.parametrize("tasks", [[], [Arms((), ())]])
def test_nothing_can_be_said_of_no_attempts(tasks: list[Arms]) -> None:
    with pytest.raises(ValueError, match="needs tasks with attempts under both skills"):
        permutation_p(tasks)


def test_what_is_needed_is_enough_when_all_else_is_as_seen() -> None:
    # One attempt at two tasks, both gained: even the best outcome has a p of 1/4.
    more_tasks, more_trials = permutation_needed([Arms((0,), (1,))] * 2, 0.05)
    assert more_tasks is not None
    assert more_trials is not None
    assert permutation_p([Arms((0,), (1,))] * more_tasks) <= 0.05
    assert permutation_p([Arms((0,) * more_trials, (1,) * more_trials)] * 2) <= 0.05
    assert more_tasks <= 10
    assert more_trials <= 4


def test_no_number_of_attempts_settles_what_is_no_gain() -> None:
    assert permutation_needed([Arms((0, 1), (1, 0))], 0.05) == (None, None)
