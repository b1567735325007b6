"""How noisy attempts are is measured from the tasks that were repeated."""

import random
from math import comb

import pytest

from etude.stages.shared.noise import Outcomes, PassSpread


def drawn(chances: list[float], tries: int, seed: int = 0) -> list[Outcomes]:
    rng = random.Random(seed)
    found: list[Outcomes] = []
    for p in chances:
        passed = sum(rng.random() < p for _ in range(tries))
        found.append(Outcomes(passed, tries - passed))
    return found


def test_tasks_that_always_fail_and_always_pass_show_little_noise() -> None:
    noise = PassSpread.measured(drawn([0.0] * 40 + [1.0] * 40, 2))
    assert noise.regained < 0.08
    assert noise.lost < 0.08


def test_a_task_that_passes_more_often_than_before_speaks_for_a_change() -> None:
    noise = PassSpread()
    assert noise.raised(Outcomes(4, 0), Outcomes(0, 4)) > 50
    assert noise.raised(Outcomes(1, 2), Outcomes(2, 1)) < 1
    assert noise.raised(Outcomes(0, 2), Outcomes(0, 2)) < 1
    assert noise.raised(Outcomes(), Outcomes(1, 2)) == pytest.approx(1)


@pytest.mark.parametrize("less", [Outcomes(), Outcomes(0, 2), Outcomes(3, 1), Outcomes(1, 6)])
def test_by_chance_a_change_that_does_nothing_is_spoken_for_as_little_as_against(less: Outcomes) -> None:
    """The ratio is 1 on average over what then comes, so that it seldom ever gets high."""
    noise = PassSpread.measured(drawn([0.1] * 30 + [0.5] * 30 + [0.9] * 30, 3))
    all_of = [(Outcomes(passed, 3 - passed), comb(3, passed)) for passed in range(4)]
    mean = sum(ways * noise.likelihood(more, less) * noise.raised(more, less) for more, ways in all_of)
    assert mean == pytest.approx(1)
