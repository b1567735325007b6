#!/usr/bin/env python
"""What it takes to look for gold answers and words of training tasks in edits. Prints Markdown; half a minute.

    python benchmarks/guards.py

Texts are words drawn by how common they are, a few often and most rarely, as in prose. Each size has a process of its
own, so that its memory is what the guards of this size need at most. Times are those of one core.
"""

import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate
from typing import NamedTuple

from etude.records import Edit, Task
from etude.stages.shared.copies import Copies
from etude.stages.shared.golds import Golds

SIZES = ((500, 4_000), (20_000, 60))
"""Tasks, and words of each."""
WORDS = 20_000
EDIT = 60
"""Words of an edit."""
KIB = 1 if sys.platform == "darwin" else 1024
"""What the system counts memory in."""


class Found(NamedTuple):
    """What guards of one size take."""

    start: float
    edit: float
    """The slowest one."""
    megabytes: float


class Prose:
    """Draws words."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        self._words = [f"word{number}" for number in range(WORDS)]
        self._weights = list(accumulate(1 / (1 + number) for number in range(WORDS)))

    def text(self, length: int) -> str:
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=length))


def measured(size: tuple[int, int]) -> Found:
    """Make guards of this size, and ask them about edits of each kind."""
    count, length = size
    prose = Prose()
    tasks = [Task(id=f"t{n}", input=prose.text(length), gold=f"answer {n}") for n in range(count)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    copies = Copies(Golds(tasks), tasks)
    start = time.process_time() - begun
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * KIB / 1_000_000
    return Found(start, max(seconds(copies, text) for text in edits(tasks, prose)), used)


def edits(tasks: Sequence[Task], prose: Prose) -> Iterator[str]:
    """Texts that copy nothing, an answer, or words."""
    for task in tasks[:: len(tasks) // 10]:
        yield prose.text(EDIT)
        yield f"{prose.text(EDIT)} {task.gold}"
        yield " ".join(task.input.split()[:EDIT])


def seconds(copies: Copies, text: str) -> float:
    """How long it takes to look through an edit."""
    begun = time.process_time()
    copies.copied(Edit(op="append", content=text), "")
    return time.process_time() - begun


def table() -> Iterator[str]:
    yield "| tasks | words of each | at the start | slowest edit | memory |"
    yield "|---|---|---|---|---|"
    with ProcessPoolExecutor(1, max_tasks_per_child=1) as processes:
        for (count, length), found in zip(SIZES, processes.map(measured, SIZES), strict=True):
            took = f"{found.start:.1f} s | {1000 * found.edit:.0f} ms | {found.megabytes:.0f} MB"
            yield f"| {count:,} | {length:,} | {took} |"


if __name__ == "__main__":
    for line in table():
        print(line)
