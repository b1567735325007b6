"""After many boxes the machine is as it was before."""

import asyncio
import os
import threading
from pathlib import Path

from sandbox_boxes import living, play, python

from etude.sandbox import Limits, Workspace

CODE = """
import os, sys, time
open("result", "w").write("x" * 1000)
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print("out")
kind = int(sys.argv[2]) % 5
if kind == 1:
    sys.exit(3)
if kind == 2:
    os.kill(os.getpid(), 9)
if kind >= 3:
    time.sleep(600)
"""


def descriptors() -> list[str]:
    """What this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}").partition(":")[0])
        except OSError:
            continue
    return sorted(found)


def children() -> list[str]:
    """Processes whose parent is this one, zombies too."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [pid for task in tasks for pid in task.read_text().split()]


async def test_fifteen_boxes_eight_at_a_time_leave_nothing(sandbox, tmp_path) -> None:
    token = f"leak-{os.getpid()}-{tmp_path.name}"
    places = asyncio.Semaphore(8)

    async def one(number: int) -> str:
        async with places:
            with Workspace(tmp_path) as workspace:
                limits = Limits(seconds=0.7 if number % 5 == 3 else 300, grace_seconds=20)
                argv = python(CODE, token, str(number))
                running = asyncio.create_task(play(sandbox, argv, workspace, limits=limits))
                if number % 5 == 4:
                    while not (workspace.work / "result").exists():
                        await asyncio.sleep(0.01)
                    running.cancel()
                try:
                    done = await running
                except asyncio.CancelledError:
                    return "cancelled"
                return done.over or str(done.code if done.signal is None else -done.signal)

    first = await asyncio.gather(*map(one, range(5)))
    before = descriptors(), children(), threading.active_count()
    rest = await asyncio.gather(*map(one, range(5, 15)))
    assert [*first, *rest] == ["0", "3", "-9", "time limit", "cancelled"] * 3
    assert (descriptors(), children(), threading.active_count()) == before
    assert living(token) == []
    assert list(tmp_path.iterdir()) == []
