"""The processes below this one: who they are, what they use, and how much they have written."""

from __future__ import annotations

import os
import stat
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Process:
    """One process. `rss` is its resident memory in bytes."""

    __slots__ = ("group", "pid", "rss", "threads")

    def __init__(self, pid: int, group: int, threads: int, rss: int) -> None:
        self.pid = pid
        self.group = group
        self.threads = threads
        self.rss = rss


def below(pid: int) -> Iterator[Process]:
    """All living processes below `pid`, parents before children, each as it is found: in a crowd looking takes long,
    and a caller that ends a process on sight need not look at its children.

    One that forks meanwhile may be missed: a caller that needs all of them asks until nothing is left.
    """
    return _below_linux(pid) if os.path.exists("/proc/self/stat") else below_by_table(pid)


def resident(processes: list[Process]) -> int:
    """Resident bytes of all together. Pages that several share count once, where the kernel tells."""
    return sum(map(_share, processes))


def _share(process: Process) -> int:
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
    except (OSError, StopIteration):
        return process.rss


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


def _children(pid: int) -> list[int]:
    """Every thread has children of its own."""
    result: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return result
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                result += map(int, file.read().split())
        except OSError:
            continue
    return result


def _read(pid: int) -> Process | None:
    """None for one that is gone, or that only waits for its parent to notice: its last thread has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if not fields or fields[0] == b"X" or (fields[0] == b"Z" and int(fields[17]) <= 1):
        return None
    return Process(pid, int(fields[2]), int(fields[17]), int(fields[21]) * _PAGE)


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


def size(folders: list[str], enough: int) -> int:
    """Bytes on disk of the files below `folders`, links not followed; stops counting above `enough`. Each name of a
    file counts for its part, a folder that cannot be read not at all."""
    total = 0
    stack = list(folders)
    while stack and total <= enough:
        try:
            entries = list(os.scandir(stack.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it is gone
            if stat.S_ISDIR(info.st_mode):
                stack.append(entry.path)
            else:
                total += info.st_blocks * 512 // info.st_nlink
    return total
