"""Whole runs in which programs score attempts, code changes workbooks, and tests look at what an agent left."""

import json
import sys
from pathlib import Path

import pytest
from small_run import agrees

from etude import Skill, Trainer
from etude.cli.main import main
from etude.simulation import SEED_SKILL, make_tasks
from trusting import trust

ROOT = Path(__file__).resolve().parents[2]
SPREADSHEETS = ROOT.parent / "shared" / "data" / "spreadsheetbench"


def run(capsys, *words: str) -> dict:
    code = main(["train", *words, "--json"])
    out = capsys.readouterr().out
    assert code == 0, out
    summary = json.loads(out)
    assert main(["verify", str(Path(summary["folder"], summary["best"]["skill"])), summary["folder"]]) == 0
    capsys.readouterr()
    return summary


def test_the_project_with_a_grader_of_its_own_trains_and_a_second_start_calls_nobody(tmp_path, capsys) -> None:
    words = [str(ROOT / "examples" / "command" / "etude.yaml"), "--run.folder", str(tmp_path)]
    words += ["--env.limit={train: 8, val: 4, test: 4}", "--env.split_seed", "14", "--train.epochs", "1"]
    words += ["--test.no_skill", "false", "--search.policy", "paper"]  # four validation tasks show no gain
    trust(words[0])
    first = run(capsys, *words)
    assert first["test_gain"]["mean"] > 0.2
    assert main(["train", *words, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["cost"]["target_calls"] == first["cost"]["target_calls"]
    assert again["test_gain"] == first["test_gain"]


def test_the_settings_for_the_published_workbooks_run(tmp_path, capsys) -> None:
    if not SPREADSHEETS.exists():
        pytest.skip("the data set spreadsheetbench is not on this machine")
    config = str(ROOT / "examples" / "spreadsheet" / "etude.yaml")
    limits = ["--env.limit", "2", "--env.turns", "2", "--train.epochs", "1"]
    summary = run(capsys, config, "--env.path", str(SPREADSHEETS), "--run.folder", str(tmp_path), *limits)
    assert summary["voids"] == 0
    assert summary["test_gain"]["n"] == 2


CHECK = """import json, os, pathlib, sys
expected = json.loads(pathlib.Path(__file__).with_name("expected.json").read_text())[os.environ["ETUDE_TASK_ID"]]
found = pathlib.Path("answer.txt").read_text().strip() if os.path.exists("answer.txt") else "no answer.txt"
assert pathlib.Path("notes/rules.md").read_text() == "Be brief."
print(f"expected: {expected}; got: {found}")
sys.exit(expected != found)
"""


@pytest.mark.slow
def test_an_agent_with_tools_learns_from_a_check_of_its_workspace(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "start" / "notes").mkdir(parents=True)
    (tmp_path / "start" / "notes" / "rules.md").write_text("Be brief.")
    (tmp_path / "checks" / "check.py").write_text(CHECK)
    tasks = make_tasks("counting", 12, seed=5)
    (tmp_path / "checks" / "expected.json").write_text(json.dumps({task.id: str(task.gold) for task in tasks}))
    rows = [
        {"id": task.id, "input": f"{task.input} Write the answer to answer.txt.", "files": "start"} for task in tasks
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {
        "env": {
            "name": "command",
            "path": str(tmp_path / "tasks.jsonl"),
            "ratio": [1, 1, 1],
            "fields": {"files": "files"},
            "check": [sys.executable, "checks/check.py"],
        },
        "agent": {"name": "tools"},
        "train": {"epochs": 1},
        "limits": {"concurrency": 4},
        "run": {"folder": str(tmp_path / "runs"), "name": "checked"},
    }
    summary = Trainer(config, skill=Skill(name="counting", text=SEED_SKILL)).train()
    assert agrees(config, skill=Skill(name="counting", text=SEED_SKILL))
    assert summary.voids == 0
    assert summary.best.val is not None
    assert summary.accepted > 0
