"""The processes below this one: who they are and what they use."""

from __future__ import annotations

import os
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE = os.sysconf("SC_PAGE_SIZE")
_VAST = 1 << 30
"""Page tables of a smaller address space do not matter."""


class Process:
    """One process. `rss` and `tables`, its page tables, are in bytes; `/proc/{alive}` tells of it also when its first
    thread has ended."""

    __slots__ = ("alive", "group", "pid", "rss", "tables", "threads")

    def __init__(self, pid: int, group: int, threads: int, rss: int) -> None:
        self.pid = self.alive = pid
        self.group = group
        self.threads = threads
        self.rss = rss
        self.tables = 0


def below(pid: int) -> Iterator[Process]:
    """All living processes below `pid`, parents before children, each as it is found: in a crowd looking takes long,
    and a caller that ends a process on sight need not look at its children.

    One that forks meanwhile may be missed: a caller that needs all of them asks until nothing is left.
    """
    return _below_linux(pid) if os.path.exists("/proc/self/stat") else below_by_table(pid)


def resident(processes: list[Process], nameless: int = 0) -> int:
    """Resident bytes of all together. Pages that several share count once, where the kernel tells. `nameless` is the
    memory of files without a name, a part of which may be resident, too."""
    own = shared = 0
    for process in processes:
        facts = _facts(f"/proc/{process.alive}/smaps_rollup", b"Pss:", b"Pss_Shmem:")
        own += process.tables + facts.get(b"Pss:", process.rss) - facts.get(b"Pss_Shmem:", 0)
        shared += facts.get(b"Pss_Shmem:", 0)
    return own + max(shared, nameless)


def shared_memory() -> int:
    """Bytes of shared memory and memory files of the whole machine."""
    return _facts("/proc/meminfo", b"Shmem:").get(b"Shmem:", 0)


def _facts(path: str, *names: bytes) -> dict[bytes, int]:
    """Bytes by name, of lines like `Name: 7 kB`."""
    try:
        with open(path, "rb") as file:
            rows = map(bytes.split, file)
            return {row[0]: int(row[1]) * 1024 for row in rows if row[0] in names}
    except OSError:
        return {}


def _below_linux(root: int) -> Iterator[Process]:
    seen = {root}
    queue = deque(_children(root))
    while queue:
        pid = queue.popleft()
        if pid in seen:
            continue
        seen.add(pid)
        process = _read(pid)
        if process is not None:
            yield process
        queue.extend(_children(pid))


def threads(pid: int) -> list[int]:
    """The threads of a process; none if it is gone."""
    try:
        return list(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError:
        return []


def _children(pid: int) -> list[int]:
    """Every thread has children of its own."""
    result: list[int] = []
    for thread in threads(pid):
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                result += map(int, file.read().split())
        except OSError:
            continue
    return result


def _read(pid: int) -> Process | None:
    """None for one that is gone, or that only waits for its parent to notice."""
    alive, fields = pid, _status(pid)
    if fields and fields[0] == b"Z" and int(fields[17]) > 1:
        for alive in threads(pid):
            fields = _status(alive)
            if fields and fields[0] != b"Z":
                break
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    process = Process(pid, int(fields[2]), int(fields[17]), int(fields[21]) * _PAGE)
    process.alive = alive
    if int(fields[20]) > _VAST:
        process.tables = _facts(f"/proc/{alive}/status", b"VmPTE:").get(b"VmPTE:", 0)
    return process


def _status(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def below_by_table(root: int) -> Iterator[Process]:
    """The same where there is no /proc, from the table of `ps`; threads are not counted there."""
    import subprocess  # elsewhere only: it takes as long to import as the rest

    listing = subprocess.run(["ps", "-axo", "pid=,ppid=,pgid=,rss=,stat="], capture_output=True, check=False)
    rows: dict[int, list[Process]] = {}
    for line in listing.stdout.splitlines():
        pid, parent, group, rss, state = line.split()[:5]
        if not state.startswith(b"Z"):
            rows.setdefault(int(parent), []).append(Process(int(pid), int(group), 1, int(rss) * 1024))
    queue = deque([root])
    while queue:
        children = rows.get(queue.popleft(), [])
        yield from children
        queue.extend(child.pid for child in children)
