"""Settings may name a class in a file of the folder the command is called in."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from etude.cli.main import main
from forked import as_copy
from rows import few
from trusting import trust

MODULE = """
from etude import Environment
from etude.simulation import make_tasks

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


LOUD = """
import os
import sys

from my_tasks import Mine


class Loud(Mine):
    name = "loud"

    def score(self, task, trajectory):
        print("printed")
        sys.stdout.buffer.write(b"bytes\\n")
        sys.stdout.flush()
        os.system("echo from a program")
        assert sys.stdout.writable() and sys.stdout.encoding and sys.stdout.fileno() == 2 and not sys.stdout.isatty()
        return super().score(task, trajectory)
"""


RESULTS = [
    (["train", "--json"], lambda out: json.loads(out)["best"]["test"]["n"] == 4),
    (["evaluate", "--json"], lambda out: len(json.loads(out)["evaluations"]) == 1),
    (["train", "--json", "--limits.calls", "6"], lambda out: "limits.calls" in json.loads(out)["stopped"]),
]


@pytest.mark.parametrize(("words", "read"), few(RESULTS, RESULTS[0]))
def test_what_own_code_prints_stays_out_of_a_result_that_programs_read(
    tmp_path: Path, words: list[str], read: Callable[[str], bool]
) -> None:
    (tmp_path / "my_tasks.py").write_text(MODULE)
    (tmp_path / "loud_tasks.py").write_text(LOUD)
    (tmp_path / "etude.yaml").write_text("env: {name: 'loud_tasks:Loud'}\ntrain: {epochs: 1}\n")
    trust(folder=tmp_path)
    work = as_copy(lambda: main(words))
    done = subprocess.run([sys.executable], cwd=tmp_path, capture_output=True, text=True, timeout=120, **work)
    assert read(done.stdout), done.stdout
    for printed in ("printed", "bytes", "from a program"):
        assert f"{printed}\n" in done.stderr
