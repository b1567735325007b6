import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.config import RunSection
from etude.store import RunFolder

Captured = pytest.CaptureFixture[str]
CONFIG = "demo/etude.yaml"
IN = ["--folder", "demo/runs"]


def make_run(name: str, days: float = 0) -> Path:
    """A run in which something happened so many days ago."""
    with RunFolder.open(RunSection(folder="demo/runs", name=name)) as run:
        path = run.path
        run.write_text("config.yaml", "")
    when = time.time() - days * 86_400
    os.utime(path / "events.jsonl", (when, when))
    return path


def listed(capsys: Captured) -> dict[str, dict[str, object]]:
    assert main(["runs", *IN, "--json"]) == 0
    return {run["name"]: run for run in json.loads(capsys.readouterr().out)}


def test_runs_are_listed_with_state_scores_spending_and_disk_use(demo_project: Path, capsys: Captured) -> None:
    main(["train", CONFIG, "--name", "two", "--limits.calls", "100"])
    capsys.readouterr()
    runs = listed(capsys)
    assert list(runs) == ["two", "demo"]  # the one that changed last comes first
    demo, two = runs["demo"], runs["two"]
    summary = json.loads(Path("demo/runs/demo/summary.json").read_text())
    assert (demo["state"], demo["steps"]) == ("finished", summary["steps"])
    means = [score and score["mean"] for score in (summary["best"]["val"], summary["best"]["test"])]
    assert [demo["val"], demo["test"]] == means
    assert demo["calls"] == summary["cost"]["target_calls"] + summary["cost"]["optimizer_calls"]
    assert (demo["usd"], demo["simulated"], demo["resume"]) == (0.0, True, None)
    files = [path for path in Path("demo/runs/demo").rglob("*") if path.is_file()]
    assert abs(sum(path.stat().st_size for path in files) - int(str(demo["bytes"]))) < 100_000
    assert (two["state"], two["calls"], two["test"]) == ("stopped", 100, None)
    assert str(two["why"]).startswith("limits.calls = 100 is reached")
    assert two["resume"] == "etude train demo/runs/two/config.yaml"
    assert (two["raise_limit"], demo["raise_limit"]) == ("limits.calls", None)
    assert main(["runs", *IN]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "run"
    assert lines[1].split()[:2] == ["two", "stopped"]
    name, state, steps, verdict, *scores = lines[2].split()[:8]
    assert (name, state, steps.partition("/")[0]) == ("demo", "finished", str(summary["steps"]))
    initial, gain = summary["initial"]["test"]["mean"], summary["test_gain"]["mean"]
    assert (verdict, *scores) == (
        summary["verdict"],
        *(f"{score:.2f}*" for score in (means[0], initial, means[1])),
        f"{gain:+.2f}*",
    )
    assert lines[3] == "* simulated models: the score says nothing about a real model"
    assert lines[4].startswith("two: limits.calls = 100 is reached")
    assert lines[5] == "resume two (with a larger --limits.calls): etude train demo/runs/two/config.yaml"
    assert lines[6].startswith("2 runs, ")


def test_running_and_unfinished_runs_are_told_apart(demo_project: Path, capsys: Captured) -> None:
    make_run("new")
    with RunFolder.open(RunSection(folder="demo/runs", name="demo")):
        runs = listed(capsys)
    assert (runs["demo"]["state"], runs["demo"]["resume"]) == ("running", None)
    assert (runs["new"]["state"], runs["new"]["steps"], runs["new"]["planned_steps"]) == ("died", 0, None)
    main(["runs", *IN])
    assert "new   died      0 " in capsys.readouterr().out


def test_what_was_stopped_before_it_measured_anything_says_why_until_it_has(
    fresh_project: Path, capsys: Captured
) -> None:
    def states(*words: str) -> tuple[int, object, object]:
        code = main(["evaluate", CONFIG, *words])
        capsys.readouterr()
        run = listed(capsys)["demo"]
        return code, run["state"], run["why"]

    waits = "questions wait for an answer in 'asked/questions'"
    capsys.readouterr()
    assert states("--target.model", "handoff:asked") == (3, "evaluations", waits)
    limited = "limits.calls = 3 is reached"
    code, state, why = states("--limits.calls", "3")
    assert (code, state, str(why).startswith(limited)) == (3, "evaluations", True)
    assert states() == (0, "evaluations", "")


def test_an_empty_folder_and_none_at_all(here: Path, capsys: Captured) -> None:
    assert main(["runs"]) == 2
    assert capsys.readouterr().err == (
        "error: there is no folder 'runs'\nhint: give the folder of your runs with --folder\n"
    )
    Path("runs").mkdir()
    assert main(["runs"]) == 0
    assert capsys.readouterr().out == "'runs' holds no runs\n"
    assert main(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap")
def test_runs_on_a_read_only_file_system_can_be_read(demo_project: Path) -> None:
    shutil.copytree(demo_project / "runs", "closed")
    (demo_project / "runs/demo/journal.db-wal").write_text("what a killed process left")
    here = os.getcwd()  # which may be in /dev/shm
    mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/var/tmp", "--ro-bind", here, here, "--chdir", here]
    code = (
        "from etude.cli.main import main\n"
        "assert main(['runs', '--folder', 'closed']) == 0\n"
        "raise SystemExit(main(['plan', 'demo/etude.yaml']))\n"
    )
    environ = {**os.environ, "TMPDIR": "/var/tmp"}
    command = ["bwrap", *mounts, sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environ)
    if done.stderr.startswith("bwrap: "):
        pytest.skip("bubblewrap does not work here")
    assert (done.returncode, "demo  finished" in done.stdout, "cannot" in done.stdout) == (2, True, False)
    assert "cannot be opened, the folder 'demo/runs/demo' cannot be written to\nhint: fix its perm" in done.stderr
