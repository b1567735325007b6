"""`etude sleep show --tasks`: from a night to a file, by a person's eyes, into another night."""

import json
from pathlib import Path

import pytest
from small_night import Small
from task_files import mark_reviewed

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]


def test_the_tasks_of_a_night_are_listed_with_their_sides_and_criteria(one: Small, capsys: Captured) -> None:
    assert main(["sleep", "show", "--tasks"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["id", "split", "origin", "criteria", "intent"]
    assert sorted(row.split()[1] for row in rows) == ["train"] * 3 + ["val"] * 2
    assert main(["sleep", "show", "--tasks", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reviewed"] is False


def test_a_file_is_used_by_a_night_once_a_person_has_reviewed_it(one: Small, capsys: Captured) -> None:
    file = one.project / "tasks.json"
    use = ["sleep", "run", "--sleep.tasks", str(file), "--json"]
    assert main(["sleep", "show", "--tasks", "1", "--to", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"wrote  {file}: read it")
    assert main(use) == 2
    assert "no person has reviewed these tasks" in json.loads(capsys.readouterr().out)["error"]
    mark_reviewed(file)
    assert main(use) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == {"train": 3, "val": 2}


def test_a_file_that_is_there_is_never_overwritten(one: Small, capsys: Captured) -> None:
    file = one.project / "tasks.json"
    file.write_text("mine")
    assert main(["sleep", "show", "--tasks", "--to", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_a_night_that_had_not_got_that_far_has_no_tasks(one: Small, capsys: Captured) -> None:
    (one.state.night(1) / "tasks.json").unlink()
    assert main(["sleep", "show", "--tasks"]) == 0
    assert capsys.readouterr().out == "there are no tasks\n"
    file = one.project / "tasks.json"
    assert main(["sleep", "show", "--tasks", "--to", str(file)]) == 2
    assert "error: night 1 has no tasks" in capsys.readouterr().err
    assert not file.exists()


def a_file(*tasks: dict[str, object]) -> Path:
    path = Path("tasks.json")
    path.write_text(json.dumps({"format": "etude.tasks", "version": 1, "reviewed": True, "tasks": tasks}))
    return path


def task(name: str, **more: object) -> dict[str, object]:
    return {"id": name, "intent": "Write a brief.", "exact": ["x"], **more}


def test_tasks_of_two_sides_with_the_same_text_are_refused_before_a_night(sleeper: Small, capsys: Captured) -> None:
    path = a_file(task("a"), task("b", split="val"))
    for verb in (["run", "--dry-run"], ["run"]):
        assert main(["sleep", *verb, "--sleep.tasks", str(path)]) == 2
        assert "is in two splits: train 'a' = val 'b'" in capsys.readouterr().err
