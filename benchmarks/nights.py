"""How often a night proposes a document that changes nothing, and one that helps, when attempts are a matter of luck;
and how often it holds a task out and trains on a rewording of it.

    python benchmarks/nights.py    some seconds

Nights are computed: no model is asked. What decides in them is what decides in a night, the gate's race over held-out
tasks and the exact test of fresh attempts.
"""

import random
from collections import Counter
from itertools import combinations
from typing import Any, NamedTuple

from harness import compute
from rewordings import REWORDINGS

from etude.published.gate import Race
from etude.records.summary import ComparedTask
from etude.sleep.config import NIGHT, SleepSection
from etude.sleep.tasks.clusters import divide
from etude.sleep.tasks.mined import MinedTask
from etude.stages.shared.contest import behind, exchanged

NOISES = (0.0, 0.2, 0.4)
SIZES = (2, 5)
OPTIMIZERS = ("useless", "good")
CANDIDATES = int(NIGHT["train"]["epochs"])
"""Of a night that goes through all its epochs, with a batch for each."""
TRIALS = SleepSection().confirm_trials
VAL = SleepSection().val_fraction
SEEDS = 200
"""Divisions of a night's tasks."""


class Rates(NamedTuple):
    """Shares of the nights."""

    passed: float
    """A candidate passed the gate."""
    gained: float
    """And does better in the fresh attempts, by however little."""
    proposed: float
    """And luck alone does as well in at most one of twenty cases, and no task is lost."""
    attempted: float
    """Of the fresh attempts, those that are made: a candidate that is behind after the first trial gets no others."""


def rates(noise: float, optimizer: str, tasks: int, nights: int) -> Rates:
    """Go through night after night.

    Args:
        noise: how often an attempt comes out the other way. The old document solves none of the tasks; what a useless
            optimizer writes changes that for none, what a good one writes first solves all.
        tasks: held out.
    """
    dice = random.Random(f"0 {noise} {optimizer} {tasks}")
    passed = gained = proposed = made = 0
    helped = 1 - noise if optimizer == "good" else noise
    for _ in range(nights):
        if not _search(dice, noise, helped, tasks):
            continue
        passed += 1
        fresh = [
            ComparedTask(task=str(task), a=_attempts(dice, noise, TRIALS), b=_attempts(dice, helped, TRIALS))
            for task in range(tasks)
        ]
        gained += sum(sum(one.b) - sum(one.a) for one in fresh) > 0
        first = [ComparedTask(task=one.task, a=one.a[:1], b=one.b[:1]) for one in fresh]
        made += tasks if behind(first) else tasks * TRIALS
        proposed += not behind(first) and exchanged(fresh, strict=True).verdict == "ship"
    share = made / passed / tasks / TRIALS if passed else 0.0
    return Rates(passed / nights, gained / nights, proposed / nights, share)


def together(kind: str, *, named: bool, seeds: int = SEEDS) -> Counter[str]:
    """A night with all requests of a kind in both wordings, divided again and again.

    Args:
        named: the tasks say of which kind they are.

    Returns:
        `joined`: pairs of rewordings in one cluster; `apart`: those with one on the side for training and one held
        out, summed over the seeds; `merged`: pairs of different wishes in one cluster.
    """
    rows = REWORDINGS[kind]
    tasks = [
        MinedTask(id=f"{number}{letter}", intent=text, rubric="It is right.", type=kind if named else "")
        for number, pair in enumerate(rows)
        for letter, text in zip("ab", pair, strict=True)
    ]
    found: Counter[str] = Counter()
    for seed in range(seeds):
        for one, other in combinations(divide(tasks, val=VAL, seed=seed), 2):
            same = one.cluster == other.cluster
            if one.id[:-1] != other.id[:-1]:
                found["merged"] += same and seed == 0
            else:
                found["joined"] += same and seed == 0
                found["apart"] += one.split != other.split
    return found


def leaks(seeds: int = SEEDS) -> dict[str, Any]:
    """The table of rewordings that get onto two sides."""
    rows: list[list[str]] = []
    for named in (True, False):
        counts = {kind: together(kind, named=named, seeds=seeds) for kind in REWORDINGS}
        pairs = sum(len(rows) for rows in REWORDINGS.values())
        others = sum(2 * len(rows) * (len(rows) - 1) for rows in REWORDINGS.values())
        found = sum(counts.values(), Counter[str]())
        apart = f"{100 * found['apart'] / (pairs * seeds):.0f}%"
        name = "with their kinds" if named else "without kinds"
        rows.append([name, f"{found['joined']} of {pairs}", apart, f"{found['merged']} of {others}"])
    note = (
        "Requests of ten kinds in two wordings each, from `benchmarks/rewordings.py`; the likeness that clusters ask "
        f"for was chosen on them. All of a kind are the tasks of one night, divided with {seeds} seeds; "
        f"{100 * VAL:.0f}% of clusters are held out. On two sides: one wording is trained on and the other held out. "
        "Without kinds: the model that reads sessions never says that two tasks are of one kind. Last column: "
        "different wishes that are taken for one."
    )
    columns = ["requests", "rewordings in one cluster", "rewordings on two sides", "other wishes in one cluster"]
    return {"caption": "Rewordings on two sides", "columns": columns, "rows": rows, "note": note}


def _search(dice: random.Random, noise: float, helped: float, tasks: int) -> bool:
    """Whether one of the night's candidates is accepted: higher on the held-out tasks, and lower on none."""
    current, accepted = _attempts(dice, noise, tasks), False
    for _ in range(CANDIDATES):
        if all(current):
            break
        candidate = _attempts(dice, helped, tasks)
        race = Race(current)
        for index, value in enumerate(candidate):
            race.add(index, value)
        if race.verdict().accepted and all(new >= old for old, new in zip(current, candidate, strict=True)):
            current, accepted = candidate, True
    return accepted


def _attempts(dice: random.Random, chance: float, count: int) -> tuple[float, ...]:
    return tuple(float(dice.random() < chance) for _ in range(count))


def tables(nights: int) -> list[dict[str, Any]]:
    """All cells, for the page."""
    rows: list[list[Any]] = []
    for optimizer in OPTIMIZERS:
        for noise in NOISES:
            for tasks in SIZES:
                found = rates(noise, optimizer, tasks, nights)
                shares = [f"{100 * share:.1f}%" for share in found]
                rows.append([optimizer, f"{noise:g}", str(tasks), *shares])
    note = (
        f"{nights:,} nights for each row, with up to {CANDIDATES} candidates and {TRIALS} fresh attempts at each "
        "held-out task under both documents. Noise: how often an attempt comes out the other way. The old document "
        "solves no held-out task; what the useless optimizer writes changes nothing, what the good one writes solves "
        "all. So a proposal of the useless optimizer is a mistake, and a night of the good one without a proposal is "
        "a miss. Attempted: of the fresh attempts, those that are made: a candidate that is behind after one at each "
        "task gets no others. No model is asked."
    )
    columns = [
        "optimizer",
        "noise",
        "held-out tasks",
        "passes the gate",
        "gains in fresh attempts",
        "is proposed",
        "attempted",
    ]
    return [{"caption": "False and true proposals", "columns": columns, "rows": rows, "note": note}, leaks()]


if __name__ == "__main__":
    compute(__doc__, "nights", "nights", "How often a night proposes what it should", tables)
