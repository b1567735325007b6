"""What it costs that attempts are made in worker processes that Ray starts.

    python benchmarks/executors.py            about ten minutes on two cores; needs the extra `ray`
    python benchmarks/executors.py --quick    two minutes

An agent that keeps a CPU busy, beside the same work in bare processes on the same cores, in turn. Then a training run
of the agent `chat` with 512 calls in flight, beside the longest chain of its calls: the time it cannot do without.
The cluster is one of this machine.
"""

import asyncio
import itertools
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import command_line, write_results
from measure import longest_chain

from etude import Skill, Trainer
from etude.config import ModelSection, make_config
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, Reply
from etude.simulation import make_tasks, seed_skill
from etude_annexes.workers.ray import RayExecutor

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "executors"))
from far_parts import SKILL, burn, echo, rollout_with, todo

TESTS = Path(__file__).resolve().parent.parent / "tests"
CORES = os.cpu_count() or 1
LOOPS = 3_000_000
"""Turns of a loop that make an attempt: a tenth of a second."""
IN_FLIGHT = 512
WORKERS = 4


class Slow(SimulatedModel):
    """A simulated model that takes its time and writes down when it was asked and answered."""

    def __init__(self, name: str, latency: float, spans: list[tuple[float, float]]) -> None:
        super().__init__(name, ModelSection(model=f"simulated:{name}"))
        self._latency = latency
        self._spans = spans

    async def complete(self, request: ChatRequest) -> Reply:
        asked = time.monotonic()
        await asyncio.sleep(self._latency)
        reply = await super().complete(request)
        self._spans.append((asked, time.monotonic()))
        return reply


@contextmanager
def cluster() -> Generator[str]:
    """The address of a Ray cluster on this machine."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_TMPDIR": folder}
        os.environ |= quiet
        words = [sys.executable, str(TESTS / "slow" / "ray_cluster.py")]
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["address"]
        process.communicate()


async def in_turn(address: str, rounds: int, attempts: int) -> list[tuple[float, float]]:
    """Attempts per second of processes that do nothing else, and of an agent in as many workers, again and again."""
    options = {"address": address, "workers": CORES}
    executor = RayExecutor.from_options(options, concurrency=4 * CORES, where="executor")
    numbers, pids, found = itertools.count(), set[str](), list[tuple[float, float]]()
    async with rollout_with(executor, echo) as rollout:

        async def made(words: str, count: int) -> set[str]:
            """Answers; each attempt is another one, or the journal would have it."""
            asked = todo(*[f"{words} {next(numbers)}" for _ in range(count)])
            attempts = [attempt async for _, attempt in rollout.stream(asked, SKILL, "train")]
            assert all(attempt.outcome == "completed" for attempt in attempts)
            return {attempt.trajectory.answer for attempt in attempts}

        while len(pids) < CORES:
            pids |= await made("pid", 4 * CORES)
        with multiprocessing.get_context("spawn").Pool(CORES) as pool:
            pool.map(burn, [1000] * CORES * 4, chunksize=1)
            for _ in range(rounds):
                began = time.monotonic()
                await asyncio.to_thread(pool.map, burn, [LOOPS] * attempts, 1)
                between = time.monotonic()
                await made(f"burn {LOOPS}", attempts)
                found.append((attempts / (between - began), attempts / (time.monotonic() - between)))
                sys.stderr.write(f"bare and with Ray, attempts per second: {found[-1]}\n")
    return found


def busy(address: str, rounds: int, attempts: int) -> dict[str, Any]:
    """Both in turn."""
    found = asyncio.run(in_turn(address, rounds, attempts))
    plain, far = (statistics.median(column) for column in zip(*found, strict=True))
    share = statistics.median(there / here for here, there in found)
    return {
        "caption": "An agent that keeps a CPU busy",
        "columns": ["", "attempts per second", "of bare processes"],
        "rows": [["bare processes", round(plain, 2), None], ["workers of Ray", round(far, 2), f"{share:.2f}"]],
        "note": f"{attempts} attempts on {CORES} cores in each of {rounds} rounds, both in turn; medians.",
    }


def flight(executor: dict[str, Any], latency: float) -> list[Any]:
    """A training run with many calls in flight: chain and wall clock in seconds."""
    spans: list[tuple[float, float]] = []
    tasks = list({task.input: task for task in make_tasks(None, 4 * IN_FLIGHT, seed=1)}.values())
    with tempfile.TemporaryDirectory() as folder:
        splits = {"train": tasks[:IN_FLIGHT], "val": tasks[IN_FLIGHT : 2 * IN_FLIGHT], "test": tasks[-IN_FLIGHT:]}
        for split, chosen in splits.items():
            rows = [{"id": task.id, "input": task.input, "answer": task.gold} for task in chosen]
            Path(folder, f"{split}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        config = {
            "preset": "paper",
            "search": {"batch_size": IN_FLIGHT},
            "env": {split: f"{folder}/{split}.jsonl" for split in splits} | {"scorer": "exact"},
            "run": {"folder": folder},
            "train": {"epochs": 1},
            "limits": {"concurrency": IN_FLIGHT},
            "target": {"model": "simulated:target", "max_concurrency": IN_FLIGHT},
            "optimizer": {"model": "simulated:optimizer", "max_concurrency": IN_FLIGHT},
            "executor": executor,
        }
        models = {role: Slow(role, latency, spans) for role in ("target", "optimizer")}
        began = time.monotonic()
        Trainer(make_config(config), skill=Skill(name="skill", text=seed_skill(None)), **models).train()  # type: ignore
        wall = time.monotonic() - began
    steps = sorted([(asked, 1) for asked, _ in spans] + [(answered, -1) for _, answered in spans])
    most = max(itertools.accumulate(step for _, step in steps))
    chain = longest_chain(spans) * latency
    found = [len(spans), most, round(chain, 1), round(wall, 1), f"{wall / chain:.2f}"]
    sys.stderr.write(f"{executor['name']}: {found}\n")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Run and write results."""
    parser = command_line(__doc__, "executors")
    parser.add_argument("--quick", action="store_true", help="fewer attempts, shorter calls")
    args = parser.parse_args(words)
    rounds, attempts, latency = (3, 20, 2.0) if args.quick else (25, 20, 10.0)
    load = f"Processes that wanted a core in the minute before: {os.getloadavg()[0]:.0f}."
    with cluster() as address:
        far = {"name": "ray", "address": address, "workers": WORKERS}
        tables = [
            busy(address, rounds, attempts),
            {
                "caption": f"{IN_FLIGHT} calls in flight",
                "columns": ["executor", "calls", "most in flight", "chain, s", "wall clock, s", "of the chain"],
                "rows": [["local", *flight({"name": "local"}, latency)], ["ray", *flight(far, latency)]],
                "note": f"The agent `chat`, {latency:g} s for every call, {WORKERS} workers. `chain, s`: the longest "
                "chain of calls that were sent one after the answer of the other. The wall clock has the start of "
                f"the workers in it. {load}",
            },
        ]
    write_results(args.out, "Attempts in workers of Ray", ["executors", *["--quick"] * args.quick], tables)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
