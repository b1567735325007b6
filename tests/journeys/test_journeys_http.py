"""Training over real HTTP: dead ends stop the run with their cause, and caps hold whatever fails."""

import json
import socket
from pathlib import Path

import pytest
from http_run import make_project

from etude import BudgetStop, Trainer, load_config
from etude.cli.main import main
from etude.simulation.endpoint import running_endpoint
from etude.simulation.service import Faults


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def refused(config: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """What is said of a training that stops at once."""
    assert main(["train", str(config), *flags]) == 1
    return capsys.readouterr().err


def test_a_dead_end_stops_the_run_naming_role_endpoint_and_cause(tmp_path, capsys) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    config = make_project(tmp_path, url)
    said = refused(config, capsys, "--limits.outage_seconds", "0.5")
    assert "target" in said
    assert url in said
    summary = json.loads((tmp_path / "runs/run/summary.json").read_text())
    assert (summary["initial"]["val"], summary["best"]["test"]) == (None, None)
    assert "target" in summary["stopped"]
    with running_endpoint(key="right") as endpoint:
        said = refused(make_project(tmp_path, endpoint.url), capsys, "--name", "without-key")
        assert endpoint.stats()["answered"] == 0
        assert "target" in said
        assert endpoint.url in said
    with running_endpoint() as endpoint:
        unknown = ("--optimizer.model", "openai:no-such-model", "--name", "unknown")
        said = refused(make_project(tmp_path, endpoint.url), capsys, *unknown)
        assert "optimizer" in said
        assert "no-such-model" in said


def test_calls_never_exceed_their_cap_under_concurrency_and_faults(tmp_path) -> None:
    with running_endpoint(faults=Faults(server_error=0.2)) as endpoint:
        config = make_project(tmp_path, endpoint.url, sizes=(20, 20, 3))
        flags = [("limits.calls", "30"), ("limits.concurrency", "64")]
        with pytest.raises(BudgetStop):
            Trainer(load_config(config, flags=flags, environ={})).train()
        assert endpoint.stats()["received"] <= 30
