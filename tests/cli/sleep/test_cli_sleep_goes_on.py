"""Nights that were killed or stopped: what is said of them, and how they go on."""

import json
from pathlib import Path

from cli_said import Captured, data, said
from small_night import Small

from etude.sleep.transcripts.ledger import Ledger

STOPPED = ["--limits.calls", "9", "--sleep.max_tasks", "4"]


def killed(small: Small) -> None:
    """Leave what a killed process leaves of the first night."""
    folder = small.state.night(1)
    report = json.loads((folder / "night.json").read_text())
    began = {"status": "running", "resumes": True, "reason": "", "hint": "", "spent": {"calls": 0, "tokens": 0}}
    (folder / "night.json").write_text(json.dumps({**report, **began}))


def test_a_killed_night_tells_what_it_has_used_and_names_no_file_that_is_not_there(
    sleeper: Small, capsys: Captured
) -> None:
    used = data(capsys, "run", *STOPPED, code=3)["spent"]
    assert used["calls"] == 9
    killed(sleeper)
    lines = said(capsys, "show")
    assert f"spent      9 calls, {used['tokens']:,} tokens, 0.0000 USD" in lines
    assert not any(line.startswith("all of it") for line in lines)
    assert data(capsys, "show")["spent"] == used


def test_what_a_night_under_way_has_used_is_not_counted(sleeper: Small, capsys: Captured) -> None:
    said(capsys, "run", *STOPPED, code=3)
    killed(sleeper)
    with Ledger(sleeper.state.ledger):
        assert "spent      not counted yet" in said(capsys, "show")


def test_a_dry_run_names_the_night_that_a_run_would_go_on_with(sleeper: Small, capsys: Captured) -> None:
    shown = "resumes    night 1, if settings and documents are the same; below is a whole night"
    assert shown not in said(capsys, "run", "--dry-run")
    said(capsys, "run", *STOPPED, code=3)
    assert shown in said(capsys, "run", "--dry-run", *STOPPED)
    assert data(capsys, "run", "--dry-run")["resumes"] == 1


def test_a_dry_run_counts_what_is_taken_out_of_a_task_file(sleeper: Small, capsys: Captured) -> None:
    task = {"id": "a", "intent": "Write to me@example.org about risks.", "exact": ["x"]}
    file = {"format": "etude.tasks", "version": 1, "reviewed": True, "tasks": [task]}
    Path("tasks.json").write_text(json.dumps(file))
    assert "redacted   1 email" in said(capsys, "run", "--dry-run", "--sleep.tasks", "tasks.json")
    assert data(capsys, "run", "--dry-run", "--sleep.tasks", "tasks.json")["redacted"] == {"email": 1}
