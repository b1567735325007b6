"""A small run over the simulated world, and how to compare two of its folders."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from etude import Trainer
from etude.config import ModelSection
from etude.envs import ListEnvironment
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, Reply, Skill
from etude.records.summary import Summary
from etude.simulation import SEED_SKILL, make_tasks


class Counted(SimulatedModel):
    """A simulated model that counts its answers, and can be told to do something before each."""

    def __init__(self, name: str, before: Callable[[int], None] = lambda number: None) -> None:
        super().__init__(name, ModelSection(model=f"simulated:{name}"))
        self.answered = 0
        self._before = before

    async def complete(self, request: ChatRequest) -> Reply:
        self._before(self.answered)
        reply = await super().complete(request)
        self.answered += 1
        return reply


class World:
    """The models of one run, over all its processes."""

    def __init__(self, before: Callable[[int], None] = lambda number: None, target: str = "target") -> None:
        self.target = Counted(target, lambda _: before(self.answered))
        self.optimizer = Counted("optimizer", lambda _: before(self.answered))

    @property
    def answered(self) -> int:
        return self.target.answered + self.optimizer.answered


PAPER: dict[str, Any] = {
    "search": {"policy": "paper"},
    "reflect": {"mode": "shallow", "minibatch_size": 3},
    "slow_update": {"enabled": True, "samples": 2},
    "meta_skill": {"enabled": True},
    "select": {"edit_budget": 6},
}
"""The published loop, with all of its parts."""
EVIDENCE: dict[str, Any] = {
    "search": {"failures": 3, "guard": 2, "leave_one_out": True},
    "slow_update": {"enabled": True, "samples": 2},
}
"""The default search with all of its tests: each edit left out, a guard, and a slow update."""


def settings(folder: Path, search: Mapping[str, Any] = PAPER, **more: Any) -> dict[str, Any]:
    """Two steps and a slow update over thirteen tasks, small enough for a hundred runs in a test."""
    return {
        **search,
        "run": {"folder": str(folder), "name": "run"},
        "train": {"epochs": 2, "batch_size": 5},
        "optimizer": {"model": "simulated:optimizer", "max_concurrency": 1},
        "limits": {"concurrency": 1},
        **more,
    }


def train(
    folder: Path,
    world: World,
    config: dict[str, Any] | None = None,
    *,
    size: int = 5,
    text: str = SEED_SKILL,
    **given: Any,
) -> Summary:
    """Run, or go on, with `size` training and validation tasks, from the skill `text`."""
    tasks = make_tasks("sorting", 2 * size + 3, seed=1)
    return Trainer(
        config or settings(folder),
        env=ListEnvironment(tasks[:size], tasks[size : 2 * size], tasks[2 * size :], scorer="exact"),
        skill=Skill(name="everyday-tasks", text=text),
        target=world.target,
        optimizer=world.optimizer,
        **given,
    ).train()


def tree(folder: Path) -> dict[str, bytes]:
    """The run folder as bytes by path, without what may differ between a run that was killed and one that was not:
    the journal, the events, and the cost block of the summary."""
    found: dict[str, bytes] = {}
    for path in sorted((folder / "run").rglob("*")):
        name = str(path.relative_to(folder / "run"))
        if path.is_dir() or name.startswith("journal.db") or name == "events.jsonl":
            continue
        found[name] = path.read_bytes()
        if name == "summary.json":
            summary = json.loads(found[name])
            del summary["cost"], summary["folder"], summary["forecast"]  # seconds depend on the concurrency
            found[name] = json.dumps(summary).encode()
        if name == "config.yaml":
            found[name] = b"\n".join(line for line in found[name].splitlines() if b"folder:" not in line)
    return found
