import json
import re
from pathlib import Path

import pytest

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]
CONFIG = "demo/etude.yaml"


def test_what_a_run_may_use_is_a_readable_table(fresh_project: Path, capsys: Captured) -> None:
    assert main(["plan", CONFIG, "--search.policy", "paper"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[:2] == [
        "SIMULATED MODELS: tokens, money and time say nothing about a real model.",
        "run 'demo': policy paper, 2 epochs; 40 train, 20 val, 30 test tasks",
    ]
    assert [re.split("  +", line) for line in lines[3:7]] == [
        ["", "at most", "tokens", "cost", "time"],
        ["attempts", "270"],
        ["target calls", "270", "unknown", "unknown", "unknown"],
        ["optimizer calls", "100", "unknown", "unknown", "unknown"],
    ]
    assert lines[7] == "unknown: the first calls will tell; limits.usd bounds the cost"
    assert lines[8] == "`etude audit` of a skill on all tasks takes at most 900 attempts"
    assert lines[-1] == "room for improvement: unknown; --measure finds out with 40 attempts"
    assert captured.err == ""
    assert not Path("demo/runs").exists()


def test_limits_are_named_and_cap_the_calls(fresh_project: Path, capsys: Captured) -> None:
    assert main(["plan", CONFIG, "--limits.calls", "500", "--limits.usd", "2"]) == 0
    out = capsys.readouterr().out
    assert "\ntarget calls     500 " in out
    assert "\nlimits, for all of it together: $2.00, 500 calls\nunknown: the first calls will tell\n" in out
    assert "\nas a rule 180 to 1,800 attempts, as simulated runs took; " in out  # of 40 and 20 tasks


def test_nothing_is_sent_without_measure(fresh_project: Path, capsys: Captured, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    dead = ["--target.model", "openai:none", "--optimizer.model", "anthropic:none"]
    assert main(["plan", CONFIG, *dead]) == 0
    capsys.readouterr()
    assert main(["plan", CONFIG, "--measure", *dead]) == 2
    assert "'OPENAI_API_KEY' is not set" in capsys.readouterr().err
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    dead = ["--target.model", "openai:none", "--target.base_url", "http://127.0.0.1:9/v1"]
    assert main(["plan", CONFIG, *dead]) == 0
    assert main(["plan", CONFIG, "--measure", *dead]) != 0


def test_checks_without_rubrics_need_no_judge_and_broken_ones_are_found_at_once(here: Path, capsys: Captured) -> None:
    def plan(op: str) -> int:
        rows = [{"input": f"Write {name}.", "gold": [{"op": op, "arg": "x"}]} for name in ("ham", "soup", "letter")]
        Path("tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        env = "{name: dataset, path: tasks.jsonl, scorer: checks, ratio: [1, 1, 1]}"
        models = "target: {model: simulated:target}\noptimizer: {model: simulated:optimizer}\n"
        Path("etude.yaml").write_text(f"env: {env}\n{models}")
        return main(["plan"])

    assert plan("contains") == 0
    capsys.readouterr()
    assert plan("contain") == 2
    assert "checks.0.op = 'contain': must be " in capsys.readouterr().err


def test_the_plan_comes_as_json(fresh_project: Path, capsys: Captured) -> None:
    assert main(["plan", CONFIG, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["tasks"] == {"train": 40, "val": 20, "test": 30}
    target = plan["forecast"]["roles"]["target"]
    assert target == {"calls": plan["forecast"]["attempts"], "tokens": None, "usd": None, "seconds": None}
    assert [split["split"] for split in plan["detectable"]] == ["val", "test"]
    assert plan["headroom"] is None
    assert plan["warnings"] == []


def test_measuring_says_first_what_it_takes(fresh_project: Path, capsys: Captured) -> None:
    assert main(["plan", CONFIG, "--measure"]) == 0
    captured = capsys.readouterr()
    first, second = captured.err.splitlines()
    assert first.endswith("note: measuring: 40 attempts at validation tasks with the initial skill")
    assert "baseline" in second
    lines = captured.out.splitlines()
    assert re.fullmatch(r"target calls +[\d,]+ +\d+k to [\d.]+M +\$0\.00 +\d:\d\d to \d:\d\d", lines[5])
    headroom = next(number for number, line in enumerate(lines) if line.startswith("room for improvement: "))
    assert re.fullmatch(
        r"room for improvement: the initial skill scores 0\.\d\d \[.*\] on 20 validation tasks, 2 trials",
        lines[headroom],
    )
    assert re.fullmatch(r"  \d+ of 20 tasks always pass, \d+ never pass", lines[headroom + 1])
    assert lines[headroom + 3].startswith("  noise: ")
    assert "  val   " in "\n".join(lines)
    assert "measured)" in "\n".join(lines)
    assert main(["plan", CONFIG]) == 0
    assert capsys.readouterr().out.splitlines() == lines


def test_warnings_have_hints_and_are_no_failure(fresh_project: Path, capsys: Captured) -> None:
    assert main(["plan", CONFIG, "--limits.calls", "20"]) == 0
    warning, hint = capsys.readouterr().out.splitlines()[-2:]
    assert re.fullmatch(r"warning: limits.calls = 20 is below the \d+ that the test of a run takes: .*", warning)
    assert hint == "  hint: raise limits.calls, or plan for less: fewer train.epochs, smaller splits"


def test_what_a_run_warns_of_stands_once_below_the_plan(fresh_project: Path, capsys: Captured) -> None:
    assert main(["plan", CONFIG, "--target.temperature", "0", "--test.trials", "2"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.count("tells nothing new") == 1
