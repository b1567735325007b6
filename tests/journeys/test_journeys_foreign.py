"""Training on tasks in the formats of other tools, with the simulated world as the models."""

from pathlib import Path

import pytest
from small_run import agrees

from etude import Skill, Trainer
from etude.cli.main import main
from etude.simulation import SEED_SKILL, make_tasks
from harbor_folders import needs_bubblewrap, write_task

SKILL = Skill(name="everyday-tasks", text=SEED_SKILL)


@needs_bubblewrap
def test_the_agent_with_tools_learns_from_folders_of_harbor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = make_tasks("dates", 16, seed=4)
    splits = {"train": tasks[:8], "val": tasks[8:12], "test": tasks[12:]}
    for split, some in splits.items():
        for task in some:
            write_task(tmp_path / split / task.id, task.input, str(task.gold))
    config = {
        "env": {"name": "harbor", **{split: str(tmp_path / split) for split in splits}},
        "agent": {"name": "tools"},
        "search": {"policy": "paper"},  # four validation tasks show no gain
        "train": {"epochs": 1, "batch_size": 10},
        "limits": {"concurrency": 4},
        "run": {"folder": str(tmp_path / "runs"), "name": "folders"},
    }
    summary = Trainer(config, skill=SKILL).train()
    assert agrees(config, skill=SKILL)
    assert summary.voids == 0
    assert summary.accepted > 0
    assert summary.test_gain is not None
    assert summary.test_gain.mean > 0
    # Views of a run do not hold the content of files, and can be read all the same.
    assert main(["show", str(tmp_path / "runs" / "folders"), "--step", "1"]) == 0
    assert "applied" in capsys.readouterr().out
