from pathlib import Path

import pytest
from view_runs import train


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run by the default search. Look, do not touch."""
    return train(tmp_path_factory.mktemp("view"), "first")


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same by the published loop, with a slow update."""
    search = {"policy": "paper", "batch_size": 5, "slow_update": True, "slow_update_samples": 2}
    return train(tmp_path_factory.mktemp("view"), "second", search=search)
