"""Settings may name a class in a file of the folder the command is called in."""

import json
import subprocess
import sys
from pathlib import Path

MODULE = """
from skillgrad import Environment
from skillgrad.simulation import make_tasks

TASKS = make_tasks("sorting", 12, seed=1)


class Mine(Environment):
    name = "mine"

    @classmethod
    def from_options(cls, options, *, where, judge):
        return cls()

    def tasks(self, split):
        return {"train": TASKS[:4], "val": TASKS[4:8], "test": TASKS[8:]}[split]

    def score(self, task, trajectory):
        return trajectory.answer == task.gold
"""


def test_an_environment_beside_the_settings_is_found(tmp_path) -> None:
    (tmp_path / "my_tasks.py").write_text(MODULE)
    (tmp_path / "skillgrad.yaml").write_text("env: {name: 'my_tasks:Mine'}\ntrain: {epochs: 1}\n")
    script = Path(sys.executable).with_name("skillgrad")
    done = subprocess.run(
        [script, "train", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["best"]["test"]["n"] == 4
