"""Fewer rounds of requests for more calls: epochs that begin with a wave as wide as the slots, and larger steps.

    python benchmarks/steps.py              about six minutes on two cores
    python benchmarks/steps.py --seeds 1

In virtual time, as `slots.py`. Results go to benchmarks/results/steps.json.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import machine
from peers import RESULTS
from slots import WORLDS, Plan, apart

PLAN = Plan(tasks=160, slots=256, epochs=8)
ARMS = {
    ("16", "16", "4"): replace(PLAN, slots=16),
    ("256", "8 (twice `search.failures`)", "4"): replace(PLAN, width=1),
    ("256", "256", "4"): PLAN,
    ("256", "256", "128"): replace(PLAN, failures=PLAN.slots // 2),
}
"""By what the first three columns say."""
SEEDS = 24


def compare(seeds: int) -> dict[str, Any]:
    """A table with a row for each world and arm."""
    rows: list[list[Any]] = []
    with ThreadPoolExecutor(2) as pool:
        for world in WORLDS:
            for name, plan in ARMS.items():
                found = list(pool.map(apart, [replace(plan, world=world, seed=seed) for seed in range(1, seeds + 1)]))
                shares = [one.share for one in found]
                middle = (
                    statistics.median(one.target_calls for one in found),
                    statistics.median(one.optimizer_calls for one in found),
                    statistics.median(one.rounds for one in found),
                )
                rows.append(
                    [world, *name, f"{statistics.mean(shares):.3f}", f"{min(shares):.2f}", *map(round, middle)]
                )
    return {
        "caption": "Fewer rounds for more calls",
        "columns": [
            "world",
            "slots",
            "an epoch begins with",
            "search.failures",
            "share of the best, mean",
            "worst",
            "target calls",
            "optimizer calls",
            "rounds",
        ],
        "rows": rows,
        "note": f"{seeds} seeds, {PLAN.tasks} training tasks, {PLAN.epochs} epochs; medians of calls and rounds. A "
        "round is the time of one request. An epoch begins with a wave of attempts as wide as the slots. For "
        "comparison, the second row of each world begins it with as many as the failures of a step ask for, in spite "
        "of its slots. The last row has steps that learn from 128 failures, with a `train.batch_size` of 256: an "
        "edit is tested later, so more attempts are made with a skill that it would have improved.",
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run and write results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=RESULTS / "steps.json", help="where results go")
    args = parser.parse_args(words)
    command = "scripts/benchmark steps" + ("" if args.seeds == SEEDS else f" --seeds {args.seeds}")
    result = {
        "title": "Wide waves and larger steps",
        "command": command,
        "machine": machine(),
        "tables": [compare(args.seeds)],
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
