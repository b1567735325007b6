"""The same tasks as own rows, as folders of harbor, and as the task of inspect-ai and the taskset of verifiers that
the guide shows, with the real packages."""

import asyncio
import json
import subprocess
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from etude import Skill, Trainer
from etude.agents.chat import ChatAgent
from etude.envs.dataset import DatasetEnvironment
from etude.errors import DataError, TransientError
from etude.prompts import Prompts
from etude.protocols import Environment
from etude.records import ChatRequest, File, Score, Task, Trajectory
from etude.simulation import SEED_SKILL, make_tasks
from etude.testing import ScriptedModel
from etude_annexes.foreign.environment import ForeignEnvironment
from etude_annexes.foreign.harbor.environment import HarborEnvironment
from etude_annexes.foreign.inspect import InspectEnvironment
from etude_annexes.foreign.verifiers import VerifiersEnvironment
from harbor_folders import needs_bubblewrap, write_task

TOOLS = Path(__file__).parents[2] / ".tools"
SKILL = Skill(name="everyday-tasks", text=SEED_SKILL)
SPLITS = ("train", "val", "test")
TASKS = make_tasks("dates", 60, seed=3)
WRITTEN = Path(__file__).with_name("foreign_tasks")
"""Tasks as people write them for these packages, which are not installed here."""
FILES = {"inspect": "dates.py", "verifiers": "dates_set.py"}
KINDS: dict[str, type[ForeignEnvironment]] = {"inspect": InspectEnvironment, "verifiers": VerifiersEnvironment}
PACKAGES = {"inspect": "inspect_ai", "verifiers": "verifiers.v1"}
SEES_ANSWER_LINE = """#!/bin/bash
got=$(grep -i '^answer: ' /app/answer.txt | tail -1)
[ "$got" = "$(cat /tests/expected.txt)" ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of a project, with rows of this many tasks."""
    for split, tasks in zip(SPLITS, (TASKS[:20], TASKS[20:40], TASKS[40:]), strict=True):
        rows = [{"id": task.id, "input": task.input, "gold": str(task.gold)} for task in tasks]
        (tmp_path / f"{split}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name in FILES.values():
        (tmp_path / name).write_text((WRITTEN / f"{name}.txt").read_text())
    return tmp_path


def options(name: str, folder: Path) -> dict[str, Any]:
    """Settings of an environment with these tasks. Skips the test where its package is missing."""
    if name == "dataset":
        files = {split: str(folder / f"{split}.jsonl") for split in SPLITS}
        return {**files, "scorer": {"name": "exact", "answer_after": "Answer:"}}
    python = TOOLS / name / "bin" / "python"
    words = [python, "-c", f"import {PACKAGES[name]}"]
    if not python.is_file() or subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip(f"{PACKAGES[name]} is not in .tools/{name}, where scripts/test --slow installs it")
    splits = {split: {"split": split} for split in SPLITS}
    return {"task": str(folder / FILES[name]), "python": str(python), "split_args": splits}


def said(task: Task) -> str:
    """A right answer, a wrong one, one after some words, none."""
    forms = ("Answer: {}", "Answer: {} or so", "I looked.\nAnswer: {}", "I do not know.")
    return forms[TASKS.index(task) % len(forms)].format(task.gold)


async def scores(env: Environment) -> list[float]:
    """Of one attempt at each training task, with the answers above."""
    replies = {task.input: said(task) for task in TASKS}
    model = ScriptedModel(lambda request: replies[request.messages[-1].text])
    agent = env.agent(model, Prompts()) or ChatAgent(model, Prompts())
    tasks = env.tasks("train")
    try:
        made = await asyncio.gather(*(agent.attempt(task, SKILL, 0) for task in tasks))
    finally:
        await agent.aclose()
    return [(await scored(env, task, one)).hard for task, one in zip(tasks, made, strict=True)]


async def scored(env: Environment, task: Task, made: Trajectory) -> Score:
    found = env.score(task, made)
    score = await found if isinstance(found, Awaitable) else found
    assert isinstance(score, Score)
    return score


@pytest.mark.parametrize("name", KINDS)
async def test_the_same_answers_get_the_same_scores(name: str, folder: Path) -> None:
    own, env = DatasetEnvironment(options("dataset", folder)), KINDS[name](options(name, folder))
    assert [task.input for task in env.tasks("train")] == [task.input for task in own.tasks("train")]
    assert await scores(env) == await scores(own) == [1, 0, 1, 0] * 5


@needs_bubblewrap
async def test_the_same_answers_get_the_same_scores_in_folders_of_harbor(tmp_path: Path, folder: Path) -> None:
    more = {"tests/test.sh": SEES_ANSWER_LINE}
    for number, task in enumerate(TASKS[:24]):
        split = "train" if number < 20 else "val"
        write_task(tmp_path / split / f"{number:02}", task.input, f"Answer: {task.gold}", **more)
    env = HarborEnvironment({split: str(tmp_path / split) for split in ("train", "val")})
    left = [Trajectory(files={"answer.txt": File(data=said(task).encode())}) for task in TASKS[:20]]
    found = [(await scored(env, task, one)).hard for task, one in zip(env.tasks("train"), left, strict=True)]
    assert found == await scores(DatasetEnvironment(options("dataset", folder)))


@pytest.mark.parametrize("name", ["dataset", *KINDS])
def test_a_run_learns_from_each_form(name: str, folder: Path, tmp_path: Path) -> None:
    config = {
        "env": {"name": name, **options(name, folder), "limit": {"train": 10, "val": 8}},
        "train": {"epochs": 1},
        "limits": {"concurrency": 8},
        "test": {"enabled": False},
        "run": {"folder": str(tmp_path / "runs"), "name": name},
    }
    summary = Trainer(config, skill=SKILL).train()
    assert summary.voids == 0
    assert summary.accepted > 0
    again = Trainer(config, skill=SKILL).train()  # from its journal
    assert (again.best, again.cost.target_calls) == (summary.best, summary.cost.target_calls)


async def attempt(env: ForeignEnvironment, model: ScriptedModel) -> Trajectory:
    agent = env.agent(model, Prompts())
    try:
        return await agent.attempt(env.tasks("train")[0], SKILL, 0)
    finally:
        await agent.aclose()


@pytest.mark.parametrize("name", KINDS)
async def test_a_request_that_fails_is_an_error_and_not_a_score(name: str, folder: Path) -> None:
    with pytest.raises(TransientError):
        await attempt(KINDS[name](options(name, folder)), ScriptedModel([TransientError("503")]))


async def test_an_error_of_their_scorer_is_an_error_and_not_a_score(folder: Path) -> None:
    path = folder / "dates_set.py"
    path.write_text(
        path.read_text().replace("        found = re.", '        raise OSError("no disk")\n        found = re.')
    )
    with pytest.raises(Exception, match="no disk"):
        await attempt(VerifiersEnvironment(options("verifiers", folder)), ScriptedModel(["Answer: no"]))
    path = folder / "dates.py"
    path.write_text(path.read_text().replace('answer("line")', "broken()") + BROKEN_SCORER)
    with pytest.raises(Exception, match="no disk"):
        await attempt(InspectEnvironment(options("inspect", folder)), ScriptedModel(["Answer: no"]))


BROKEN_SCORER = """

from inspect_ai.scorer import accuracy, scorer


@scorer(metrics=[accuracy()])
def broken():
    async def score(state, target):
        raise OSError("no disk")

    return score
"""


async def test_graders_are_the_same_model_without_the_skill(folder: Path) -> None:
    path = folder / "dates.py"
    text = (
        path.read_text()
        .replace("import answer", "import model_graded_qa")
        .replace('answer("line")', "model_graded_qa()")
    )
    path.write_text(text)
    asked: list[ChatRequest] = []

    def answer(request: ChatRequest) -> str:
        asked.append(request)
        return "Answer: no" if len(asked) == 1 else "GRADE: C"

    env = InspectEnvironment(options("inspect", folder))
    made = await attempt(env, ScriptedModel(answer))
    line = SEED_SKILL.strip().splitlines()[-1]
    assert [any(line in message.text for message in request.messages) for request in asked] == [True, False]
    assert made.answer == "Answer: no"
    assert (await scored(env, env.tasks("train")[0], made)).hard == 1


async def test_the_skill_can_be_a_folder_that_the_agent_reads(folder: Path) -> None:
    seen: list[str] = []

    def answer(request: ChatRequest) -> str:
        seen.extend(tool.name for tool in request.tools)
        return "Answer: no"

    env = InspectEnvironment({**options("inspect", folder), "skill": "folder"})
    assert (await attempt(env, ScriptedModel(answer))).read_skill is False
    assert "skill" in seen


READING_HARNESS = """

from verifiers.v1.harnesses.null.harness import NullHarness


class Reading(NullHarness):
    SUPPORTS_SKILLS = True

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, **more):
        await self.install_skills(runtime, "skills")
        told = await runtime.read("skills/everyday-tasks/SKILL.md")
        data = data.model_copy(update={"system_prompt": "I read: " + told.decode()})
        return await super().launch(ctx, trace, runtime, endpoint, secret, mcp_urls, data, **more)


__all__.append("Reading")
"""


async def test_the_skill_is_mounted_in_a_harness_that_knows_skills_and_refused_by_one_that_does_not(
    folder: Path,
) -> None:
    given = {**options("verifiers", folder), "skill": "folder"}
    given["agent"] = {"harness": {"id": "null"}}
    with pytest.raises(DataError, match="has no native skill support"):
        VerifiersEnvironment(given)
    path = folder / "dates_set.py"
    path.write_text(path.read_text() + READING_HARNESS)
    given["agent"] = {"harness": {"id": "dates_set"}}
    model = ScriptedModel(["Answer: no"])
    await attempt(VerifiersEnvironment(given), model)
    (said,) = [message.text for message in model.requests[0].messages if message.role == "system"]
    assert said.startswith("I read: ---")
    assert SEED_SKILL.strip().splitlines()[-1] in said


def test_a_taskset_with_a_course_of_its_own_is_refused_by_name(folder: Path) -> None:
    path = folder / "dates_set.py"
    game = "class Game(vf.Env[vf.EnvConfig]):\n    pass\n\n\n__all__ = ["
    path.write_text(path.read_text().replace("__all__ = [", game + '"Game", '))
    with pytest.raises(DataError, match="its environment Game has a course of its own"):
        VerifiersEnvironment(options("verifiers", folder))
