"""How many programs the memory of this machine has room for."""

import os
from pathlib import Path

_KEPT_FREE = 0.2
"""Share of what is available that is left to everything else."""


def available_mb(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Memory that can be had without swapping, in MB; in a container no more than its limit leaves."""
    found = _meminfo(proc / "meminfo")
    limit, used = _number(cgroup / "memory.max"), _number(cgroup / "memory.current")
    if limit is not None and used is not None:
        found = min(found, max(limit - used, 0) // 2**20)
    return found


def _meminfo(path: Path) -> int:
    try:
        for line in path.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024
    except (OSError, ValueError, IndexError):
        pass
    # Elsewhere it is not known what could be freed: half of all memory is a guess.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**21


def _number(path: Path) -> int | None:
    """The number in a file; None when there is none, as where there is no limit."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def room_for(each_mb: int, available: int) -> int:
    """How many programs that need `each_mb` may run at the same time; at least 1."""
    return max(1, int(available * (1 - _KEPT_FREE)) // each_mb)
