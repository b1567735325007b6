#!/usr/bin/env python
"""How much of what `plan` says a run does at most, in simulated runs. Prints Markdown.

    .venv/bin/python benchmarks/forecasts.py [SEEDS]

Every run starts with a skill of its own: an empty one, a weak one, or one that knows half of the rules.
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

from hard_worlds import WORLD, model

from etude.config import merge
from etude.measure.plan import plan
from etude.records import Skill, Task
from etude.simulation import SEED_SKILL
from etude.simulation.world import best_skill
from etude.trainer import Trainer

SEARCHES: dict[str, dict[str, Any]] = {
    "evidence": {"search": {"policy": "evidence"}},
    "evidence, 64 failures": {"search": {"policy": "evidence", "failures": 64}},
    "paper": {"search": {"policy": "paper"}},
    "rewrite_first": {"search": {"policy": "rewrite_first"}},
}
TARGETS = ("target", "target-noisy")
OPTIMIZERS = ("optimizer", "optimizer-poor", "optimizer-misciting", "optimizer-useless")
FAMILIES = (None, "parcels")
SIZES = (
    {"train": 40, "val": 30, "test": 40, "batch_size": 20, "epochs": 1},
    {"train": 60, "val": 60, "test": 120, "batch_size": 20, "epochs": 3},
    {"train": 120, "val": 50, "test": 60, "batch_size": 40, "epochs": 4},
    {"train": 80, "val": 40, "test": 60, "batch_size": 20, "epochs": 8},
)
NAMES = ("target calls", "optimizer calls")


class Found(NamedTuple):
    """The most that was said of a number, and what it came to."""

    search: str
    name: str
    most: int
    used: int

    @property
    def share(self) -> float:
        """Of the upper bound."""
        return self.used / max(1, self.most)


def runs(seeds: int) -> Iterator[Found]:
    """Forecast, train, compare."""
    places = product(range(seeds), SIZES, FAMILIES, TARGETS, OPTIMIZERS, SEARCHES)
    for seed, size, family, target, optimizer, search in places:
        tasks = WORLD.make_tasks(family, size["train"] + size["val"] + size["test"], seed)
        skill = Skill(name="start", text=start(tasks, seed))
        models = {"target": {"model": f"simulated:{target}"}, "optimizer": {"model": f"simulated:{optimizer}"}}
        with TemporaryDirectory() as folder:
            config = merge(settings(Path(folder), tasks, size), SEARCHES[search])
            config = merge(config, {**models, "train": {"seed": seed}})
            if search in ("paper", "rewrite_first"):  # the others have no batches
                config = merge(config, {"search": {"batch_size": size["batch_size"]}})
            roles = plan(config, skill=skill).forecast.roles
            cost = Trainer(config, skill=skill, target=model(target), optimizer=model(optimizer)).train().cost
        yield Found(search, "target calls", roles["target"].calls or 0, cost.target_calls)
        yield Found(search, "optimizer calls", roles["optimizer"].calls or 0, cost.optimizer_calls)


def start(tasks: list[Task], seed: int) -> str:
    """The skill that a run begins with."""
    rules = best_skill(tasks, WORLD.families).splitlines(keepends=True)
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
    return {"env": env, "train": {"epochs": size["epochs"]}, "run": {"folder": str(folder / "runs")}}


def table(seeds: int) -> Iterator[str]:
    """By search and number: how many runs used more than was said, and which share of it they used."""
    found = list(runs(seeds))
    yield "| search | number | runs | more | share of the most: median | largest |"
    yield "|---|---|---|---|---|---|"
    for search, name in product(SEARCHES, NAMES):
        some = [each for each in found if (each.search, each.name) == (search, name)]
        more = sum(each.used > each.most for each in some)
        shares = [each.share for each in some]
        yield (f"| {search} | {name} | {len(some)} | {more} | {statistics.median(shares):.0%} | {max(shares):.0%} |")


if __name__ == "__main__":
    for line in table(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        print(line)
