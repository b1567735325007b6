"""How the wall clock of etude grows with tasks and falls with concurrency, and how much of it is waiting.

    python benchmarks/scaling.py            about five minutes on two cores
    python benchmarks/scaling.py --quick    less than a minute

Every request takes the same time, so that the time a run cannot do without is known: the longest chain of requests of
which each was sent after the one before it was answered, times the latency.
"""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from environments import OURS
from harness import Run, Setting, command_line, measure, write_results

COLUMNS = (
    "concurrency",
    "training tasks",
    "target calls",
    "optimizer calls",
    "chain, s",
    "wall clock, s",
    "client CPU, s",
)


@dataclass(frozen=True)
class Plan:
    """What is run."""

    base: Setting
    seeds: int
    concurrencies: tuple[int, ...]
    """With as many tasks as `base` has."""
    growth: tuple[int, ...]
    """Factors of the number of tasks, at the concurrency of `base`."""


FULL = Plan(
    Setting(train=80, val=40, test=10, workers=64, latency=0.5),
    seeds=3,
    concurrencies=(8, 16, 32, 64),
    growth=(1, 2, 4),
)
QUICK = Plan(
    Setting(train=40, val=20, test=10, batch_size=20, epochs=2, workers=64, latency=0.1),
    seeds=2,
    concurrencies=(8, 64),
    growth=(1, 2),
)


def row_of(setting: Setting, seeds: int, settings: Sequence[str]) -> list[Any]:
    """Medians over the seeds of one setting.

    Raises:
        SystemExit: a run failed.
    """
    runs: list[Run] = []
    for seed in range(seeds):
        run, _ = measure(OURS, setting, seed, settings)
        if run.reason:
            raise SystemExit(run.reason)
        runs.append(run)
    chain = statistics.median(run.chain for run in runs)
    row = [
        setting.workers,
        setting.train,
        *(
            round(statistics.median(values))
            for values in zip(*((run.target_calls, run.optimizer_calls) for run in runs), strict=True)
        ),
        round(chain * setting.latency, 2),
        round(statistics.median(run.seconds for run in runs), 2),
        round(statistics.median(run.cpu_seconds for run in runs), 2),
    ]
    sys.stderr.write("  ".join(str(value) for value in row) + "\n")
    return row


def _with_workers(plan: Plan) -> list[Setting]:
    return [replace(plan.base, workers=workers) for workers in plan.concurrencies]


def _with_tasks(plan: Plan) -> list[Setting]:
    """Batches grow with the tasks, so that the number of steps stays."""
    sizes = ("train", "val", "batch_size")
    return [
        replace(plan.base, **{name: getattr(plan.base, name) * factor for name in sizes}) for factor in plan.growth
    ]


def tables(plan: Plan, settings: Sequence[str]) -> list[dict[str, Any]]:
    """The two tables."""
    base = plan.base
    told = f"Medians of {plan.seeds} seeds; {base.latency:g} s for every request, {base.epochs} epochs."
    rows = {
        setting: row_of(setting, plan.seeds, settings)
        for setting in dict.fromkeys((*_with_workers(plan), *_with_tasks(plan)))
    }
    by_concurrency, by_tasks = (
        [rows[setting] for setting in chosen] for chosen in (_with_workers(plan), _with_tasks(plan))
    )
    note = (
        f"{told} `chain, s`: the longest chain of requests that were sent one after the answer of the other, times "
        "the latency. What the wall clock has beyond it is the client's own work, the endpoint's, and starting."
    )
    return [
        {"caption": "Growing concurrency", "columns": list(COLUMNS), "rows": by_concurrency, "note": note},
        {
            "caption": "Growing numbers of tasks",
            "columns": list(COLUMNS),
            "rows": by_tasks,
            "note": f"{told} Validation tasks and batches grow with the training tasks, so the steps stay.",
        },
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Run and write results."""
    parser = command_line(__doc__, "scaling")
    parser.add_argument("--quick", action="store_true", help="fewer runs; less than a minute")
    parser.add_argument("--set", action="append", default=[], metavar="A.B=VALUE", help="a setting of etude")
    args = parser.parse_args(words)
    given = ["--quick"] * args.quick + [word for one in args.set for word in ("--set", one)]
    found = tables(QUICK if args.quick else FULL, args.set)
    write_results(args.out, "Scaling of etude", ["scaling", *given], found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
