"""How noisy attempts are is measured from the tasks that were repeated."""

import random

import pytest

from etude.stages.shared.noise import Outcomes, PassSpread


def drawn(chances: list[float], tries: int, seed: int = 0) -> list[Outcomes]:
    rng = random.Random(seed)
    found: list[Outcomes] = []
    for p in chances:
        passed = sum(rng.random() < p for _ in range(tries))
        found.append(Outcomes(passed, tries - passed))
    return found


def test_before_anything_is_seen_one_attempt_in_five_turns_out_otherwise() -> None:
    noise = PassSpread()
    assert noise.regained == pytest.approx(0.2, abs=0.03)
    assert noise.lost == pytest.approx(0.2, abs=0.03)


def test_tasks_that_always_fail_and_always_pass_show_little_noise() -> None:
    noise = PassSpread.measured(drawn([0.0] * 40 + [1.0] * 40, 2))
    assert noise.regained < 0.08
    assert noise.lost < 0.08


@pytest.mark.parametrize("p", [0.2, 0.4, 0.7])
def test_flaky_tasks_are_known_for_what_they_are(p: float) -> None:
    noise = PassSpread.measured(drawn([p] * 100, 3))
    assert noise.next_passes(Outcomes()) == pytest.approx(p, abs=0.08)
    assert noise.regained == pytest.approx(p, abs=0.2)
    assert 1 - noise.lost == pytest.approx(p, abs=0.2)


def test_repeating_only_what_failed_does_not_mislead() -> None:
    """Half of the tasks are hopeless, half pass nine times in ten; whatever fails is attempted once more."""
    rng = random.Random(1)
    found: list[Outcomes] = []
    for number in range(400):
        p = 0.0 if number % 2 else 0.9
        seen = Outcomes().plus(rng.random() < p)
        found.append(seen if seen.passed else seen.plus(rng.random() < p))
    noise = PassSpread.measured(found)
    true = 0.5 * 0.1 * 0.9 / (0.5 + 0.5 * 0.1)
    assert noise.regained == pytest.approx(true, abs=0.04)
    assert noise.next_passes(Outcomes(failed=2)) < noise.regained


def test_the_likelihood_of_outcomes_is_that_of_one_after_the_other() -> None:
    noise = PassSpread.measured(drawn([0.1, 0.5, 0.9] * 10, 3))
    known = Outcomes(failed=1)
    both = noise.next_passes(known) * (1 - noise.next_passes(known.plus(True)))
    assert noise.likelihood(Outcomes(1, 1), known) == pytest.approx(both)


def test_the_order_of_tasks_does_not_matter() -> None:
    tasks = drawn([0.1, 0.5, 0.9] * 10, 3)
    assert PassSpread.measured(tasks) == PassSpread.measured(reversed(tasks))
