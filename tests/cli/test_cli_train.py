import json
from pathlib import Path

import pytest

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]
CONFIG = "demo/etude.yaml"
PAPER = ["--search.policy", "paper"]
QUICK = ["--train.epochs", "1", "--env.limit={train: 12, val: 8, test: 6}"]


def test_training_prints_scores_with_intervals_costs_and_the_place_of_the_skill(
    fresh_project: Path, capsys: Captured
) -> None:
    assert main(["train", CONFIG, *PAPER, *QUICK]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0] == "SIMULATED MODELS: these scores say nothing about a real model."
    assert any(line.startswith("validation  ") and "n=8" in line for line in lines)
    assert any(line.startswith("test  ") and " -> " in line for line in lines)
    assert any(line.startswith("calls ") for line in lines)
    best = next(line for line in lines if line.startswith("best skill")).split()[-1]
    assert Path(best).read_text().startswith("---\nname: everyday-tasks")


def test_a_step_in_which_nobody_proposes_an_edit_is_told_of_once(fresh_project: Path, capsys: Captured) -> None:
    small = ["--search.batch_size", "4", "--env.limit={train: 20, val: 12, test: 5}", "--test.enabled", "false"]
    perfect = ["--target.model", "simulated:target-steady", "--optimizer.model", "simulated:optimizer-perfect"]
    main(["train", CONFIG, *PAPER, *small, *perfect, "--train.epochs", "2"])
    lines = [line[9:] for line in capsys.readouterr().err.splitlines()]
    idle = next(at for at, line in enumerate(lines) if " reflect: 0 edits from " in line)
    assert "skipped: no edit changed anything" in lines[idle + 1]


TRACKER = """from etude.connect import Tracker


class Mine(Tracker):
    name = "mine"

    def begin(self, run):
        return False

    def point(self, point):
        pass

    def end(self, ending):
        raise OSError(f"no disk for {ending.state}")
"""


def test_trackers_can_be_named_on_the_command_line(fresh_project: Path, capsys: Captured) -> None:
    assert main(["train", CONFIG, *QUICK, "--report-to", "trackio,trakio"]) == 2
    assert "unknown tracker 'trakio'" in capsys.readouterr().err
    Path("tracker_for_train.py").write_text(TRACKER)
    assert main(["train", CONFIG, *PAPER, *QUICK, "--report-to", "tracker_for_train:Mine"]) == 0
    assert "warning: tracker 'mine' failed: 'OSError: no disk for finished'" in capsys.readouterr().err


def test_other_settings_for_the_same_run_are_refused_and_a_fork_takes_over_its_facts(
    paper_project: Path, capsys: Captured
) -> None:
    assert main(["train", CONFIG, *PAPER, "--train.epochs", "2", "--search.batch_size", "30"]) == 2
    captured = capsys.readouterr()
    assert "search.batch_size: was 20, now 30" in captured.err
    assert "--fork" in captured.err
    words = ["train", CONFIG, "--json", *PAPER, "--search.batch_size", "10", *QUICK]
    assert main([*words, "--name", "forked", "--fork", "demo"]) == 0
    forked = json.loads(capsys.readouterr().out)
    assert main([*words, "--name", "alone"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert forked["best"] == alone["best"]
    known = alone["initial"]["val"]["n"] + alone["initial"]["test"]["n"]
    assert forked["cost"]["target_calls"] + known <= alone["cost"]["target_calls"]


def test_a_budget_stops_with_what_there_is_and_the_command_to_go_on(fresh_project: Path, capsys: Captured) -> None:
    words = ["train", CONFIG, "--limits.calls", "30", *QUICK]
    assert main(words) == 3
    captured = capsys.readouterr()
    assert "stopped     limits.calls = 30 is reached" in captured.out
    error, hint, resume = captured.err.splitlines()[-3:]
    assert error.startswith("error: limits.calls = 30 is reached")
    assert hint.startswith("hint: raise `limits.calls`")
    assert resume == (
        "resume (with a larger --limits.calls): etude train demo/etude.yaml --limits.calls 30 "
        "--train.epochs 1 '--env.limit={train: 12, val: 8, test: 6}'"
    )
    assert main([*words, "--json"]) == 3
    stopped = json.loads(capsys.readouterr().out)
    assert stopped["stopped"].startswith("limits.calls = 30 is reached")
    assert stopped["best"]["test"] is None


def test_a_search_that_was_stopped_hands_out_what_nothing_has_shown_to_be_better(
    fresh_project: Path, capsys: Captured
) -> None:
    assert main(["train", CONFIG, "--limits.calls", "250", "--env.limit={train: 40}"]) == 3
    out = capsys.readouterr().out
    assert (
        "no skill has been scored yet\nnote        nothing shows yet that best is better than the initial skill\n"
        in out
    )
    assert "best skill" in out


def test_time_that_is_up_needs_no_larger_limit(fresh_project: Path, capsys: Captured) -> None:
    assert main(["train", CONFIG, "--limits.minutes", "1e-9", *QUICK]) == 3
    assert capsys.readouterr().err.splitlines()[-1].startswith("resume: etude train ")


def test_a_stop_before_the_run_began_is_an_error_object(fresh_project: Path, capsys: Captured) -> None:
    words = [
        "train",
        CONFIG,
        "--json",
        "--target.model",
        "openai:target",
        "--target.base_url",
        "http://127.0.0.1:9/v1",
    ]
    assert main([*words, "--limits.outage_seconds", "0.2"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["stopped"].startswith("target model 'openai:target' at http://127.0.0.1:9/v1")
    assert captured.err.splitlines()[-1].startswith("resume: etude train demo/etude.yaml --json")


def test_without_an_accepted_candidate_the_report_says_so(fresh_project: Path, capsys: Captured) -> None:
    assert main(["train", CONFIG, "--optimizer.model", "simulated:optimizer-useless", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "nothing was shown to be better: the best skill is the initial one" in out
    assert "selected" not in out
    assert "test gain" not in out
