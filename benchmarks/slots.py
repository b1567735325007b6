"""What more slots and more tasks come to: many requests in flight over HTTP, then calls, rounds, CPU and memory in
virtual time.

    python benchmarks/slots.py              about twenty minutes on two cores
    python benchmarks/slots.py --quick      a minute
    python benchmarks/slots.py --tasks 1000000     adds a row with so many tasks: half an hour and 11 GB for a million

A clock that jumps to the next event stands in for the clock: every request takes one unit of it, and the work of the
client takes none. So the wall clock in units is the number of requests that waited for each other, and 10,000 slots
can be looked at on a small machine. CPU and memory are measured, each run in a process of its own.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from endpoint import Meter
from hard_worlds import WORLD, model
from harness import command_line, write_results
from measure import longest_chain
from virtual_time import Timed, in_virtual_time

from etude import ListEnvironment, Skill, Trainer, evaluate_skill, make_config
from etude.executors.local import LocalExecutor
from etude.records import Task
from etude.simulation.endpoint import running

VAL, TRUTH = 80, 200
WORLDS = {"many": (None, "target", "optimizer"), "harsh": ("slips", "target-harsh", "optimizer-harsh")}
SLOTS = (1, 16, 256, 2_000, 10_000)
TASKS = (1_000, 10_000, 100_000)
SEEDS = 6
IN_FLIGHT = (512,)
WAVES = 4
"""Tasks for each request in flight."""
LATENCY = 10.0


@dataclass(frozen=True)
class Plan:
    """One run."""

    world: str = "many"
    tasks: int = 1_000
    slots: int = 10_000
    epochs: int = 1
    seed: int = 0
    failures: int = 8
    """`search.failures`."""


@dataclass(frozen=True)
class Found:
    """What it came to. `rounds` is the wall clock in units of a request."""

    target_calls: int
    optimizer_calls: int
    rounds: int
    share: float
    """True score at the end, of the best attainable."""
    cpu: float
    """Seconds."""
    megabytes: int


def tasks_of(family: str | None, count: int, seed: int) -> list[Task]:
    """Tasks with different texts and ids of their own: where there are many, those of the world repeat."""
    found: dict[str, Task] = {}
    for at, task in enumerate(WORLD.make_tasks(family, count + count // 10 + 100, seed=1000 + seed)):
        found.setdefault(task.input, task.model_copy(update={"id": f"t{at}"}))
    tasks = list(found.values())[:count]
    assert len(tasks) == count, f"the world has only {len(tasks)} different tasks"
    return tasks


def run(plan: Plan) -> Found:
    """Train in virtual time."""
    family, target_name, optimizer_name = WORLDS[plan.world]
    tasks = tasks_of(family, plan.tasks + VAL + TRUTH, plan.seed)
    train, val, truth = tasks[: plan.tasks], tasks[plan.tasks : plan.tasks + VAL], tasks[-TRUTH:]
    target, optimizer = (Timed(model(name)) for name in (target_name, optimizer_name))
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "run": {"folder": folder},
            "target": {"model": target.name, "max_concurrency": plan.slots},
            "optimizer": {"model": optimizer.name, "max_concurrency": plan.slots},
            "train": {"seed": plan.seed, "epochs": plan.epochs},
            "search": {"failures": plan.failures},
            "limits": {"concurrency": min(plan.slots, 2_000)},
            "test": {"enabled": False},
        }
        trainer = Trainer(
            config,
            env=ListEnvironment(train, val, scorer="exact"),
            skill=Skill(name="skill", text=WORLD.seed_skill(family)),
            target=target,
            optimizer=optimizer,
            executor=LocalExecutor(plan.slots),
        )
        began = time.process_time()
        summary, rounds = in_virtual_time(trainer.atrain())
        cpu = time.process_time() - began
        best = (Path(summary.folder) / summary.best.skill).read_text()
    return Found(
        target_calls=target.calls,
        optimizer_calls=optimizer.calls,
        rounds=round(rounds),
        share=WORLD.true_score(best, truth, target_name) / WORLD.best_attainable(truth, target_name),
        cpu=cpu,
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )


def apart(plan: Plan) -> Found:
    """The same in a process of its own."""
    words = [sys.executable, __file__, "--one", json.dumps(asdict(plan))]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True)
    found = Found(**json.loads(done.stdout))
    sys.stderr.write(f"{plan}\n  {found}\n")
    return found


def attempt_all(url: str, tasks: int, slots: int) -> dict[str, float]:
    """Attempt tasks over HTTP, each once: wall clock and CPU in seconds."""
    server = {"base_url": url, "api_key_env": "NO_KEY_NEEDED"}
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "run": {"folder": folder},
            "target": {"model": "openai:target", **server},
            "optimizer": {"model": "openai:optimizer", **server},
            "limits": {"concurrency": slots},
        }
        made = tasks_of(None, tasks + 2, 0)
        env = ListEnvironment(made[:1], made[1:2], made[2:], scorer="exact")
        began, worked = time.monotonic(), time.process_time()
        evaluate_skill(make_config(config), env=env, skill=Skill(name="skill", text=WORLD.seed_skill(None)))
        return {"seconds": time.monotonic() - began, "cpu": time.process_time() - worked}


def in_flight(counts: Sequence[int], latency: float) -> dict[str, Any]:
    """Many requests in flight, over HTTP."""
    rows: list[list[Any]] = []
    for count in counts:
        with running(meter := Meter(latency)) as endpoint:
            plan = {"url": endpoint.url, "tasks": WAVES * count, "slots": count}
            words = [sys.executable, __file__, "--attempt", json.dumps(plan)]
            done = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True)
        found, chain = json.loads(done.stdout), longest_chain(meter.spans) * latency
        wall = found["seconds"]
        rows.append([count, meter.most, meter.stats.received, chain, wall, f"{wall / chain:.2f}", found["cpu"]])
        sys.stderr.write(f"{rows[-1]}\n")
    return {
        "caption": "Many requests in flight",
        "columns": ["slots", "most in flight", "calls", "chain, s", "wall clock, s", "of the chain", "client CPU, s"],
        "rows": rows,
        "note": f"`chat` on {WAVES} tasks for each slot, over HTTP on loopback; {latency:g} s for every request. The "
        "endpoint runs on the same cores.",
    }


def more_slots(slots: Sequence[int], tasks: int, seeds: int) -> dict[str, Any]:
    """The same run with more and more slots."""
    rows: list[list[Any]] = []
    with ThreadPoolExecutor(2) as pool:
        for count in slots:
            plan = Plan(tasks=tasks, slots=count, epochs=2)
            found = list(pool.map(apart, [replace(plan, seed=seed) for seed in range(1, 1 + seeds)]))
            middle = (
                round(statistics.median(getattr(one, name) for one in found))
                for name in ("target_calls", "optimizer_calls", "rounds")
            )
            rows.append([count, *middle, f"{statistics.mean(one.share for one in found):.3f}"])
    return {
        "caption": "More slots",
        "columns": ["slots", "target calls", "optimizer calls", "rounds", "share of the best"],
        "rows": rows,
        "note": f"{tasks:,} training tasks, 2 epochs, {seeds} seeds, the world of many rules: medians of calls and "
        "rounds, the mean of shares. A round is the time of one request. What is attempted does not depend on "
        "the slots; most rounds are those of steps that learn, which wait for each other.",
    }


def more_tasks(sizes: Sequence[int]) -> dict[str, Any]:
    """One epoch over more and more tasks."""
    rows: list[list[Any]] = []
    for size in sizes:
        found = apart(Plan(tasks=size))
        calls = found.target_calls + found.optimizer_calls
        rows.append(
            [
                size,
                found.target_calls,
                found.optimizer_calls,
                found.rounds,
                round(calls / found.rounds),
                round(1000 * found.cpu / calls, 2),
                found.megabytes,
            ]
        )
    return {
        "caption": "More tasks",
        "columns": [
            "training tasks",
            "target calls",
            "optimizer calls",
            "rounds",
            "calls in a round",
            "CPU per call, ms",
            "memory, MB",
        ],
        "rows": rows,
        "note": "One epoch with 10,000 slots, the world of many rules; the simulated models are part of CPU and "
        "memory. The first steps learn and are small. Those that change nothing grow, up to 64 times the first, so "
        "over many tasks a round fills hundreds of slots. What ends first is memory: about 11 KB for each task, as "
        "the last attempt at it is kept. The core of the client is next: at 1.8 ms for a call, it keeps 5,000 slots "
        "busy with calls of 10 seconds. `--tasks 1000000` adds the row of a million tasks.",
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run and write results."""
    parser = command_line(__doc__, "slots")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs")
    parser.add_argument(
        "--virtual", action="store_true", help="without the part over HTTP, which needs a quiet machine"
    )
    parser.add_argument("--tasks", type=int, help="a further row with this many training tasks")
    parser.add_argument("--one", metavar="JSON", help=argparse.SUPPRESS)
    parser.add_argument("--attempt", metavar="JSON", help=argparse.SUPPRESS)
    args = parser.parse_args(words)
    if args.one:
        print(json.dumps(asdict(run(Plan(**json.loads(args.one))))))
        return 0
    if args.attempt:
        print(json.dumps(attempt_all(**json.loads(args.attempt))))
        return 0
    given = [f"--{name}" for name in ("quick", "virtual") if getattr(args, name)]
    given += [] if args.tasks is None else ["--tasks", str(args.tasks)]
    sizes = (*TASKS[: 1 if args.quick else None], *([] if args.tasks is None else [args.tasks]))
    tables: list[dict[str, Any]] = []
    if not args.virtual:
        tables.append(in_flight(IN_FLIGHT, 1.0 if args.quick else LATENCY))
    tables.append(more_slots(SLOTS[1::2], 100, 1) if args.quick else more_slots(SLOTS, 10_000, SEEDS))
    tables.append(more_tasks(sizes))
    write_results(args.out, "More slots, more tasks", ["slots", *given], tables)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
