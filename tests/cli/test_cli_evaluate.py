import json
from pathlib import Path

import pytest

from skillgrad.cli.main import main

Captured = pytest.CaptureFixture[str]
BEST = "demo/runs/demo/best/everyday-tasks"


def test_a_skill_is_scored_with_an_interval(demo_project: Path, capsys: Captured) -> None:
    assert main(["evaluate", "demo/skillgrad.yaml", "--skill", BEST]) == 0
    captured = capsys.readouterr()
    first, skill, score, file = captured.out.splitlines()
    assert first == "SIMULATED MODELS: these scores say nothing about a real model."
    assert skill.startswith("skill   everyday-tasks (")
    summary = json.loads(Path("demo/runs/demo/summary.json").read_text())
    best = summary["best"]["test"]
    assert score == f"test    {best['mean']:.2f} [{best['low']:.2f}, {best['high']:.2f}]  n=120, mean hard score"
    assert Path(file.split()[1]).exists()


def test_what_the_run_knows_is_not_asked_again(demo_project: Path, capsys: Captured) -> None:
    main(["evaluate", "demo/skillgrad.yaml", "--skill", BEST, "--split", "val", "--json"])
    journal = Path("demo/runs/demo/events.jsonl").read_text().splitlines()
    start = max(number for number, line in enumerate(journal) if "stage_started" in line)
    assert not any("call_finished" in line for line in journal[start:])


def test_several_trials_and_the_skill_of_the_settings(demo_project: Path, capsys: Captured) -> None:
    words = ["evaluate", "demo/skillgrad.yaml", "--trials", "2", "--env.limit={test: 10}"]
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["trials"] == 2
    assert result["score"]["n"] == 10
    assert result["simulated"] is True
    assert main(words) == 0
    assert "n=10, 2 trials each, mean hard score" in capsys.readouterr().out


def test_a_missing_skill_is_an_error(demo_project: Path, capsys: Captured) -> None:
    assert main(["evaluate", "demo/skillgrad.yaml", "--skill", "nope"]) == 2
    assert "error: skill 'nope' does not exist" in capsys.readouterr().err


def test_a_stop_names_the_command_that_goes_on(fresh_project: Path, capsys: Captured) -> None:
    assert main(["evaluate", "demo/skillgrad.yaml", "--limits.calls", "5", "--json"]) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["exit_code"] == 3
    assert captured.err.endswith("\nresume: skillgrad evaluate demo/skillgrad.yaml --limits.calls 5 --json\n")
