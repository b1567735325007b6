"""`etude sleep tasks`: from a night to a file, by a person's eyes, into another night."""

import json
import sys
from pathlib import Path

import pytest
from small_night import Small

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def one(sleeper: Small, capsys: Captured) -> Small:
    """After a night."""
    assert main(["sleep", "run", "--json"]) == 0
    capsys.readouterr()
    return sleeper


def test_the_tasks_of_a_night_are_listed_with_their_sides_and_criteria(one: Small, capsys: Captured) -> None:
    assert main(["sleep", "tasks"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["id", "split", "origin", "criteria", "intent"]
    assert sorted(row.split()[1] for row in rows) == ["train"] * 4 + ["val"]
    assert main(["sleep", "tasks", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reviewed"] is False


def test_a_file_is_used_by_a_night_once_a_person_has_reviewed_it(one: Small, capsys: Captured) -> None:
    file = one.project / "tasks.json"
    use = ["sleep", "run", "--sleep.tasks", str(file), "--json"]
    assert main(["sleep", "tasks", "1", "--to", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"wrote  {file}: read it")
    assert main(use) == 2
    assert "no person has reviewed these tasks" in json.loads(capsys.readouterr().out)["error"]
    assert main(["sleep", "tasks", "--reviewed", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"reviewed  {file}: set sleep.tasks to it"
    assert main(use) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == {"train": 4, "val": 1}


def test_a_file_that_is_there_is_never_overwritten(one: Small, capsys: Captured) -> None:
    file = one.project / "tasks.json"
    file.write_text("mine")
    assert main(["sleep", "tasks", "--to", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_reviewing_takes_neither_a_night_nor_another_file(one: Small, tmp_path: Path, capsys: Captured) -> None:
    for words in (["1", "--reviewed", "t.json"], ["--to", "u.json", "--reviewed", "t.json"]):
        assert main(["sleep", "tasks", *words]) == 2
        assert "--reviewed names a file of its own" in capsys.readouterr().err


def test_a_night_that_had_not_got_that_far_has_no_tasks(one: Small, capsys: Captured) -> None:
    (one.state.night(1) / "tasks.json").unlink()
    assert main(["sleep", "tasks"]) == 0
    assert capsys.readouterr().out == "there are no tasks\n"


def test_a_damaged_file_of_tasks_is_named(one: Small, capsys: Captured) -> None:
    (one.state.night(1) / "tasks.json").write_text("{")
    assert main(["sleep", "tasks"]) == 2
    assert "tasks.json' cannot be read" in capsys.readouterr().err


def a_file(*tasks: dict[str, object]) -> Path:
    path = Path("tasks.json")
    path.write_text(json.dumps({"format": "etude.tasks", "version": 1, "tasks": tasks}))
    return path


def task(name: str, **more: object) -> dict[str, object]:
    return {"id": name, "intent": "Write a brief.", "exact": ["x"], **more}


def reviewed(path: Path) -> bool:
    return json.loads(path.read_text()).get("reviewed", False)


def test_a_file_without_tasks_is_refused_where_a_person_reviews_it_and_before_a_night(
    sleeper: Small, capsys: Captured
) -> None:
    path = a_file()
    assert main(["sleep", "tasks", "--reviewed", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.err.splitlines()[0] == "error: tasks.json has no tasks"
    assert (captured.out, reviewed(path)) == ("", False)


def test_tasks_of_two_sides_with_the_same_text_are_refused_before_a_night(sleeper: Small, capsys: Captured) -> None:
    path = a_file(task("a"), task("b", split="val"))
    assert main(["sleep", "tasks", "--reviewed", str(path)]) == 0
    for verb in ("dry-run", "run"):
        capsys.readouterr()
        assert main(["sleep", verb, "--sleep.tasks", str(path)]) == 2
        assert "is in two splits: train 'a' = val 'b'" in capsys.readouterr().err


def test_an_answer_that_looks_like_a_secret_is_refused_where_a_person_reviews_it(
    sleeper: Small, capsys: Captured
) -> None:
    path = a_file(task("a", exact=["me@example.org"]))
    assert main(["sleep", "tasks", "--reviewed", str(path)]) == 2
    assert "asks for what looks like a secret" in capsys.readouterr().err
    assert not reviewed(path)


def test_a_command_is_reviewed_where_there_is_no_sandbox(
    sleeper: Small, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(sleeper.root / "nothing"))
    path = a_file(task("a", exact=[], command=[sys.executable]))
    assert main(["sleep", "tasks", "--reviewed", str(path)]) == 0
