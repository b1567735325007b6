"""The pause of a project."""

import os
from pathlib import Path

import pytest

from etude.errors import DataError
from etude.sleep.pause import PAUSE, pause, paused, resume
from etude.sleep.state import SleepState


@pytest.fixture
def state(tmp_path: Path) -> SleepState:
    return SleepState(tmp_path / "state" / "project")


def test_a_pause_holds_from_its_beginning_until_it_is_ended(state: SleepState) -> None:
    assert paused(state) is None
    assert not resume(state)
    pause(state)
    assert (state.folder / PAUSE).stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(state.folder)) == ["nights", PAUSE]
    os.utime(state.folder / PAUSE, (0, 0))
    pause(state)
    since = paused(state)
    assert since is not None
    assert since.year == 1970
    assert resume(state)
    assert paused(state) is None


def test_a_pause_that_cannot_be_ended_says_why(state: SleepState) -> None:
    (state.folder / PAUSE).mkdir(parents=True)
    with pytest.raises(DataError, match="cannot be removed"):
        resume(state)
