"""The same run through every interface that models are reached by, streamed and not: only the words differ."""

from pathlib import Path

import pytest
from http_run import make_project
from small_run import tree

from etude import Trainer, load_config
from etude.simulation.endpoint import running_endpoint
from etude.simulation.service import Faults
from rows import few

WIRES = {
    "chat": {"model": "openai:{}"},
    "responses": {"model": "openai:{}", "api": "responses"},
    "messages": {"model": "anthropic:{}"},
}
"""Interface to the settings that choose it."""


def a_project(folder: Path, url: str) -> Path:
    """Several trials: a wire that loses the number of the trial gives another result."""
    return make_project(folder, url, test={"trials": 2})


def train(config: Path, wire: str, **settings: str) -> None:
    flags = [
        (f"{role}.{key}", value.format(role))
        for role in ("target", "optimizer")
        for key, value in (WIRES[wire] | settings).items()
    ]
    Trainer(
        load_config(config, flags=[*flags, ("target.model", WIRES[wire]["model"].format("target-noisy"))])
    ).train()


def files(folder: Path) -> dict[str, bytes]:
    """The run but for what says how the models are reached: the settings, and the facts that lines rest on."""
    own = ("config.yaml", "provenance.json")
    return {name: data for name, data in tree(folder / "runs").items() if name not in own}


@pytest.fixture(scope="module")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("in_process")
    config = a_project(folder, "http://127.0.0.1:1/v1")
    models = [("target.model", "simulated:target-noisy"), ("optimizer.model", "simulated:optimizer")]
    Trainer(load_config(config, flags=models, environ={})).train()
    return files(folder)


@pytest.mark.parametrize(
    ("wire", "stream"), few([("chat", "false"), ("messages", "true"), ("responses", "false")], ("messages", "true"))
)
def test_every_interface_gives_the_run_that_one_process_gives(
    tmp_path: Path, in_process: dict[str, bytes], wire: str, stream: str
) -> None:
    """With faults, the other way of each interface is taken below."""
    with running_endpoint() as endpoint:
        config = a_project(tmp_path, endpoint.url)
        train(config, wire, stream=stream)
        asked = endpoint.stats()["received"]
        assert asked == endpoint.stats()["answered"] > 20
        assert endpoint.stats()["repeated"] == 0
        # A run may go on with streams where it began without.
        train(config, wire, stream="true")
        assert endpoint.stats()["received"] == asked
    assert files(tmp_path) == in_process


@pytest.mark.parametrize(("wire", "rung"), few([("chat", "tool"), ("responses", "prompt")], ("chat", "tool")))
def test_every_rung_of_the_ladder_gives_the_same_run(
    tmp_path: Path, in_process: dict[str, bytes], wire: str, rung: str
) -> None:
    with running_endpoint() as endpoint:
        train(a_project(tmp_path, endpoint.url), wire, structured=rung)
    assert files(tmp_path) == in_process


@pytest.mark.parametrize(
    ("wire", "stream"), few([("chat", "true"), ("messages", "false"), ("responses", "true")], ("responses", "true"))
)
def test_faults_on_every_interface_change_nothing(
    tmp_path: Path, in_process: dict[str, bytes], wire: str, stream: str
) -> None:
    rates = dict.fromkeys(
        ("rate_limit", "rate_limit_bare", "server_error", "unavailable", "drop", "truncated", "empty"), 0.06
    )
    faults = Faults(retry_after=0.05, broken_json=0.1, cut_structured=0.2, **rates)
    with running_endpoint(faults=faults) as endpoint:
        train(a_project(tmp_path, endpoint.url), wire, stream=stream)
        assert len(endpoint.stats()["by_fault"]) >= 5
    assert files(tmp_path) == in_process
