import json
from pathlib import Path

import pytest

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]


def test_the_demo_shows_a_clear_rise_on_the_test_split_after_half_of_its_epochs(demo_done: Path) -> None:
    summary = json.loads((demo_done / "runs/demo/summary.json").read_text())
    assert summary["simulated"] is True
    assert summary["best"]["test"]["low"] > summary["initial"]["test"]["high"]
    assert summary["test_gain"]["low"] > 0.2


def test_the_commands_to_try_next_work(small_project: Path, capsys: Captured) -> None:
    main(["demo", "--folder", "demo"])
    out = capsys.readouterr().out
    commands = [line.split() for line in out.splitlines() if line.startswith("  etude ")]
    assert len(commands) == 4
    for _, *words in commands[:2]:
        assert main(words) == 0
    assert main([*commands[2][1:], "--train.epochs", "1"]) == 0


def test_as_json_the_demo_prints_the_summary_alone(small_project: Path, capsys: Captured) -> None:
    assert main(["demo", "--folder", "demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "demo"


def test_a_folder_with_something_else_in_it_is_left_alone(here: Path, capsys: Captured) -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("precious")
    assert main(["demo", "--folder", "mine"]) == 2
    assert capsys.readouterr().err == (
        "error: 'mine' is not empty and is not a demo project\nhint: give another --folder\n"
    )
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_made_is_an_error(here: Path, capsys: Captured) -> None:
    Path("file").write_text("")
    assert main(["demo", "--folder", "file/demo"]) == 2
    assert "'file/demo' cannot be written: Not a directory" in capsys.readouterr().err
