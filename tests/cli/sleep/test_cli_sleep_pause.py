"""`sleep schedule --pause` and `--resume`."""

from datetime import UTC, datetime

from cli_said import Captured, data, said
from small_night import Small, tree


def test_a_paused_project_has_no_night_until_it_is_resumed(sleeper: Small, capsys: Captured) -> None:
    said(capsys, "schedule", "--pause")
    before = tree(sleeper.root)
    (line,) = said(capsys, "run")
    assert line.startswith("paused since 20")
    assert line.endswith(" (UTC); resume with: etude sleep schedule --resume")
    found = data(capsys, "run")
    assert found["status"] == "paused"
    assert tree(sleeper.root) == before
    assert said(capsys, "schedule", "--resume") == [f"resumed  {sleeper.project}"]
    assert data(capsys, "run")["night"] == 1
    assert said(capsys, "schedule", "--resume") == [f"nothing was paused for {sleeper.project}"]
    assert data(capsys, "schedule", "--resume") == {"project": str(sleeper.project), "resumed": False}


def test_the_status_says_that_nights_rest(sleeper: Small, capsys: Captured) -> None:
    assert data(capsys, "status")["paused"] is None
    note = data(capsys, "schedule", "--pause")["paused"]
    assert data(capsys, "status")["paused"] == note
    moment = datetime.fromisoformat(note).astimezone(UTC)
    line = f"paused since {moment:%Y-%m-%d %H:%M} (UTC); resume with: etude sleep schedule --resume"
    assert said(capsys, "status")[1] == line


def test_a_look_ahead_says_that_nights_rest(sleeper: Small, capsys: Captured) -> None:
    assert data(capsys, "run", "--dry-run")["paused"] is None
    said(capsys, "schedule", "--pause")
    assert data(capsys, "run", "--dry-run")["paused"]
    line = said(capsys, "run", "--dry-run")[0]
    assert line.startswith("paused since 20")
    assert line.endswith(" (UTC); resume with: etude sleep schedule --resume")


def test_the_state_and_the_project_may_be_named(sleeper: Small, capsys: Captured) -> None:
    other = sleeper.root / "other"
    other.mkdir()
    place = ["--project", str(other), "--state", str(sleeper.root / "elsewhere")]
    settings = ["--sleep.project", place[1], "--sleep.state", place[3]]
    assert data(capsys, "schedule", "--pause", *settings)["project"] == str(other)
    assert data(capsys, "status")["paused"] is None
    assert data(capsys, "status", *place)["paused"] is not None
    assert data(capsys, "schedule", "--resume", *settings) == {"project": str(other), "resumed": True}
