import asyncio
import shutil
import uuid
from pathlib import Path

import pytest
from program_contract import processes_with

from whole_group import run_to_its_end


@pytest.mark.skipif(shutil.which("bash") is None or not Path("/proc/self").exists(), reason="no bash or no /proc")
@pytest.mark.parametrize("ends", ["sleep 600", "exit 3"])
async def test_a_program_leaves_nothing_running_at_its_time_limit_or_its_end(ends: str) -> None:
    mark = f"7316.{uuid.uuid4().int % 10**9}"
    words = ["bash", "-c", f"trap '' TERM; sleep {mark} > /dev/null 2>&1 & echo begun; {ends}"]
    if ends == "exit 3":
        assert await run_to_its_end(words, 60) == (3, b"begun\n", b"")
    else:
        with pytest.raises(asyncio.TimeoutError):
            await run_to_its_end(words, 1)
    assert processes_with(mark) == []
