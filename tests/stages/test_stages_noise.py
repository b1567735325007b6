"""How noisy attempts are is measured from the tasks that were repeated."""

import random

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
