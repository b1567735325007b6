"""`sleep pause` and `sleep resume`."""

import json
from datetime import UTC, datetime

import pytest
from cli_said import Captured, data, said
from small_night import Small, tree

from etude.cli.main import main
from etude.sleep.pause import PAUSE


def test_a_paused_project_has_no_night_until_it_is_resumed(sleeper: Small, capsys: Captured) -> None:
    said(capsys, "pause", "--until", "2999-12-31", "--reason", "on holiday")
    before = tree(sleeper.root)
    (line,) = said(capsys, "run")
    assert line.startswith("paused since 20")
    assert line.endswith(" (UTC) until 2999-12-31: on holiday; resume with: etude sleep resume")
    found = data(capsys, "run")
    assert (found["status"], found["paused"]["until"], found["paused"]["reason"]) == (
        "paused",
        "2999-12-31",
        "on holiday",
    )
    assert tree(sleeper.root) == before
    assert said(capsys, "resume") == [f"resumed  {sleeper.project}"]
    assert data(capsys, "run")["night"] == 1
    assert said(capsys, "resume") == [f"nothing was paused for {sleeper.project}"]
    assert data(capsys, "resume") == {"project": str(sleeper.project), "resumed": False}


def test_the_status_says_that_nights_rest(sleeper: Small, capsys: Captured) -> None:
    assert data(capsys, "status")["paused"] is None
    note = data(capsys, "pause")["paused"]
    assert (note["until"], note["reason"]) == (None, "")
    assert data(capsys, "status")["paused"] == note
    moment = datetime.fromisoformat(note["since"]).astimezone(UTC)
    line = f"paused since {moment:%Y-%m-%d %H:%M} (UTC); resume with: etude sleep resume"
    assert said(capsys, "status")[1] == line


def test_a_look_ahead_says_that_nights_rest(sleeper: Small, capsys: Captured) -> None:
    assert data(capsys, "dry-run")["paused"] is None
    said(capsys, "pause", "--until", "2999-12-31")
    assert data(capsys, "dry-run")["paused"]["until"] == "2999-12-31"
    line = said(capsys, "dry-run")[0]
    assert line.startswith("paused since 20")
    assert line.endswith(" (UTC) until 2999-12-31; resume with: etude sleep resume")


def test_a_pause_that_is_over_rests_no_night(sleeper: Small, capsys: Captured) -> None:
    said(capsys, "pause")
    place = sleeper.state.folder / PAUSE
    place.write_text(json.dumps({**json.loads(place.read_text()), "until": "2026-01-01"}))
    assert data(capsys, "status")["paused"] is None
    assert data(capsys, "run")["night"] == 1


def test_the_state_and_the_project_may_be_named(sleeper: Small, capsys: Captured) -> None:
    other = sleeper.root / "other"
    other.mkdir()
    place = ["--project", str(other), "--state", str(sleeper.root / "elsewhere")]
    assert data(capsys, "pause", *place)["project"] == str(other)
    assert data(capsys, "status")["paused"] is None
    assert data(capsys, "status", *place)["paused"] is not None
    assert data(capsys, "resume", *place) == {"project": str(other), "resumed": True}


@pytest.mark.parametrize("text", ["tomorrow", "2026-13-01", "2026-02-30", "2027-1-31", ""])
def test_what_is_no_date_is_refused(sleeper: Small, capsys: Captured, text: str) -> None:
    assert main(["sleep", "pause", "--until", text]) == 2
    assert f"argument --until: {text!r} is not a date as in 2027-01-31" in capsys.readouterr().err
    assert not (sleeper.state.folder / PAUSE).exists()


def test_a_day_that_is_over_is_refused(sleeper: Small, capsys: Captured) -> None:
    assert main(["sleep", "pause", "--until", "2020-02-29"]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: a pause until '2020-02-29' is over already: today is ")
    assert shown.endswith("\nhint: give today or a later day\n")
    assert not (sleeper.state.folder / PAUSE).exists()


def test_a_note_that_cannot_be_read_stops_the_night_with_the_way_out(sleeper: Small, capsys: Captured) -> None:
    said(capsys, "pause")
    (sleeper.state.folder / PAUSE).write_text("{")
    assert main(["sleep", "run"]) == 2
    assert "`etude sleep resume` takes the pause away" in capsys.readouterr().err
    assert said(capsys, "resume") == [f"resumed  {sleeper.project}"]
