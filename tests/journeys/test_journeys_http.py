"""Training over real HTTP: faults change nothing but the time, dead ends stop the run with their cause."""

import json
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from http_run import make_project
from small_run import tree

from etude import BudgetStop, OutageStop, Trainer, load_config
from etude.simulation.endpoint import running_endpoint
from etude.simulation.faults import Faults

LONGER = (10, 10, 6)
"""Enough tasks for any fault to strike."""


def train(config: Path, **flags: str):
    dotted = [(name.replace("__", "."), value) for name, value in flags.items()]
    return Trainer(load_config(config, flags=dotted, environ={})).train()


def process(config: Path, *flags: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "etude", "train", str(config), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[dict[str, bytes], int]:
    folder = tmp_path_factory.mktemp("undisturbed")
    with running_endpoint() as endpoint:
        train(make_project(folder, endpoint.url))
        return tree(folder / "runs"), endpoint.stats()["answered"]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory) -> tuple[dict[str, bytes], int]:
    """A longer run without any fault."""
    folder = tmp_path_factory.mktemp("quiet")
    with running_endpoint() as endpoint:
        train(make_project(folder, endpoint.url, sizes=LONGER))
        return tree(folder / "runs"), endpoint.stats()["answered"]


def same(mine: dict[str, bytes], wanted: dict[str, bytes]) -> bool:
    """Equal but for what names the endpoint, whose port differs: settings, and the facts that lines rest on."""
    own = ("config.yaml", "provenance.json")
    return {k: v for k, v in mine.items() if k not in own} == {k: v for k, v in wanted.items() if k not in own}


def test_training_over_http_gives_what_training_in_process_gives(tmp_path, undisturbed) -> None:
    config = make_project(tmp_path, "http://127.0.0.1:1/v1")
    train(config, target__model="simulated:target", optimizer__model="simulated:optimizer")
    assert same(tree(tmp_path / "runs"), undisturbed[0])


@pytest.mark.parametrize(
    "fault",
    ["rate_limit", "rate_limit_bare", "server_error", "drop", "broken_json", "truncated", "empty", "cut_structured"],
)
def test_a_tenth_of_faulty_answers_changes_nothing_in_the_result(tmp_path, quiet, fault: str) -> None:
    # There are few structured requests: more of them have to be hit.
    rate = 0.3 if fault == "cut_structured" else 0.1
    with running_endpoint(faults=Faults(retry_after=0.05, seed=1, **{fault: rate})) as endpoint:
        train(make_project(tmp_path, endpoint.url, sizes=LONGER))
        stats = endpoint.stats()
    assert stats["by_fault"][fault] > 0
    assert same(tree(tmp_path / "runs"), quiet[0])


def test_all_faults_together_change_nothing_in_the_result(tmp_path, undisturbed) -> None:
    faults = Faults(
        rate_limit=0.1, retry_after=0.05, server_error=0.1, drop=0.1, broken_json=0.05, truncated=0.05, empty=0.05
    )
    with running_endpoint(faults=faults) as endpoint:
        train(make_project(tmp_path, endpoint.url))
    assert same(tree(tmp_path / "runs"), undisturbed[0])


@pytest.mark.slow
def test_five_kills_from_outside_cost_no_answer_twice(tmp_path, quiet) -> None:
    rng, kills = random.Random(20), 0
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
    assert same(tree(tmp_path / "runs"), quiet[0])
    assert stats["answered"] - stats["repeated"] == quiet[1]
    # What was answered twice was in flight at a kill: 4 attempts, or the optimizer calls of a step.
    assert stats["repeated"] <= 4 * kills


def test_an_outage_in_the_middle_stops_the_run_and_it_resumes(tmp_path, undisturbed) -> None:
    with running_endpoint(faults=Faults(outage_after=20)) as endpoint:
        config = make_project(tmp_path, endpoint.url)
        with pytest.raises(OutageStop) as stop:
            train(config, limits__outage_seconds="1")
        assert endpoint.url in str(stop.value)
        endpoint.set_faults(Faults())
        train(config)
    assert same(tree(tmp_path / "runs"), undisturbed[0])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def refused(config: Path, *flags: str) -> tuple[int, str, float]:
    start = time.monotonic()
    with process(config, *flags) as run:
        _, errors = run.communicate(timeout=60)
    return run.returncode, errors, time.monotonic() - start


def test_a_dead_endpoint_stops_the_run_naming_role_endpoint_and_cause(tmp_path) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    code, errors, _ = refused(make_project(tmp_path, url))
    assert code == 1
    assert "target" in errors
    assert url in errors
    summary = json.loads((tmp_path / "runs/run/summary.json").read_text())
    assert (summary["initial"]["val"], summary["best"]["test"]) == (None, None)
    assert "target" in summary["stopped"]


def test_a_wrong_key_stops_the_run_naming_role_endpoint_and_cause(tmp_path) -> None:
    with running_endpoint(key="right") as endpoint:
        code, errors, _ = refused(make_project(tmp_path, endpoint.url))
        assert endpoint.stats()["answered"] == 0
    assert code == 1
    assert "target" in errors
    assert endpoint.url in errors


def test_an_unknown_model_stops_the_run_naming_role_endpoint_and_cause(tmp_path) -> None:
    with running_endpoint() as endpoint:
        config = make_project(tmp_path, endpoint.url)
        code, errors, _ = refused(config, "--optimizer.model", "openai:no-such-model")
    assert code == 1
    assert "optimizer" in errors
    assert "no-such-model" in errors


def test_calls_never_exceed_their_cap_under_concurrency_and_faults(tmp_path) -> None:
    with running_endpoint(faults=Faults(server_error=0.2)) as endpoint:
        config = make_project(tmp_path, endpoint.url, sizes=(20, 20, 3))
        with pytest.raises(BudgetStop):
            train(config, limits__calls="30", limits__concurrency="64")
        assert endpoint.stats()["received"] <= 30


def test_a_second_process_on_the_same_run_folder_is_refused(tmp_path) -> None:
    with running_endpoint(latency=20) as endpoint:
        config = make_project(tmp_path, endpoint.url)
        with process(config) as first:
            deadline = time.monotonic() + 30
            while not endpoint.stats()["received"] and time.monotonic() < deadline:
                time.sleep(0.05)
            code, errors, _ = refused(config)
            first.kill()
    assert code == 2
    assert "in use by another process" in errors
