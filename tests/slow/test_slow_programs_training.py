"""Training with real agent programs over HTTP: the skill reaches the model, tools make files, the score rises."""

import asyncio
from pathlib import Path

import pytest
from program_training import SKILL, FileTasks, settings, train, training_changes_the_skill
from small_run import tree

from etude import BudgetStop, Trainer
from etude.agents.program import ProgramAgent
from etude.config import ModelSection
from etude.models import build_model
from etude.prompts import Prompts
from etude.records import Skill, Trajectory
from etude.registry import find
from etude.simulation.endpoint import running_endpoint

INSTALLED = Path(__file__).resolve().parents[2] / ".tools" / "programs" / "bin"
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
    pytest.mark.slow,
    pytest.mark.skipif(not INSTALLED.is_dir(), reason="no agent programs here: scripts/programs installs them"),
]


@pytest.mark.parametrize(
    ("program", "delivery"),
    [
        ("claude-code", "inline"),
        ("codex", "install"),
        ("opencode", "install"),
        ("pi", "install"),
        ("codex", "inline"),
    ],
)
def test_training_through_a_real_program_changes_the_skill(tmp_path: Path, program: str, delivery: str) -> None:
    training_changes_the_skill(tmp_path, program, delivery)


def test_skills_that_a_program_brings_itself_do_not_stand_in_the_way(tmp_path: Path) -> None:
    """Claude Code has one whose description speaks of counting, too."""
    with running_endpoint() as endpoint:
        config = {
            **settings(tmp_path, endpoint.url, "claude-code"),
            "train": {"epochs": 1},
            "search": {"policy": "paper", "batch_size": 8},
        }
        config["search"]["gate"] = False  # a single validation task shows no gain
        env = FileTasks(train=6, test=1, family="counting", seed=1)
        summary = Trainer(config, env=env, skill=Skill(name="counting", text=COUNTING)).train()
    assert summary.initial.test is not None
    assert summary.accepted > 0


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
