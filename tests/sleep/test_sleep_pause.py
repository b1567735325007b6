"""The pause of a project: how long it holds, and that it is told where nobody knows."""

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from etude.errors import DataError, InputError
from etude.sleep.pause import PAUSE, Pause, pause, paused, resume
from etude.sleep.state import SleepState

NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def state(tmp_path: Path) -> SleepState:
    return SleepState(tmp_path / "state" / "project")


def test_a_pause_holds_until_it_is_ended(state: SleepState) -> None:
    assert paused(state, NOW) is None
    note = pause(state, NOW, reason="on holiday")
    assert paused(state, NOW + timedelta(days=4000)) == note == Pause(since=NOW, reason="on holiday")
    assert resume(state)
    assert paused(state, NOW) is None
    assert not resume(state)


def test_a_pause_holds_on_its_last_day_and_not_after_it() -> None:
    note = Pause(since=NOW, until=date(2026, 10, 1))
    assert note.holds(date(2026, 10, 1))
    assert not note.holds(date(2026, 10, 2))


def test_a_pause_that_is_over_holds_no_night_up(state: SleepState) -> None:
    today = NOW.astimezone().date()
    pause(state, NOW, today)
    assert paused(state, NOW) is not None
    assert paused(state, NOW + timedelta(days=2)) is None
    later = NOW + timedelta(days=3)
    assert pause(state, later).since == later


def test_days_are_those_of_the_local_calendar(state: SleepState) -> None:
    late = datetime(2026, 9, 20, 23, 59).astimezone()
    pause(state, late, date(2026, 9, 20))
    assert paused(state, late.astimezone(UTC)) is not None
    assert paused(state, (late + timedelta(minutes=2)).astimezone(UTC)) is None


def test_pausing_again_changes_end_and_reason_and_keeps_the_beginning(state: SleepState) -> None:
    pause(state, NOW, reason="on holiday")
    until = date(2026, 12, 24)
    assert pause(state, NOW + timedelta(days=1), until, "longer") == Pause(since=NOW, until=until, reason="longer")


def test_a_day_that_is_over_is_refused_and_nothing_is_written(state: SleepState) -> None:
    with pytest.raises(InputError) as caught:
        pause(state, NOW, date(2026, 9, 1))
    today = NOW.astimezone().date()
    assert caught.value.message == f"a pause until '2026-09-01' is over already: today is {today}"
    assert caught.value.hint == "give today or a later day"
    assert not state.folder.exists()


@pytest.mark.parametrize(
    "text", ["", "{", '{"since": "2026-09-20T12:00:00"}', '{"since": "2026-09-20T12:00:00Z", "x": 1}']
)
def test_a_note_that_cannot_be_read_lets_no_night_begin_and_can_be_taken_away(state: SleepState, text: str) -> None:
    state.make()
    (state.folder / PAUSE).write_text(text)
    with pytest.raises(DataError, match=r"pause\.json' cannot be read"):
        paused(state, NOW)
    assert resume(state)
    assert paused(state, NOW) is None


def test_the_note_is_for_its_owner_only_and_leaves_nothing_beside_it(state: SleepState) -> None:
    pause(state, NOW)
    assert (state.folder / PAUSE).stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(state.folder)) == ["nights", PAUSE]
