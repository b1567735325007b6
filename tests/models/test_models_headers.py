"""Further request headers: what cannot be sent, and which of them a run depends on."""

from pathlib import Path
from typing import Any

import pytest

from etude import Trainer
from etude.config import ModelSection
from etude.envs import ListEnvironment
from etude.errors import ConfigError, IdentityError
from etude.models import build_model
from etude.simulation import make_tasks
from etude.simulation.endpoint import Endpoint, running_endpoint

ALLOWED = (
    "cannot be sent: a name may have ASCII letters, digits and -, a value ASCII letters, digits, signs and spaces "
    "between\nhint: encode other characters as the server expects them, as in %C3%A9 for é"
)


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        ("openai:m", "X Tëam", "red"),
        ("openai:m", "", "red"),
        ("openai:m", "X-Team", "red\nX-More: 1"),
        ("anthropic:m", "X-Team", "red "),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_at_once(model: str, name: str, value: str) -> None:
    settings = ModelSection(model=model, base_url="http://127.0.0.1:1", headers={name: value}, api_key_command="true")
    with pytest.raises(ConfigError) as caught:
        build_model(settings)
    assert str(caught.value) == f"headers: {name!r} {ALLOWED}"


def train(folder: Path, endpoint: Endpoint, headers: dict[str, str]) -> None:
    tasks = make_tasks("sorting", 12, seed=1)
    target: dict[str, Any] = {"model": "openai:target", "base_url": endpoint.url, "api_key_env": "NO_KEY"}
    settings = {
        "target": {**target, "headers": headers},
        "train": {"epochs": 1},
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
