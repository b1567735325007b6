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
    slow = {"enabled": True, "samples": 2}
    return train(tmp_path_factory.mktemp("view"), "second", search={"policy": "paper"}, slow_update=slow)
