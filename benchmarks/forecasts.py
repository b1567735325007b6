#!/usr/bin/env python
"""How often a forecast holds, in simulated runs. Prints Markdown.

    .venv/bin/python benchmarks/forecasts.py [SEEDS]

Every run starts with a skill of its own: an empty one, a weak one, or one that knows half of the rules. It is made
twice, in a fresh folder and in one where `plan --measure` came first.
"""

import json
import random
import statistics
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from etude.config import merge
from etude.measure.plan import plan
from etude.records import Skill, Task
from etude.records.summary import Span
from etude.simulation import SEED_SKILL, make_tasks
from etude.simulation.score import best_skill
from etude.trainer import Trainer

SEARCHES: dict[str, dict[str, Any]] = {
    "evidence": {"search": {"policy": "evidence"}},
    "evidence, 256 slots": {"search": {"policy": "evidence"}, "limits": {"concurrency": 256}},
    "evidence, 64 failures": {"search": {"policy": "evidence", "failures": 64}, "train": {"batch_size": 128}},
    "paper": {"search": {"policy": "paper"}},
}
OPTIMIZERS = ("optimizer", "optimizer-poor", "optimizer-misciting", "optimizer-useless")
FAMILIES = (None, "parcels")
SIZES = (
    {"train": 40, "val": 30, "test": 40, "batch_size": 20, "epochs": 1},
    {"train": 60, "val": 60, "test": 120, "batch_size": 20, "epochs": 3},
    {"train": 120, "val": 50, "test": 60, "batch_size": 40, "epochs": 4},
    {"train": 80, "val": 40, "test": 60, "batch_size": 20, "epochs": 8},
)
NAMES = ("target calls", "optimizer calls", "tokens")


class Found(NamedTuple):
    """A number that was forecast, and what it came to."""

    search: str
    measured: bool
    name: str
    expected: Span
    used: int

    @property
    def inside(self) -> bool:
        return self.expected.low <= self.used <= self.expected.high

    @property
    def width(self) -> float:
        return self.expected.high / max(1, self.expected.low)


def runs(seeds: int) -> Iterator[Found]:
    """Forecast, train, compare."""
    for seed, size, family, optimizer, search in product(range(seeds), SIZES, FAMILIES, OPTIMIZERS, SEARCHES):
        tasks = make_tasks(family, size["train"] + size["val"] + size["test"], seed)
        skill = Skill(name="start", text=start(tasks, seed))
        for measured in (False, True):
            with TemporaryDirectory() as folder:
                config = merge(settings(Path(folder), tasks, size), SEARCHES[search])
                config = merge(config, {"optimizer": {"model": f"simulated:{optimizer}"}, "train": {"seed": seed}})
                expected = plan(config, measured, skill=skill).forecast
                cost = Trainer(config, skill=skill).train().cost
            tokens = sum(usage.total for usage in cost.tokens.values())
            yield Found(search, measured, "target calls", expected.target_calls, cost.target_calls)
            yield Found(search, measured, "optimizer calls", expected.optimizer_calls, cost.optimizer_calls)
            yield Found(search, measured, "tokens", expected.tokens, tokens)


def start(tasks: list[Task], seed: int) -> str:
    """The skill that a run begins with."""
    rules = best_skill(tasks).splitlines(keepends=True)
    half = random.Random(seed).sample(rules, len(rules) // 2)
    return ("", SEED_SKILL, "".join(half))[seed % 3]


def settings(folder: Path, tasks: list[Task], size: dict[str, int]) -> dict[str, Any]:
    """Of a run in the folder."""
    env: dict[str, Any] = {"scorer": "exact"}
    for split in ("train", "val", "test"):
        some, tasks = tasks[: size[split]], tasks[size[split] :]
        rows = (task.model_dump(mode="json", include={"id", "input", "gold", "type"}) for task in some)
        env[split] = str(folder / f"{split}.jsonl")
        Path(env[split]).write_text("".join(json.dumps(row) + "\n" for row in rows))
    train = {"epochs": size["epochs"], "batch_size": size["batch_size"]}
    return {"env": env, "train": train, "run": {"folder": str(folder / "runs")}}


def table(seeds: int) -> Iterator[str]:
    """By search and number: how many runs lay inside, below and above, and how wide the range was."""
    found = list(runs(seeds))
    yield "| search | number | failures | runs | inside | below | above | high / low: median | most |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for search, name, measured in product(SEARCHES, NAMES, (False, True)):
        some = [each for each in found if (each.search, each.name, each.measured) == (search, name, measured)]
        inside = sum(each.inside for each in some)
        below = sum(each.used < each.expected.low for each in some)
        widths = [each.width for each in some]
        yield (
            f"| {search} | {name} | {'measured' if measured else 'assumed'} | {len(some)} | {inside} | {below} | "
            f"{len(some) - inside - below} | {statistics.median(widths):.1f} | {max(widths):.1f} |"
        )


if __name__ == "__main__":
    for line in table(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        print(line)
