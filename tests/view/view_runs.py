"""Small runs over the simulated world."""

from collections.abc import Sequence
from pathlib import Path

from etude import Trainer
from etude.envs import ListEnvironment
from etude.protocols import Sink
from etude.records import Skill
from etude.simulation import SEED_SKILL, make_tasks


def train(folder: Path, name: str, sinks: Sequence[Sink] = (), **settings: object) -> Path:
    """A small run over the simulated world; its folder."""
    tasks = make_tasks("sorting", 18, seed=1)
    models = {role: {"model": f"simulated:{role}"} for role in ("target", "optimizer")}
    run = {"run": {"folder": str(folder), "name": name}, "train": {"epochs": 2}, **models}
    env = ListEnvironment(tasks[:6], tasks[6:12], tasks[12:], scorer="exact")
    Trainer({**run, **settings}, env=env, skill=Skill(name="everyday-tasks", text=SEED_SKILL), sinks=sinks).train()
    return folder / name
