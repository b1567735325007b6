"""Trainings against servers that misbehave: neighbours of those in `tests/journeys/test_journeys_misbehaving.py`."""

from pathlib import Path
from typing import Any

import behaviours_asked_too
import behaviours_said_too
import behaviours_sent_too
import pytest
from test_journeys_misbehaving import ROWS as FAST
from test_journeys_misbehaving import ends_as_expected, good_results, quick
from trained_against import Row

__all__ = ["good_results", "quick"]

ROWS = [*behaviours_said_too.ROWS, *behaviours_sent_too.ROWS, *behaviours_asked_too.ROWS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_training_is_right_or_stops_and_says_why(
    row: Row, tmp_path: Path, good_results: dict[str, dict[str, Any]], capsys: Any
) -> None:
    ends_as_expected(row, tmp_path, good_results, capsys)


def test_every_behaviour_has_a_name_of_its_own() -> None:
    names = [row.name for row in (*FAST, *ROWS)]
    assert len(set(names)) == len(names)
