"""Drawing faults."""

import pytest
from pydantic import ValidationError

from etude.simulation.faults import IN_A_ROW, FaultDice, Faults
from rows import rows


def test_rates_are_kept_over_many_requests() -> None:
    dice = FaultDice(Faults(rate_limit=0.2, drop=0.1))
    drawn = [dice.draw(f"body {place}", wants_json=False) for place in range(3000)]
    assert drawn.count("rate_limit") / 3000 == pytest.approx(0.2, abs=0.03)
    assert drawn.count("drop") / 3000 == pytest.approx(0.08, abs=0.03)
    assert drawn.count(None) / 3000 == pytest.approx(0.72, abs=0.03)


def test_the_same_seed_gives_the_same_faults() -> None:
    one, other, third = (FaultDice(Faults(drop=0.5, seed=seed)) for seed in (1, 1, 2))
    draws = [[dice.draw(str(place), wants_json=False) for place in range(40)] for dice in (one, other, third)]
    assert draws[0] == draws[1] != draws[2]


def test_no_body_is_struck_more_often_in_a_row_than_documented() -> None:
    dice = FaultDice(Faults(drop=0.9))
    row = longest = 0
    for _ in range(500):
        row = row + 1 if dice.draw("same", wants_json=False) else 0
        longest = max(longest, row)
    assert longest == IN_A_ROW


def test_rows_are_counted_for_each_body() -> None:
    dice = FaultDice(Faults(drop=1))
    assert [dice.draw(body, wants_json=False) for body in ("a", "b", "a", "b", "a", "b", "a")] == [
        *("drop", "drop", "drop", "drop", None, None, "drop")
    ]


def test_an_outage_begins_after_so_many_answers_and_does_not_end() -> None:
    dice = FaultDice(Faults(outage_after=1))
    assert dice.draw("a", wants_json=False) is None
    dice.answered()
    assert [dice.draw("a", wants_json=False) for _ in range(5)] == ["outage"] * 5


def test_only_requests_for_json_are_cut() -> None:
    dice = FaultDice(Faults(cut_structured=1))
    assert dice.draw("a", wants_json=False) is None
    assert dice.draw("a", wants_json=True) == "cut_structured"


def test_a_bad_seed_strikes_every_question_again_and_again() -> None:
    dice = FaultDice(Faults(bad_seeds=0.5))
    drawn = [{dice.draw(body, wants_json=False, seed=seed) for body in "ababab"} for seed in range(200)]
    assert all(len(faults) == 1 for faults in drawn)
    assert drawn.count({"bad_seeds"}) / 200 == pytest.approx(0.5, abs=0.1)
    assert dice.draw("a", wants_json=False) is None
    assert all(dice.draw("a", wants_json=True, seed=seed) is None for seed in range(20))


@rows("bad", [{"drop": 1.1}, {"drop": -0.1}, {"outage_after": -1}, {"unknown": 1}])
def test_bad_rates_and_names_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Faults.model_validate(bad)
