"""Fixtures of tests that run programs in boxes, here and in `tests/slow`."""

import os
from collections.abc import Iterator

import pytest
from sandbox_boxes import sandbox_named

from etude.sandbox import Sandbox, Workspace
from rows import few


@pytest.fixture(scope="session")
def sandboxes() -> dict[str, Sandbox]:
    return {}


EITHER = pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"], indirect=True)
"""What is promised of each of them; the rest is tried in the second one by `scripts/test --slow`."""


@pytest.fixture(params=few(["bubblewrap", "landlock"], "bubblewrap"))
def sandbox(request: pytest.FixtureRequest, sandboxes: dict[str, Sandbox]) -> Sandbox:
    """Each sandbox that keeps programs in."""
    if request.param not in sandboxes:
        sandboxes[request.param] = sandbox_named(request.param)
    return sandboxes[request.param]


@pytest.fixture(params=few(["this user", "another user"], "another user"))
def user(request: pytest.FixtureRequest) -> int:
    if request.param == "this user":
        return os.getuid()
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    return 65534


@pytest.fixture
def workspace(tmp_path) -> Iterator[Workspace]:
    with Workspace(tmp_path) as workspace:
        yield workspace
    assert not workspace.folder.exists()
