import json
import re
from pathlib import Path

import pytest

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]
RUN = "demo/runs/demo"
BEST = f"{RUN}/best/everyday-tasks"


def test_a_skill_is_scored_with_an_interval(demo_project: Path, capsys: Captured) -> None:
    assert main(["evaluate", "demo/etude.yaml", "--skill", BEST]) == 0
    captured = capsys.readouterr()
    first, skill, score, file = captured.out.splitlines()
    assert first == "SIMULATED MODELS: these scores say nothing about a real model."
    assert skill.startswith("skill   everyday-tasks (")
    summary = json.loads(Path("demo/runs/demo/summary.json").read_text())
    best = summary["best"]["test"]
    assert score == f"test    {best['mean']:.2f} [{best['low']:.2f}, {best['high']:.2f}]  n=30, share solved"
    assert Path(file.split()[1]).exists()


def test_several_trials_and_the_skill_of_the_settings(demo_project: Path, capsys: Captured) -> None:
    words = ["evaluate", "demo/etude.yaml", "--trials", "2", "--env.limit={test: 10}"]
    assert main([*words, "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["evaluations"]
    assert result["trials"] == 2
    assert result["score"]["n"] == 10
    assert result["simulated"] is True
    assert main(words) == 0
    assert "n=10, 2 trials each, share solved" in capsys.readouterr().out


def test_no_skill_is_measured_without_a_word_about_training(fresh_project: Path, capsys: Captured) -> None:
    assert main(["evaluate", "demo/etude.yaml", "--skill", "none", "--split", "val"]) == 0
    assert "training" not in capsys.readouterr().err


def test_only_who_trains_needs_the_key_of_the_optimizer(fresh_project: Path, capsys: Captured) -> None:
    keyless = ["demo/etude.yaml", "--optimizer.model", "openai:none"]
    assert main(["evaluate", *keyless, "--split", "val"]) == 0
    assert main(["train", *keyless]) == 2
    assert "'OPENAI_API_KEY' is not set" in capsys.readouterr().err


def test_validation_needs_no_test_tasks(fresh_project: Path, capsys: Captured) -> None:
    settings = fresh_project / "etude.yaml"
    settings.write_text(re.sub("  test: data.*\n", "  limit: 5\n", settings.read_text()))
    assert main(["evaluate", str(settings), "--split", "val", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluations"][0]["score"]["n"] == 5
    assert main(["evaluate", str(settings)]) == 2
    assert "error: split 'test' has no tasks" in capsys.readouterr().err


def test_a_stop_names_the_command_that_goes_on(fresh_project: Path, capsys: Captured) -> None:
    assert main(["evaluate", "demo/etude.yaml", "--limits.calls", "5", "--json"]) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["exit_code"] == 3
    command = "etude evaluate demo/etude.yaml --limits.calls 5 --json"
    assert captured.err.endswith(f"\nresume (with a larger --limits.calls): {command}\n")


ROWS = ["evaluate", "demo/etude.yaml", "--env.limit={test: 10}", "--skill", f"{RUN}:initial", "--skill", BEST]
ROWS += ["--run.name", "scores", "--limits.calls", "13"]
"""Two skills on ten tasks: the limit ends the second row."""


def test_in_json_the_finished_rows_and_the_stop_are_one_object(demo_project: Path, capsys: Captured) -> None:
    assert main([*ROWS, "--json"]) == 3
    result = json.loads(capsys.readouterr().out)
    assert [row["label"] for row in result["evaluations"]] == [f"{RUN}:initial"]
    assert result["error"].startswith("limits.calls = 13 ")
    assert result["exit_code"] == 3


def test_several_skills_and_models_make_one_table(demo_project: Path, capsys: Captured) -> None:
    words = ["evaluate", "demo/etude.yaml", "--env.limit={test: 20}"]
    words += ["--skill", f"{RUN}:initial", "--skill", BEST]
    words += ["--target", "simulated:target", "--target", "simulated:target-steady"]
    assert main([*words, "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["evaluations"]
    assert [result["label"] for result in results] == [f"{RUN}:initial"] * 2 + [BEST] * 2
    assert [result["target"] for result in results] == ["simulated:target", "simulated:target-steady"] * 2
    assert [result["calls_sent"] for result in results] == [0, 20, 0, 20]
    assert len({result["file"] for result in results}) == 4
    assert results[0]["hash"] == results[1]["hash"] != results[2]["hash"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "SIMULATED MODELS: these scores say nothing about a real model."
    assert re.split("  +", lines[1]) == ["skill", "model", "mean", "95% interval", "n", "errors", "calls sent"]
    score = results[2]["score"]
    interval = f"[{score['low']:.3f}, {score['high']:.3f}]"
    assert re.split("  +", lines[4]) == [BEST, "simulated:target", f"{score['mean']:.3f}", interval, "20", "0", "0"]
    assert lines[-1] == "test split, 1 trial, share solved"


def test_another_model_has_no_known_price(demo_project: Path, capsys: Captured) -> None:
    words = ["evaluate", "demo/etude.yaml", "--limits.usd", "1"]
    words += [
        "--target",
        "openai:other",
        "--target.price={input: 1, output: 1}",
        "--target.base_url=http://127.0.0.1:9",
    ]
    assert main(words) == 2
    assert "needs the price of every model, target.price is not set" in capsys.readouterr().err


def test_a_model_that_does_not_exist_is_reported_before_the_first_call(demo_project: Path, capsys: Captured) -> None:
    words = ["evaluate", "demo/etude.yaml", "--target", "simulated:target", "--target", "simulated:nobody"]
    assert main([*words, "--trials", "2"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: unknown simulated model 'nobody'")
    assert captured.out == ""


def test_an_evaluation_is_written_in_the_form_of_agent_skills(demo_project: Path, capsys: Captured) -> None:
    words = ["evaluate", "demo/etude.yaml", "--env.limit={test: 10}", "--skill", "none", "--skill", BEST]
    assert main([*words, "--evals", "results", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["evaluations"]
    summary = json.loads(Path("results/benchmark.json").read_text())["run_summary"]
    means = [summary[arm]["pass_rate"]["mean"] for arm in ("without_skill", "with_skill")]
    assert means == [pytest.approx(row["score"]["mean"], abs=1e-4) for row in rows]
    assert len(list(Path("results").glob("eval-*/with_skill/run-1/grading.json"))) == 10


def test_a_benchmark_has_one_skill_and_none_beside_it(demo_project: Path, capsys: Captured) -> None:
    words = ["evaluate", "demo/etude.yaml", "--skill", f"{RUN}:initial", "--skill", BEST, "--evals", "results"]
    assert main(words) == 2
    assert "--evals writes one skill, and none beside it, with one model" in capsys.readouterr().err
    assert not Path("results").exists()
