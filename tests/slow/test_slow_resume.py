"""Killed runs end as ones that nothing disturbed: at each single write, in every update mode, from outside."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from http_run import make_project
from test_journeys_resume import Whole, ends_alike_when_killed, undisturbed
from test_journeys_wires import files

from etude.simulation.endpoint import running_endpoint
from etude.simulation.service import Faults

__all__ = ["undisturbed"]

LONGER = (10, 10, 6)


def test_a_run_killed_before_or_after_any_write_ends_as_an_undisturbed_one(
    tmp_path: Path, undisturbed: Whole
) -> None:
    ends_alike_when_killed(undisturbed, tmp_path, undisturbed.kind.slow)


def process(config: Path, *flags: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "etude", "train", str(config), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_five_kills_from_outside_cost_no_answer_twice(tmp_path: Path) -> None:
    rng, kills = random.Random(20), 0
    whole = tmp_path / "whole"
    whole.mkdir()
    with running_endpoint() as endpoint, process(make_project(whole, endpoint.url, sizes=LONGER)) as run:
        run.communicate(timeout=120)
        asked = endpoint.stats()["answered"]
    with running_endpoint(latency=0.3) as endpoint:
        config = make_project(tmp_path, endpoint.url, sizes=LONGER)
        while kills < 5:
            with process(config, "--limits.concurrency", "4") as run:
                # A process needs most of a second to start: some die before the first call, some after a few.
                time.sleep(rng.uniform(0.5, 1.7))
                assert run.poll() is None, "the run ended before it was killed often enough"
                run.send_signal(signal.SIGKILL)
                kills += 1
        endpoint.set_faults(Faults())
        with process(config) as run:
            _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
        stats = endpoint.stats()
    assert files(tmp_path) == files(whole)
    assert stats["answered"] - stats["repeated"] == asked
    # What was answered twice was in flight at a kill: 4 attempts, or the optimizer calls of a step.
    assert stats["repeated"] <= 4 * kills
