"""Whole runs with an executor of other processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import far_runs
import pytest
from far_parts import Obedient, Simple
from far_runs import EXACT, JUDGED, asked_twice, facts, train, unanswered
from small_run import tree

from etude import Trainer
from etude.errors import ConfigError
from rows import few

SETTINGS = {"chat": EXACT, "tools and judge": JUDGED}
FAR = {"name": "far_parts:TaskExecutor", "workers": 2}
PROCESSES = {"name": "far_parts:ProcessExecutor", "workers": 2}


def without_settings(folder: Path) -> dict[str, bytes]:
    """The run folder. Its settings name the executor."""
    found = tree(folder)
    del found["config.yaml"]
    return found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a run in this process, by the name of its settings."""

    @cache
    def trained(name: str) -> Path:
        folder = tmp_path_factory.mktemp("here") / "x"
        train(str(folder), {"name": "local"}, SETTINGS[name])
        return folder

    return trained


@pytest.mark.parametrize("name", few(SETTINGS, "tools and judge"))
def test_run_folder_and_journal_are_those_of_a_local_run(
    tmp_path: Path, here: Callable[[str], Path], name: str
) -> None:
    far, near = tmp_path / "x", here(name)
    train(str(far), FAR, SETTINGS[name])
    assert without_settings(far) == without_settings(near)
    assert facts(far) == facts(near)
    assert len(facts(far)) > 30
    for folder in (near, far):
        assert (asked_twice(folder), unanswered(folder)) == (0, 0)


@pytest.mark.slow
def test_killed_with_its_workers_a_run_goes_on_and_pays_for_nothing_twice(
    tmp_path: Path, here: Callable[[str], Path]
) -> None:
    far = tmp_path / "x"
    told = {"folder": str(far), "executor": PROCESSES, "settings": EXACT, "latency": 0.1}
    words = [sys.executable, far_runs.__file__, json.dumps(told)]
    driver = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    asked = far / "asked.txt"
    while not asked.is_file() or asked.read_text().count("answered") < 15:
        assert driver.poll() is None
        time.sleep(0.01)
    driver.kill()
    driver.wait()
    train(str(far), PROCESSES, EXACT)
    assert without_settings(far) == without_settings(here("chat"))
    assert facts(far) == facts(here("chat"))
    assert asked_twice(far) <= 8  # as many are in flight


@pytest.mark.parametrize("given", ["env", "agent"])
def test_what_was_given_as_an_object_is_refused_before_the_run_folder_exists(tmp_path, given: str) -> None:
    settings = {"executor": FAR, "run": {"folder": str(tmp_path)}, "test": {"enabled": False}}
    objects = {"env": Simple()} if given == "env" else {"agent": Obedient(str)}
    (tmp_path / "tasks.jsonl").write_text(
        "".join(f'{{"input": "What is {n}?", "answer": "{n}"}}\n' for n in range(9))
    )
    settings["env"] = {"allow_constant_gold": True, "path": str(tmp_path / "tasks.jsonl")}
    with pytest.raises(ConfigError, match=f"{given} was given as an object") as refused:
        Trainer(settings, **objects).train()
    assert f"{given}.name" in refused.value.hint
    assert not (tmp_path / "run").exists()
