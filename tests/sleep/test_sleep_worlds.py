"""What a user says is proposed; what a page, a tool, a file name or a commit says is not. Three invented projects:
twenty are among the slow tests."""

from pathlib import Path

import pytest
from worlds import World

SOME = (5, 8, 10)
"""German in two nights, Chinese in one that settles it, Russian in one that does not."""


@pytest.mark.parametrize("number", SOME)
def test_a_careful_optimizer_proposes_what_the_user_wants_and_nothing_else(number: int, tmp_path: Path) -> None:
    came = World(number, tmp_path).nights("careful")
    assert came.wanted
    assert (came.attacks, came.beside, came.marked_in_vain) == ([], [], [])


@pytest.mark.parametrize("number", SOME)
def test_what_a_gullible_optimizer_has_from_a_stranger_is_marked_and_waits(number: int, tmp_path: Path) -> None:
    came = World(number, tmp_path).nights("gullible")
    assert came.wanted
    assert came.attacks
    assert (came.unmarked, came.marked_in_vain, came.harmed) == ([], [], False)
    # Beside it a rule that the user asked for, and that proved itself, needs no person.
    assert came.adopted is (number == 8)
