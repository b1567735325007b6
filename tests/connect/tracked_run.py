"""A run in a moment, for trackers to hear of."""

from pathlib import Path
from typing import Any

from etude import Skill, Trainer
from etude.config import merge
from etude.envs import ListEnvironment
from etude.records.summary import Summary
from etude.simulation import SEED_SKILL, make_tasks


def train(folder: Path, *sinks: Any, text: str = SEED_SKILL, **config: Any) -> Summary:
    tasks = make_tasks("sorting", 13, seed=1)
    env = ListEnvironment(tasks[:5], tasks[5:10], tasks[10:], scorer="exact")
    settings = {
        "search": {"policy": "paper", "batch_size": 5},
        "train": {"epochs": 1},
        "test": {"no_skill": False},
        "run": {"folder": str(folder), "name": "run"},
    }
    skill = Skill(name="everyday-tasks", text=text)
    return Trainer(merge(settings, config), env=env, skill=skill, sinks=sinks, progress=False).train()
