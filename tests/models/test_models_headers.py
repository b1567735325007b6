"""Further request headers: which of them a run depends on."""

from pathlib import Path
from typing import Any

import pytest

from etude import Trainer
from etude.envs import ListEnvironment
from etude.errors import IdentityError
from etude.simulation import make_tasks
from etude.simulation.endpoint import Endpoint, running_endpoint


def train(folder: Path, endpoint: Endpoint, headers: dict[str, str]) -> None:
    tasks = make_tasks("sorting", 12, seed=1)
    target: dict[str, Any] = {"model": "openai:target", "base_url": endpoint.url, "api_key_env": "NO_KEY"}
    settings = {
        "target": {**target, "headers": headers},
        "train": {"epochs": 1},
        "search": {"policy": "paper"},
        "run": {"folder": str(folder), "name": "one"},
    }
    Trainer(settings, env=ListEnvironment(tasks[:4], tasks[4:8], tasks[8:], scorer="exact")).train()


def test_a_run_goes_on_with_other_credentials_and_not_with_other_headers(tmp_path: Path) -> None:
    with running_endpoint() as endpoint:
        train(tmp_path, endpoint, {"X-Beta": "one", "X-Gateway-Key": "first"})
        asked = endpoint.stats()["received"]
        train(tmp_path, endpoint, {"X-Beta": "one", "X-Gateway-Key": "second"})
        assert endpoint.stats()["received"] == asked
        for changed in ({"X-Beta": "two"}, {}):
            with pytest.raises(IdentityError) as caught:
                train(tmp_path, endpoint, changed)
            assert "target.headers" in caught.value.message
        assert endpoint.stats()["received"] == asked
