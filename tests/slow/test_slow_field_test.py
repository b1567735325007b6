"""The field test over HTTP: forecast, hard cap, resumed, started again when it is done, and a result to be shared."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from etude.simulation.endpoint import Endpoint, running_endpoint

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "field_test.py"
KEY = "sk-of-nobody-1234567890abcdef"
FOLDER = Path("runs", "field-test")


def run(folder: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    models = ["--target", "openai:target", "--optimizer", "openai:optimizer", "--base-url", url]
    command = [sys.executable, str(SCRIPT), *models, "--key-env", "FIELD_KEY", "--sets", "slips", *words]
    environment = {**os.environ, "FIELD_KEY": KEY}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def result(place: Path) -> dict[str, Any]:
    return json.loads((place / FOLDER / "field-test.json").read_text())


def stopped_by_the_cap(folder: Path, endpoint: Endpoint) -> None:
    stopped = run(folder, endpoint.url, "--calls", "60", "--yes")
    assert (stopped.returncode, endpoint.stats()["received"]) == (3, 60), stopped.stderr
    states = {arm: row["state"] for arm, row in result(folder)["sets"]["slips"].items()}
    assert states == {
        "no skill": "finished",
        "default": "stopped: BudgetStop",
        "paper": "not begun: the cap is used up",
    }


def tells_nothing_private(place: Path, endpoint: Endpoint) -> None:
    folder = place / FOLDER
    shared = "".join((folder / f"field-test.{kind}").read_text() for kind in ("json", "md"))
    tasks = [json.loads(line) for line in (folder / "tasks" / "slips" / "test.jsonl").read_text().splitlines()]
    private = [KEY, endpoint.url, str(place), *(task[name] for task in tasks for name in ("id", "input"))]
    assert [text for text in private if text in shared] == []
    assert shared.count("| slips |") == 3


def test_it_forecasts_keeps_its_cap_resumes_and_tells_nothing_but_scores_and_counts(tmp_path: Path) -> None:
    with running_endpoint(key=KEY) as endpoint:
        forecast = run(tmp_path, endpoint.url, "--calls", "60")
        assert (forecast.returncode, endpoint.stats()["received"]) == (0, 0), forecast.stderr
        assert "cap     60 calls, for 3 runs together\nnothing was sent" in forecast.stdout
        stopped_by_the_cap(tmp_path, endpoint)
        done = run(tmp_path, endpoint.url, "--calls", "5000", "--yes")
        assert done.returncode == 0, done.stderr
        found, stats = result(tmp_path), endpoint.stats()
        assert found["complete"]
        rows = found["sets"]["slips"]
        assert sum(sum(row["calls"].values()) for row in rows.values()) == stats["received"]
        assert all(row["test"]["n"] == 40 and row["simulated"] for row in rows.values())

        again = run(tmp_path, endpoint.url, "--calls", "5000", "--yes")
        assert (again.returncode, endpoint.stats()["received"]) == (0, stats["received"])
        assert result(tmp_path) == found
    tells_nothing_private(tmp_path, endpoint)


def test_without_a_cap_it_does_not_begin(tmp_path: Path) -> None:
    refused = run(tmp_path, "http://127.0.0.1:9/v1", "--yes")
    assert refused.returncode == 2
    assert "a hard cap is needed: give --calls N or --usd X" in refused.stderr
