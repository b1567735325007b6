"""A small run over the simulated world, and how to compare two of its folders."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from watched import watched_writes

from etude import Trainer
from etude.config import ModelSection, make_config
from etude.envs import ListEnvironment
from etude.measure.verify import verify_skill
from etude.models.simulated import SimulatedModel
from etude.records import ChatRequest, Reply, Skill
from etude.records.summary import Summary
from etude.simulation import SEED_SKILL, make_tasks
from etude.skill import load_skill
from etude.workbench import Given


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
    "search": {
        "policy": "paper",
        "batch_size": 5,
        "minibatch_size": 3,
        "slow_update": True,
        "slow_update_samples": 2,
        "meta_skill": True,
        "edit_budget": 6,
    },
    "reflect": {"mode": "shallow"},
}
"""The published loop, with all of its parts."""
EVIDENCE: dict[str, Any] = {"search": {"failures": 2}}
"""The default search."""


def settings(folder: Path, search: Mapping[str, Any] = PAPER, **more: Any) -> dict[str, Any]:
    """Two epochs over few tasks, small enough for a hundred runs in a test."""
    return {
        **search,
        "run": {"folder": str(folder), "name": "run"},
        "train": {"epochs": 2},
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
    return Trainer(config or settings(folder), **_parts(world, size, text), **given).train()


def verified(
    folder: Path,
    config: dict[str, Any] | None = None,
    *,
    size: int = 5,
    text: str = SEED_SKILL,
    target: str = "target",
) -> bool:
    """Whether the best skill agrees with the journal of its run, with nobody to ask."""
    return agrees(config or settings(folder), **_parts(World(_refuse, target), size, text))


def agrees(config: dict[str, Any], **given: Unpack[Given]) -> bool:
    """Whether the best skill of a run agrees with its journal."""
    settings = make_config(config)
    (best,) = Path(settings.run.folder, settings.run.name).glob("best/*")
    found = verify_skill(settings, load_skill(best), **given)
    assert found.agrees, found.problems
    return found.agrees


def _refuse(_: int) -> None:
    raise AssertionError("verifying made a call")


def _parts(world: World, size: int, text: str) -> Given:
    tasks = make_tasks("sorting", 2 * size + 3, seed=1)
    return {
        "env": ListEnvironment(tasks[:size], tasks[size : 2 * size], tasks[2 * size :], scorer="exact"),
        "skill": Skill(name="everyday-tasks", text=text),
        "target": world.target,
        "optimizer": world.optimizer,
    }


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
            del summary["cost"], summary["folder"]
            found[name] = json.dumps(summary).encode()
        if name == "config.yaml":
            found[name] = b"\n".join(line for line in found[name].splitlines() if b"folder:" not in line)
    return found


class Left(NamedTuple):
    """What a process leaves that is killed at a write: a copy of its folder, taken at that moment."""

    folder: Path
    answered: int
    """Answers that were paid for until then."""
    lost: int
    """Those of them that are not in the journal yet."""


def facts(folder: Path, kind: str = "%") -> int:
    """Committed facts; a journal whose tables were not made yet has none."""
    with closing(sqlite3.connect(folder / "run" / "journal.db")) as connection:
        if not connection.execute("select 1 from sqlite_master where name = 'facts'").fetchall():
            return 0
        return connection.execute("select count(*) from facts where kind like ?", (kind,)).fetchone()[0]


def killed_at_writes(
    run: Callable[[], object], folder: Path, world: World, copies: Path, every: int = 1
) -> list[Left]:
    """Run once, and return what a kill before or after each write would have left, one of `every` writes.

    A moment whose files are those of the moment before is left out: what follows would be the same.
    """
    found: list[Left] = []
    seen: dict[str, bytes] = {}

    def keep(moment: str, number: int) -> None:
        nonlocal seen
        if number % every:
            return
        files = {str(path): path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}
        lasting = {name: data for name, data in files.items() if not name.endswith(("-shm", "events.jsonl"))}
        lost = world.answered - facts(folder, "reply")
        # At concurrency 1 one answer at most was not yet written down.
        assert lost in (0, 1), (number, moment)
        if lasting != seen:
            seen = lasting
            found.append(Left(copies / f"{number:03}-{moment}", world.answered, lost))
            shutil.copytree(folder, found[-1].folder)

    with watched_writes(keep):
        run()
    return found
