"""A project on disk that trains over HTTP, for runs in processes of their own."""

import json
from pathlib import Path
from typing import Any

from hard_worlds import WORLD
from small_run import PAPER

from etude.simulation import SEED_SKILL


def make_project(folder: Path, url: str, *, family: str | None = "sorting", sizes=(5, 5, 3), **more: Any) -> Path:
    """Tasks, a seed skill and `etude.yaml`; returns the path of the latter."""
    tasks = WORLD.make_tasks(family, sum(sizes), seed=1)
    start = 0
    for split, size in zip(("train", "val", "test"), sizes, strict=True):
        rows = [{"id": t.id, "input": t.input, "gold": t.gold} for t in tasks[start : start + size]]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        start += size
    skill = folder / "everyday-tasks"
    skill.mkdir(exist_ok=True)
    (skill / "SKILL.md").write_text(SEED_SKILL)
    models = {"base_url": url, "api_key_env": "NO_SUCH_KEY"}
    config = {
        "env": {"train": "train.jsonl", "val": "val.jsonl", "test": "test.jsonl"},
        "skill": {"path": "everyday-tasks"},
        "target": {"model": "openai:target", **models},
        "optimizer": {"model": "openai:optimizer", **models},
        "train": {"epochs": 2},
        **PAPER,
        "run": {"folder": "runs", "name": "run"},
        **more,
    }
    path = folder / "etude.yaml"
    path.write_text(json.dumps(config))  # JSON is YAML
    return path
