"""The sandboxes that work on this machine, for `test_slow_sandbox_*`."""

import sys
from pathlib import Path

import pytest
from sandbox_fixtures import sandbox as sandbox
from sandbox_fixtures import sandboxes as sandboxes
from sandbox_fixtures import user as user
from sandbox_fixtures import workspace as workspace

collect_ignore_glob = [] if sys.platform.startswith("linux") else ["test_slow_sandbox_*"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
