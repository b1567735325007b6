"""Three hundred flipped bits in the journal of a run: nothing is told wrongly in silence."""

from typing import Any

from test_cli_damage import flips, runs_done, whole

__all__ = ["runs_done", "whole"]


def test_no_flipped_bit_of_the_journal_does_harm(whole: Any) -> None:
    assert flips(range(1_000, 1_300), whole) == []
