"""Ray itself: a cluster of two nodes on this machine comes to the same as this process, whatever happens to it.

`scripts/test --slow` installs Ray. The fast tests have the same executor with a double of Ray.
"""

import asyncio
import itertools
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import far_runs
import pytest
import ray_cluster
from far_parts import SKILL, echo, rollout_with, todo
from far_runs import EXACT, JUDGED, asked_twice, facts, train, unanswered
from small_run import tree

from etude.errors import ConfigError
from etude.protocols import Executor
from etude.stages.shared.rollout import PlannedAttempt, Rollout
from etude.testing.executor import ExecutorContract
from etude_annexes.workers.ray import RayExecutor

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")]
CONCURRENCY = 8
"""As `far_runs` has it."""


class Cluster:
    """The cluster of `ray_cluster.py`."""

    def __init__(self) -> None:
        words = [sys.executable, ray_cluster.__file__]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = json.loads(self._line())
        self.address: str = told["address"]
        self._raylets = set(map(str, told["raylets"]))

    @property
    def executor(self) -> dict[str, Any]:
        return {"name": "ray", "address": self.address}

    def workers(self) -> list[int]:
        """Processes that make attempts."""
        found: list[int] = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                title = (folder / "cmdline").read_text().rstrip("\0 ")
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if title == "ray::etude" and parent in self._raylets:
                found.append(int(folder.name))
        return found

    def lose_node(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("lose\n")
        self.process.stdin.flush()
        assert self._line() == "lost"

    def end(self) -> None:
        self.process.communicate(timeout=60)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # A short path: sockets are there.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # on loopback
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        made = Cluster()
        yield made
        made.end()


def without_settings(folder: Path) -> dict[str, bytes]:
    """The run folder. Its settings name the executor."""
    found = tree(folder)
    del found["config.yaml"]
    return found


async def answers(rollout: Rollout, *inputs: str) -> list[str]:
    planned = [PlannedAttempt(task, SKILL) for task in todo(*inputs)]
    found = {at: attempt async for at, attempt in rollout.stream(planned, "train")}
    assert all(attempt.outcome == "completed" for attempt in found.values())
    return [found[at].trajectory.answer for at in range(len(inputs))]


class TestRayExecutor(ExecutorContract):
    @pytest.fixture(autouse=True)
    def place(self, cluster: Cluster) -> None:
        self.options = {"address": cluster.address, "workers": 2}

    def make_executor(self, concurrency: int) -> Executor:
        return RayExecutor.from_options(self.options, concurrency=concurrency, where="executor")


@pytest.mark.parametrize("settings", [EXACT, JUDGED], ids=["chat", "tools and judge"])
def test_run_folder_and_journal_are_those_of_a_local_run(tmp_path: Path, cluster: Cluster, settings: Any) -> None:
    here, far = tmp_path / "here" / "x", tmp_path / "far" / "x"
    train(str(here), {"name": "local"}, settings)
    train(str(far), cluster.executor, settings)
    assert without_settings(far) == without_settings(here)
    assert facts(far) == facts(here)
    assert (asked_twice(far), unanswered(far)) == (0, 0)


async def test_four_workers_of_two_nodes_make_the_attempts(cluster: Cluster) -> None:
    executor = RayExecutor.from_options({"address": cluster.address}, concurrency=CONCURRENCY, where="executor")
    executor.check()
    async with rollout_with(executor, echo) as rollout:
        pids, waves = set[str](), itertools.count()
        while len(pids) < 4:
            pids |= set(await answers(rollout, *[f"pid {next(waves)}.{number}" for number in range(40)]))
        assert pids == set(map(str, cluster.workers()))
    assert not cluster.workers()


def test_killed_at_random_moments_it_comes_to_the_same(tmp_path: Path, cluster: Cluster) -> None:
    """Workers are killed at 20 random moments, and the process that holds the run at two more."""
    here, far = tmp_path / "here" / "x", tmp_path / "far" / "x"
    train(str(here), {"name": "local"}, EXACT, size=40)
    told = {"folder": str(far), "executor": cluster.executor, "settings": EXACT, "size": 40, "latency": 1.0}
    words = [sys.executable, far_runs.__file__, json.dumps(told)]
    folders = {"PYTHONPATH": os.pathsep.join(sys.path)}
    moments, killed, restarts, before, seen = random.Random(1), 0, 0, 0, 0
    driver = subprocess.Popen(words, env=os.environ | folders)
    while driver.poll() is None:
        time.sleep(moments.uniform(0.1, 1.0))
        running, asked = cluster.workers(), far / "asked.txt"
        if not running or not asked.is_file() or asked.stat().st_size == seen:
            continue  # attempts come on between two kills
        seen = asked.stat().st_size
        if restarts < 2 and killed == (7, 14)[restarts]:
            driver.kill()
            driver.wait()
            before += 0 if restarts else asked_twice(far)
            restarts += 1
            driver = subprocess.Popen(words, env=os.environ | folders)
        elif killed < 20:
            os.kill(moments.choice(running), signal.SIGKILL)
            killed += 1
    assert (driver.returncode, killed, restarts) == (0, 20, 2)
    assert without_settings(far) == without_settings(here)
    assert facts(far) == facts(here)
    assert before == 0  # a worker costs nothing
    assert asked_twice(far) <= unanswered(far) <= restarts * CONCURRENCY


async def test_a_lost_node_costs_nothing_but_its_attempts_in_flight(cluster: Cluster) -> None:
    executor = RayExecutor.from_options({"address": cluster.address}, concurrency=CONCURRENCY, where="executor")
    asked: list[str] = []

    async def answer(name: str, text: str) -> str:
        asked.append(text)
        await asyncio.sleep(0.5)
        return text

    async with rollout_with(executor, answer) as rollout:
        await answers(rollout, "answer x")
        async with asyncio.timeout(300):
            while len(cluster.workers()) < 4:
                await asyncio.sleep(0.1)
        under_way = asyncio.create_task(answers(rollout, *[f"ask {number}" for number in range(100)]))
        while len(asked) < 10:
            await asyncio.sleep(0.1)
        await asyncio.to_thread(cluster.lose_node)
        assert await under_way == [*map(str, range(100))]


async def test_a_cluster_with_a_token_takes_no_one_without_it(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    with pytest.raises(ConfigError, match="no connection to a Ray cluster"):
        RayExecutor.from_options({"address": cluster.address}, concurrency=2, where="executor").check()
