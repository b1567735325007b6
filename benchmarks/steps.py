"""Fewer rounds of requests for more calls: steps that collect more failures, up to waves as wide as the slots.

    python benchmarks/steps.py              about four minutes on two cores
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
    "4": PLAN,
    "16": replace(PLAN, failures=16),
    "32": replace(PLAN, failures=32),
    "128": replace(PLAN, failures=PLAN.slots // 2),
}


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
                    [world, name, f"{statistics.median(shares):.2f}", f"{min(shares):.2f}", *map(round, middle)]
                )
    return {
        "caption": "Fewer rounds for more calls",
        "columns": [
            "world",
            "search.failures",
            "share of the best, median",
            "worst",
            "target calls",
            "optimizer calls",
            "rounds",
        ],
        "rows": rows,
        "note": f"{seeds} seeds, {PLAN.tasks} training tasks, {PLAN.epochs} epochs, {PLAN.slots} slots; medians. A "
        "round is the time of one request. A step that collects more failures before an edit is tested takes fewer "
        "rounds, for more calls: its tasks are attempted with a skill that the first of their failures would have "
        "improved. From 16 on `train.batch_size` is twice `search.failures`; with 128, waves start as wide as the "
        "slots.",
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run and write results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--out", type=Path, default=RESULTS / "steps.json", help="where results go")
    args = parser.parse_args(words)
    command = "scripts/benchmark steps" + ("" if args.seeds == 12 else f" --seeds {args.seeds}")
    result = {"title": "Larger steps", "command": command, "machine": machine(), "tables": [compare(args.seeds)]}
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
