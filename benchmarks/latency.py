"""What slow and refused answers cost: the same training, and the same requests, with and without, in virtual time.

    python benchmarks/latency.py                     four minutes
    python benchmarks/latency.py --quick             one minute
    python benchmarks/latency.py --before FOLDER     adds another version, whose src and benchmarks are in this folder

Latencies are drawn by a digest of the request, so a request that is sent at another time takes as long.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from hard_worlds import WORLD, model
from harness import command_line, write_results
from slots import WORLDS, tasks_of
from virtual_time import in_virtual_time

from etude import ChatModel, ChatRequest, ListEnvironment, Reply, Skill, Trainer
from etude.errors import EtudeError, TransientError
from etude.executors.local import LocalExecutor
from etude.models import Limited, Retrying
from etude.protocols import Wrapper
from etude.records import digest, user

MEAN, LONGEST = 4.165, 60.0
"""Seconds. The heavy tail is a Pareto distribution of index 1 from 1 to 60 seconds, which has this mean."""
TRAIN, VAL, TEST, SLOTS = 100, 40, 40, 32
SEEDS = 4
RUNS = ("constant", "tail", "tail, sent again", "10% refused")
REFUSED_AFTER = 0.05


class Server(Wrapper):
    """Answers as the model inside, but after a while, and not always."""

    def __init__(self, model: ChatModel, tail: bool, refused: float, seed: int) -> None:
        super().__init__(model)
        self.tail, self.refused, self.seed = tail, refused, seed
        self.calls = 0
        self._sent = Counter[str]()

    async def complete(self, request: ChatRequest) -> Reply:
        text = digest(request.model_dump(mode="json"))
        self._sent[text] += 1
        chance = random.Random(f"{self.seed} {text} {self._sent[text]}")
        if chance.random() < self.refused:
            await asyncio.sleep(REFUSED_AFTER)
            raise TransientError("HTTP 429", rate_limited=True)
        self.calls += 1
        await asyncio.sleep(1 / (1 - chance.random() * (1 - 1 / LONGEST)) if self.tail else MEAN)
        return await super().complete(request)


def train(name: str, world: str, seed: int) -> tuple[int, float]:
    """Calls and seconds of a training."""
    family, *models = WORLDS[world]
    tasks = tasks_of(family, TRAIN + VAL + TEST, seed)
    refused = 0.1 if "refused" in name else 0.0
    target, optimizer = (Server(model(one), "tail" in name, refused, seed) for one in models)
    limits = {"concurrency": SLOTS} | ({"resend": True} if "again" in name else {})
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "run": {"folder": folder},
            "target": {"model": target.name},
            "optimizer": {"model": optimizer.name},
            "train": {"seed": seed, "epochs": 2},
            "limits": limits,
        }
        env = ListEnvironment(tasks[:TRAIN], tasks[TRAIN : TRAIN + VAL], tasks[TRAIN + VAL :], scorer="exact")
        trainer = Trainer(
            settings,
            env=env,
            skill=Skill(name="skill", text=WORLD.seed_skill(family)),
            target=target,
            optimizer=optimizer,
            executor=LocalExecutor(SLOTS),
        )
        _, seconds = in_virtual_time(trainer.atrain())
    return target.calls + optimizer.calls, seconds


class Busy(ChatModel):
    """Answers after 1 to 3 seconds what it does not refuse."""

    name = "busy"

    def __init__(self, refuses: Callable[["Busy"], bool]) -> None:
        self.refuses = refuses
        self.chance = random.Random(1)
        self.under_way = self.refused = 0
        self.accepted: list[float] = []

    def lately(self, seconds: float) -> int:
        """Requests accepted in the last so many seconds."""
        now = asyncio.get_running_loop().time()
        self.accepted = [at for at in self.accepted if at > now - seconds]
        return len(self.accepted)

    async def complete(self, request: ChatRequest) -> Reply:
        if self.refuses(self):
            self.refused += 1
            await asyncio.sleep(REFUSED_AFTER)
            raise TransientError("HTTP 429", rate_limited=True)
        self.accepted.append(asyncio.get_running_loop().time())
        self.under_way += 1
        await asyncio.sleep(1 + 2 * self.chance.random())
        self.under_way -= 1
        return Reply(text="done")


SERVERS: Mapping[str, tuple[Callable[[Busy], bool], int, int, float]] = {
    "2% refused by chance": (lambda busy: busy.chance.random() < 0.02, 2_000, 20_000, 20),
    "10% refused by chance": (lambda busy: busy.chance.random() < 0.1, 2_000, 20_000, 20),
    "30% refused by chance": (lambda busy: busy.chance.random() < 0.3, 2_000, 20_000, 20),
    "takes 50 at once": (lambda busy: busy.under_way >= 50, 2_000, 3_000, 120),
    "takes 4 at once": (lambda busy: busy.under_way >= 4, 200, 240, 120),
    "takes 600 in a minute": (lambda busy: busy.lately(60) >= 600, 500, 2_000, 180),
}
"""What is refused, slots, requests, and the seconds that they take at least."""


def flood(name: str) -> tuple[float, int]:
    """Seconds until all requests are answered, and how many were refused."""
    refuses, slots, requests, _ = SERVERS[name]
    busy = Busy(refuses)

    async def send_all() -> None:
        clock = asyncio.get_running_loop().time
        model = Retrying(Limited(busy, slots), "target", 300, clock=clock, jitter=random.Random(2).random)
        places = asyncio.Semaphore(slots)

        async def send(number: int) -> None:
            async with places:
                try:
                    await model.complete(ChatRequest(messages=(user(str(number)),)))
                except EtudeError as error:
                    sys.stderr.write(f"{name}: {error}\n")

        await asyncio.gather(*map(send, range(requests)))

    return in_virtual_time(send_all())[1], busy.refused


def measure(seeds: int) -> dict[str, Any]:
    """All that this version comes to."""
    found: dict[str, Any] = {"floods": {name: flood(name) for name in SERVERS}}
    for name in RUNS:
        for world in WORLDS:
            found[f"{world} {name}"] = [train(name, world, seed) for seed in range(1, 1 + seeds)]
            sys.stderr.write(f"{world}, {name}: {found[f'{world} {name}']}\n")
    return found


def measured(seeds: int, source: Path | None) -> dict[str, Any]:
    """The same of the version in a folder, in a process of its own."""
    env = os.environ | ({} if source is None else {"PYTHONPATH": str(source / "src")})
    script = __file__ if source is None else source / "benchmarks/latency.py"
    words = [sys.executable, str(script), "--one", str(seeds)]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True, env=env).stdout)


def trainings(sides: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The table of trainings."""
    rows: list[list[Any]] = []
    for world in WORLDS:
        for side, found in sides.items():
            base = found[f"{world} constant"]
            for name in RUNS:
                runs = found.get(f"{world} {name}")
                if runs is not None:
                    ratios = [seconds / known for (_, seconds), (_, known) in zip(runs, base, strict=True)]
                    calls, seconds = (median(each) for each in zip(*runs, strict=True))
                    rows.append([world, side, name, round(calls), round(seconds), f"{median(ratios):.2f}"])
    return {
        "caption": "A training with slow and with refused answers",
        "columns": ["world", "version", "answers", "calls", "seconds", "of constant"],
        "rows": rows,
        "note": f"{TRAIN} training tasks, {SLOTS} slots; medians, with `--quick` of one seed. Constant: each answer "
        f"takes {MEAN:.1f} s. Tail: 1 to {LONGEST:.0f} s with the same mean. Sent again: with `limits.resend`; calls "
        "include both. Refused: one request of ten, with a bare 429. Of constant: median share of the time with "
        "constant answers.",
    }


def floods(sides: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The table of servers that refuse."""
    rows: list[list[Any]] = []
    for name, (_, slots, requests, least) in SERVERS.items():
        times = [round(value) for found in sides.values() for value in found["floods"][name]]
        rows.append([name, slots, requests, round(least), *times])
    columns = [f"{side}: {what}" for side in sides for what in ("seconds", "refused")]
    return {
        "caption": "Servers that refuse with 429",
        "columns": ["server", "slots", "requests", "at least, s", *columns],
        "rows": rows,
        "note": "An answer takes 1 to 3 s, a refusal 0.05 s, without `Retry-After`. At least: at a server that is "
        "always as busy as it may be.",
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run and write results."""
    parser = command_line(__doc__, "latency")
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="source of another version to compare with")
    parser.add_argument("--one", type=int, metavar="SEEDS", help=argparse.SUPPRESS)
    args = parser.parse_args(words)
    if args.one:
        print(json.dumps(measure(args.one)))
        return 0
    seeds = 1 if args.quick else SEEDS
    sources = ({"before": args.before} if args.before else {}) | {"now": None}
    with ThreadPoolExecutor() as pool:  # time is virtual, so they do not disturb each other
        runs = pool.map(lambda source: measured(seeds, source), sources.values())
        sides = dict(zip(sources, runs, strict=True))
    given = [*(["--quick"] if args.quick else []), *(["--before", "FOLDER"] if args.before else [])]
    write_results(args.out, "Slow and refused answers", ["latency", *given], [trainings(sides), floods(sides)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
