"""`sleep schedule --pause` and `--resume`."""

from cli_said import Captured, data, said
from small_night import Small, tree

LINE = "paused: no night begins until `etude sleep schedule --resume`"


def test_a_paused_project_has_no_night_until_it_is_resumed(sleeper: Small, capsys: Captured) -> None:
    assert data(capsys, "status")["paused"] is data(capsys, "run", "--dry-run")["paused"] is False
    assert said(capsys, "schedule", "--pause") == [LINE]
    assert said(capsys, "schedule", "--pause") == [LINE]
    before = tree(sleeper.root)
    assert said(capsys, "run") == [LINE]
    assert data(capsys, "run") == {"status": "paused"}
    assert (said(capsys, "status")[1], said(capsys, "run", "--dry-run")[0]) == (LINE, LINE)
    assert data(capsys, "status")["paused"] is data(capsys, "run", "--dry-run")["paused"] is True
    assert tree(sleeper.root) == before
    for _ in range(2):
        assert said(capsys, "schedule", "--resume") == [f"resumed  {sleeper.project}"]
    assert data(capsys, "run")["night"] == 1


def test_the_project_may_be_named(sleeper: Small, capsys: Captured) -> None:
    other = sleeper.root / "other"
    other.mkdir()
    place, settings = ["--project", str(other)], ["--sleep.project", str(other)]
    assert data(capsys, "schedule", "--pause", *settings)["project"] == str(other)
    assert not data(capsys, "status")["paused"]
    assert data(capsys, "status", *place)["paused"]
    assert data(capsys, "schedule", "--resume", *settings) == {"project": str(other), "paused": False}
