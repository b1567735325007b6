from pathlib import Path

import pytest
from small_night import Finished, Kept, Small, tree

from etude.records import ChatRequest


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path)


@pytest.fixture(scope="session")
def first_night(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    small = Small(tmp_path_factory.mktemp("first") / "now")
    assert small.night().status == "proposed"
    return Kept(small)


@pytest.fixture
def one(first_night: Kept) -> Small:
    """After a night that proposes a rule."""
    return first_night.again()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A night that many tests look at, and that none goes on with."""
    small = Small(tmp_path_factory.mktemp("finished"))
    asked: list[ChatRequest] = []
    small.before = asked.append
    before = tree(small.root, without=["state"])
    report = small.night({"memory": True})
    return Finished(small, report, tuple(asked), tree(small.root, without=["state"]) == before)
