"""Training with real agent programs over HTTP: the skill reaches the model, tools make files, the score rises."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from small_run import tree

from etude import BudgetStop, Trainer
from etude.agents.program import ProgramAgent
from etude.config import ModelSection
from etude.models import build_model
from etude.prompts import Prompts
from etude.protocols import Environment
from etude.records import Score, Skill, Split, Task, Trajectory
from etude.records.summary import Summary
from etude.registry import find
from etude.simulation import SEED_SKILL, make_tasks
from etude.simulation.endpoint import running_endpoint

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"
SKILL = Skill(name="everyday-tasks", text=SEED_SKILL)
COUNTING = """\
---
name: counting
description: How to count things of a kind in a list. Use it for questions that ask how many there are.
---

# Counting

- Read the whole question before you count.
- Add up the things of the kind that is asked for.
"""

pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]


@dataclass(frozen=True)
class FileTasks(Environment):
    """Tasks whose answer has to be in a file."""

    train: int = 2
    val: int = 1
    test: int = 2
    name: str = "files"
    family: str = "dates"
    seed: int = 5

    def tasks(self, split: Split) -> Sequence[Task]:
        sizes = {"train": self.train, "val": self.val, "test": self.test}
        start = sum(list(sizes.values())[: list(sizes).index(split)])
        tasks = make_tasks(self.family, sum(sizes.values()), seed=self.seed)[start : start + sizes[split]]
        wanted = "Write the answer, and nothing else, to `answer.txt`."
        return [task.model_copy(update={"input": f"{task.input}\n\n{wanted}"}) for task in tasks]

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        file = trajectory.files.get("answer.txt")
        right = file is not None and file.data.decode().strip() == task.gold
        return Score(hard=float(right), soft=float(right), feedback="" if right else "answer.txt is not right")

    def fingerprint(self) -> str:
        return self.name


def settings(folder: Path, url: str, program: str, **more: Any) -> dict[str, Any]:
    return {
        "agent": {"name": program},
        "target": {"model": "openai:target", "base_url": url, "api_key_env": "NO_SUCH_KEY"},
        "optimizer": {"model": "simulated:optimizer"},
        "train": {"epochs": 1, "batch_size": 5},
        # One or two validation tasks show no gain: the default would hand out the initial skill.
        "search": {"policy": "paper"},
        "run": {"folder": str(folder), "name": "run"},
        "limits": {"concurrency": 4, **more},
    }


def train(config: dict[str, Any], env: Environment | None = None) -> Summary:
    return Trainer(config, env=env or FileTasks(), skill=SKILL).train()


@pytest.mark.parametrize(
    ("program", "delivery"),
    [("claude-code", "inline"), ("codex", "inline"), ("opencode", "install"), ("pi", "install")],
)
def test_training_through_a_real_program_raises_the_score(tmp_path: Path, program: str, delivery: str) -> None:
    """Where the skill is installed, the score can rise only because the program reads it."""
    with running_endpoint() as endpoint:
        config = settings(tmp_path, endpoint.url, program)
        config["agent"]["delivery"] = delivery
        summary = train(config, FileTasks(test=1, seed=4))
        stats = endpoint.stats()
    assert summary.initial.test is not None
    assert summary.best.test is not None
    assert summary.best.test.mean >= summary.initial.test.mean + 0.5
    assert summary.simulated
    assert summary.voids == 0
    # Whatever a program asked is in the account.
    assert summary.cost.target_calls == stats["answered"] == stats["received"]
    assert summary.cost.tokens["target"].input_tokens > 1000 * summary.cost.target_calls


def test_skills_that_a_program_brings_itself_do_not_stand_in_the_way(tmp_path: Path) -> None:
    """Claude Code has one whose description speaks of counting, too."""
    with running_endpoint() as endpoint:
        config = {**settings(tmp_path, endpoint.url, "claude-code"), "train": {"epochs": 1, "batch_size": 8}}
        env = FileTasks(train=3, test=1, family="counting", seed=1)
        summary = Trainer(config, env=env, skill=Skill(name="counting", text=COUNTING)).train()
    assert summary.initial.test is not None
    assert summary.best.test is not None
    assert summary.best.test.mean >= summary.initial.test.mean + 0.3


@pytest.mark.parametrize("program", ["claude-code", "codex"])
def test_what_an_installed_skill_teaches_reaches_the_model(program: str) -> None:
    async def attempt(url: str) -> Trajectory:
        target = build_model(ModelSection(model="openai:target", base_url=url, api_key_env="NO_SUCH_KEY"))
        options = {"delivery": "install"}
        agent: ProgramAgent = find("agents", program).from_options(options, target, Prompts(), where="agent")
        try:
            return await agent.attempt(FileTasks().tasks("train")[0], SKILL, 0)
        finally:
            await agent.aclose()
            await target.aclose()

    with running_endpoint() as endpoint:
        trajectory = asyncio.run(attempt(endpoint.url))
    assert trajectory.failure == ""
    assert trajectory.files.keys() == {"answer.txt"}
    assert trajectory.read_skill is True


def test_a_budget_of_calls_holds_and_a_resumed_run_ends_like_one_that_never_stopped(tmp_path: Path) -> None:
    small = FileTasks(test=1)
    with running_endpoint() as endpoint:
        train(settings(tmp_path / "whole", endpoint.url, "codex"), small)
        endpoint.reset_stats()
        with pytest.raises(BudgetStop):
            train(settings(tmp_path / "parts", endpoint.url, "codex", calls=5), small)
        assert endpoint.stats()["received"] == 5
        train(settings(tmp_path / "parts", endpoint.url, "codex"), small)
    assert tree(tmp_path / "parts") == tree(tmp_path / "whole")
