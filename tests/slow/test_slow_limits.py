"""The tricks of `tests/sandbox/test_sandbox_limits.py`, with each sandbox and user left out there."""

import os

import pytest
from sandbox_boxes import sandbox_named
from test_sandbox_limits import DISK, MEMORY, WRITE, played

PAIRS = [("bubblewrap", 65534), ("landlock", os.getuid()), ("landlock", 65534)]
pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


@pytest.mark.parametrize(("name", "user"), PAIRS)
@pytest.mark.parametrize("trick", MEMORY)
def test_memory_out_of_sight_is_counted_or_refused(name: str, user: int, trick: str) -> None:
    over, out = played(sandbox_named(name), user, MEMORY[trick], memory_mb=100, disk_mb=4000)
    assert (over in ("memory limit", "refused"), out) == (True, ""), over


@pytest.mark.parametrize(("name", "user"), PAIRS)
@pytest.mark.parametrize("trick", DISK)
def test_files_out_of_sight_are_counted(name: str, user: int, trick: str) -> None:
    done = played(sandbox_named(name), user, WRITE + DISK[trick], memory_mb=2000, disk_mb=100)
    assert done == ("disk limit", "")
