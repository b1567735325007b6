"""What status, the report and explain say of adoptions that stand, and of where tasks come from."""

import json
from datetime import timedelta

import pytest
from briefs_sessions import START
from cli_said import Captured, data, said
from sleep_proposals import Project, offer
from small_night import Small

from etude.cli.main import main
from etude.sleep.adoption.adopt import adopt
from etude.sleep.adoption.canary import Corrections
from etude.sleep.transcripts.corrections import keep

HARM = "canary    night 1 (CLAUDE.md): worse; corrected 12 of 30 turns since, 1 of 45 turns before; p < 0.001"
BACK = "  take it back with: etude sleep revert 1"


@pytest.fixture
def adopted(sleeper: Small) -> Small:
    """After a night and an adoption of a rule for the memory file, a year before."""
    assert main(["sleep", "run", "--json"]) == 0
    place = Project(sleeper.project, sleeper.state.folder)
    receipt = adopt(offer(place, [(place.memory, "- A rule.\n")], night="0001"), place.root, place.state)
    at = START - timedelta(days=365)
    receipt.place(place.state).write_text(receipt.model_copy(update={"at": at}).model_dump_json())
    return sleeper


def heard(small: Small, days: int, turns: int, corrected: int) -> None:
    """A session so many days after the adoption."""
    at = START + timedelta(days=days - 365)
    one = Corrections(
        source="claude-code", id=f"s{days}", agent="claude-code", at=at, turns=turns, corrected=corrected
    )
    keep(small.state, [one])


def test_few_turns_are_watched(adopted: Small, capsys: Captured) -> None:
    (line,) = [line for line in said(capsys, "status") if line.startswith("canary")]
    assert line.startswith("canary    night 1 (CLAUDE.md): watching; corrected ")
    assert line.endswith(" of 15 turns since, 0 of 0 turns before; 20 on each side tell something")


def test_an_adoption_that_does_harm_is_told_with_the_way_back_and_stays(adopted: Small, capsys: Captured) -> None:
    corrected = data(capsys, "status")["canary"][0]["after"]["corrected"]
    heard(adopted, -1, 45, 1)
    heard(adopted, 1, 15, 12 - corrected)
    for words in (["status"], ["run"], ["explain", "1"], ["explain", "2"]):
        lines = said(capsys, *words)
        at = lines.index(HARM)
        assert lines[at + 1] == BACK
    assert data(capsys, "status")["canary"][0]["verdict"] == "worse"
    assert data(capsys, "explain", "2")["canary"][0]["verdict"] == "worse"
    assert "- A rule." in (adopted.project / "CLAUDE.md").read_text()


def test_what_was_taken_back_is_not_told(adopted: Small, capsys: Captured) -> None:
    said(capsys, "revert", "1")
    assert data(capsys, "status")["canary"] == []
    assert data(capsys, "explain", "1")["canary"] == []


def test_explain_says_where_tasks_come_from(sleeper: Small, capsys: Captured) -> None:
    git = sleeper.project / ".git"
    git.mkdir()
    (git / "HEAD").write_text("a" * 40)
    said(capsys, "run")
    lines = said(capsys, "explain")
    at = lines.index("where the tasks come from")
    tasks = sleeper.tasks()
    assert lines[at + 1 : at + 3] == [
        f"  {tasks[0]['id']}  {sleeper.project}",
        f"    commit {'a' * 12} (at harvest)",
    ]
    assert data(capsys, "explain")["snapshots"] == {task["id"]: task["snapshots"] for task in tasks}


def test_a_task_file_says_where_tasks_come_from_and_is_read_again(sleeper: Small, capsys: Captured) -> None:
    said(capsys, "run")
    said(capsys, "tasks", "1", "--to", "tasks.json")
    written = json.loads((sleeper.project / "tasks.json").read_text())["tasks"]
    assert all(task["snapshots"] for task in written)
    said(capsys, "tasks", "--reviewed", "tasks.json")
    assert json.loads((sleeper.project / "tasks.json").read_text())["tasks"] == written
