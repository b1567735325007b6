"""An account asks whether a change helps on tasks that were chosen for failing; a race, on tasks chosen by chance."""

import random
from math import log

import pytest

from etude.stages.shared.contest import ADDITION, HAND_OUT, Seen, account, wealth
from etude.stages.shared.noise import Noise, Outcomes

STEADY = Noise.measured([Outcomes(0, 2)] * 40 + [Outcomes(2, 0)] * 40)
FLAKY = Noise.measured([Outcomes(0, 2)] * 20 + [Outcomes(1, 1)] * 20 + [Outcomes(2, 0)] * 20)


def test_an_account_begins_with_nothing() -> None:
    assert account([], STEADY) == 0
    assert account([Seen(Outcomes(), Outcomes(failed=2))], STEADY) == 0


def test_where_attempts_are_steady_a_pass_after_two_failures_says_much() -> None:
    one = Seen(Outcomes(passed=1), Outcomes(failed=2))
    assert account([one], STEADY) > log(10)
    assert account([one] * 2, STEADY) >= ADDITION.won


def test_where_attempts_are_flaky_it_takes_several() -> None:
    one = Seen(Outcomes(passed=1), Outcomes(failed=2))
    assert account([one], FLAKY) < ADDITION.won <= account([one] * 4, FLAKY)


def test_a_task_that_passes_without_the_change_as_well_says_little_for_it() -> None:
    said = [account([Seen(Outcomes(passed=2), Outcomes(passed, 2))], FLAKY) for passed in (0, 1, 2)]
    assert said[0] > said[1] > said[2]


def test_no_single_task_can_speak_against_a_change_by_much() -> None:
    assert account([Seen(Outcomes(failed=9), Outcomes(failed=2))], STEADY) > log(0.29)


@pytest.mark.parametrize("p", [0.05, 0.1, 0.2, 0.4])
def test_an_edit_that_does_nothing_enters_in_one_of_twenty_cases_at_most(p: float) -> None:
    """It cites four tasks that failed twice; each is attempted with it in turn, until the account is closed."""
    rng = random.Random(f"null {p}")
    noise = Noise.measured([Outcomes(k, 3 - k) for k in (sum(rng.random() < p for _ in range(3)) for _ in range(60))])
    runs = 200
    entered = sum(closes(noise, [p] * 4, rng) for _ in range(runs))
    assert entered <= 0.05 * runs


def test_an_edit_that_takes_its_tasks_to_eight_in_ten_mostly_enters() -> None:
    rng = random.Random("true")
    tasks = [0.02] * 40 + [0.9] * 40 + [0.4] * 10
    noise = Noise.measured([Outcomes(k, 2 - k) for k in (sum(rng.random() < p for _ in range(2)) for p in tasks)])
    entered = sum(closes(noise, [0.8] * 4, rng) for _ in range(300))
    assert entered >= 0.9 * 300


def closes(noise: Noise, chances: list[float], rng: random.Random) -> bool:
    """Three tasks are attempted in a round, as a proof does it."""
    seen, made = [Outcomes() for _ in chances], 0
    while made < ADDITION.most:
        for task in [(made + turn) % len(chances) for turn in range(min(3, ADDITION.most - made))]:
            seen[task] = seen[task].plus(rng.random() < chances[task])
            made += 1
        found = account([Seen(one, Outcomes(failed=2)) for one in seen], noise)
        if found >= ADDITION.won:
            return True
        if found <= ADDITION.lost:
            return False
    return False


def test_gains_make_rich_and_losses_poor() -> None:
    assert wealth([]) == 1
    assert wealth([1.0] * 8) > 1 / HAND_OUT > wealth([1.0] * 3)
    assert wealth([-1.0] * 8) < 0.1


def test_a_race_that_nothing_decides_is_won_in_one_of_twenty_cases_at_most() -> None:
    rng, runs, won = random.Random(3), 1_000, 0
    for _ in range(runs):
        gains: list[float] = []
        for _ in range(60):
            gains.append(float(rng.random() < 0.5) - float(rng.random() < 0.5))
            if wealth(gains) >= 1 / HAND_OUT:
                won += 1
                break
    assert won <= 0.05 * runs
