"""Training runs from settings, to compare one whose attempts are made in other processes with one in this process.

python far_runs.py JSON    trains in a process of its own, which a test can kill: the arguments of `train`
"""

import asyncio
import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from etude import Trainer
from etude.config import ModelSection
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, Reply, Skill, digest
from etude.records.summary import Summary
from etude.simulation import SEED_SKILL, make_tasks

EXACT = {"env": {"scorer": "exact"}}
JUDGED = {
    "env": {"scorer": {"name": "rubric", "column": "rules"}},
    "agent": {"name": "tools", "max_steps": 3},
    "judge": {"model": "simulated:judge"},
}
"""An agent whose attempts are facts, and a scorer that asks a judge."""


class Written(SimulatedModel):
    """A simulated model that writes down what it was asked, and that it answered."""

    def __init__(self, name: str, file: Path, latency: float) -> None:
        super().__init__(name, ModelSection(model=f"simulated:{name}"))
        self._file = file
        self._latency = latency

    async def complete(self, request: ChatRequest) -> Reply:
        key = digest([self.name, request.model_dump(mode="json")])
        self._write("asked", key)
        if self._latency:
            await asyncio.sleep(self._latency)
        reply = await super().complete(request)
        self._write("answered", key)
        return reply

    def _write(self, what: str, key: str) -> None:
        with self._file.open("a") as file:
            file.write(f"{what} {key}\n")


def train(
    folder: str, executor: dict[str, Any], settings: dict[str, Any], *, size: int = 6, latency: float = 0.0
) -> Summary:
    """Train in a folder. Everything but the models comes from settings."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    tasks = make_tasks("sorting", 2 * size + 3, seed=1)
    splits = {"train": tasks[:size], "val": tasks[size : 2 * size], "test": tasks[2 * size :]}
    for split, chosen in splits.items():
        rules = ["the answer is right", "it is short"]
        rows = [{"id": task.id, "input": task.input, "answer": task.gold, "rules": rules} for task in chosen]
        (place / f"{split}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    config = {
        "agent": settings.get("agent", {"name": "chat"}),
        "env": {**{split: str(place / f"{split}.jsonl") for split in splits}, **settings["env"]},
        "run": {"folder": folder, "name": "run"},
        "train": {"epochs": 2},
        "limits": {"concurrency": 8},
        "executor": executor,
    }
    asked = place / "asked.txt"
    roles = {role: Written(role, asked, latency) for role in ("target", "optimizer", "judge")}
    if "judge" not in settings:
        del roles["judge"]
    return Trainer(config, skill=Skill(name="everyday-tasks", text=SEED_SKILL), **roles).train()  # pyright: ignore


def asked_twice(folder: Path) -> int:
    """Requests that were sent more than once."""
    asked = [line for line in (folder / "asked.txt").read_text().splitlines() if line.startswith("asked")]
    return len(asked) - len(set(asked))


def unanswered(folder: Path) -> int:
    """Requests that were cut off."""
    words = [line.split()[0] for line in (folder / "asked.txt").read_text().splitlines()]
    return words.count("asked") - words.count("answered")


def facts(folder: Path) -> list[tuple[str, str, bytes]]:
    """What the journal has, without what depends on the clock, in a fixed order."""
    with closing(sqlite3.connect(folder / "run" / "journal.db")) as connection:
        rows = connection.execute("select kind, key_hash, cast(value as blob) from facts").fetchall()
    timeless = re.compile(rb'"(?:seconds|usd)":[^,}]*')
    return sorted((kind, key, timeless.sub(b"", value)) for kind, key, value in rows)


if __name__ == "__main__":
    train(**json.loads(sys.argv[1]))
