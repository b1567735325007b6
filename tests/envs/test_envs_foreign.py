"""Environments of other makers, with a maker whose package is a script: tasks, attempts, scores, and what is void."""

import asyncio
import functools
import itertools
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from etude.envs.target import returned_score, with_score
from etude.errors import BoundaryError, ConfigError, DataError, TransientError
from etude.prompts import Prompts
from etude.protocols import Agent, ChatModel
from etude.records import SPLITS, ChatRequest, File, Reply, Score, Skill, Task, Trajectory
from etude.sandbox import find_sandbox
from etude.sandbox.sandbox import Unsafe
from etude.testing import AgentContract, EnvironmentContract, ScriptedModel
from etude_annexes.foreign.agent import ForeignAgent, ForeignFailed
from etude_annexes.foreign.environment import ForeignConfig, ForeignEnvironment
from etude_annexes.foreign.inspect import InspectConfig, InspectEnvironment
from etude_annexes.foreign.runner import RUNNERS, RunnerDied
from etude_annexes.foreign.verifiers import VerifiersEnvironment

HERE = Path(__file__).parent
SKILL = Skill(text="Answer with one word.")


class ColourConfig(ForeignConfig):
    def for_runner(self) -> dict[str, JsonValue]:
        return super().for_runner() | {"wire": str(RUNNERS)}


class Colours(ForeignEnvironment):
    name = "colours"
    options_type = ColourConfig
    package = "colours"
    script = str(HERE / "foreign_runner.py")


def colours(**options: Any) -> Colours:
    return Colours({"task": "colours", "ratio": [1, 1, 1], "readable": [str(HERE)], **options})


@pytest.fixture(scope="module")
def env() -> Colours:
    return colours()


def attempts(env: ForeignEnvironment, *lines: Any, skill: Skill = SKILL) -> list[Trajectory | BaseException]:
    """Attempts at the first task, one after the other, with a model that says this: what each came to. Those of one
    call share a process of the package, as those of a run do."""

    async def all_of_them() -> list[Trajectory | BaseException]:
        said = iter(lines)
        agent = env.agent(ScriptedModel(lambda request: next(said)), Prompts())
        found: list[Trajectory | BaseException] = []
        try:
            while len(found) < len(lines):
                found += await asyncio.gather(agent.attempt(env.tasks("train")[0], skill, 0), return_exceptions=True)
            return found
        finally:
            await agent.aclose()

    return asyncio.run(all_of_them())


def attempt(env: ForeignEnvironment, line: Any, skill: Skill = SKILL) -> Trajectory:
    (made,) = attempts(env, line, skill=skill)
    assert isinstance(made, Trajectory), made
    return made


@functools.cache
def two_in_turn() -> Iterator[Colours]:
    return itertools.cycle((colours(), colours()))  # each starts a program


class TestEnvironment(EnvironmentContract):
    def make_environment(self) -> Colours:
        return next(two_in_turn())

    def trajectories(self, task: Task) -> list[Trajectory]:
        return [with_score(Trajectory(), Score(hard=hard, soft=hard)) for hard in (0, 1)]


class AnyTask(ForeignAgent):
    """The runner does not look tasks up. Closed after each attempt, as nobody else would."""

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        data: Mapping[str, JsonValue] = {"variant": 0, "task": task.input}
        try:
            return await super().attempt(task.model_copy(update={"data": data}), skill, trial)
        finally:
            await self.aclose()


@pytest.mark.slow
class TestAgent(AgentContract):
    @pytest.fixture(autouse=True)
    def _environment(self, env: Colours) -> None:
        self.env = env

    def make_agent(self, target: ChatModel) -> Agent:
        agent = self.env.agent(target, Prompts())
        agent.__class__ = AnyTask
        return agent

    def reply(self, answer: str) -> str:
        return answer

    def test_attempts_at_the_same_time_do_not_mix(self) -> None:
        """Below: here one attempt would close the runner of the others."""


def test_attempts_at_the_same_time_share_a_process_and_do_not_mix() -> None:
    env = colours(limit=2)
    tasks = [task for split in SPLITS for task in env.tasks(split)]

    async def answer(request: ChatRequest) -> str:
        number = next(n for n, task in enumerate(tasks) if task.input == request.messages[-1].text)
        await asyncio.sleep((6 - number) / 100)
        return f"colour {number}"

    async def all_of_them() -> Sequence[Trajectory]:
        agent = env.agent(ScriptedModel(answer), Prompts())
        try:
            return await asyncio.gather(*(agent.attempt(task, SKILL, 0) for task in tasks))
        finally:
            await agent.aclose()

    assert [made.answer for made in asyncio.run(all_of_them())] == [f"colour {number}" for number in range(6)]


def test_the_score_comes_with_the_attempt_and_what_goes_wrong_in_the_package_has_none(env: Colours) -> None:
    task = env.tasks("train")[0]
    right = task.input.split()[-1].removesuffix(".")
    said = (right, "mauve", "break", "score 3", TransientError("503"), "limit")
    refused, cut = Reply(text="no", finish="refusal"), Reply(text="", finish="length")
    made, wrong, broken, much, failed, limit, no, empty = attempts(env, *said, refused, cut)
    assert isinstance(made, Trajectory)
    assert isinstance(wrong, Trajectory)
    assert (made.answer, env.score(task, made)) == (right, Score(hard=1, soft=1, feedback="correct"))
    assert env.score(task, wrong) == Score(hard=0, soft=0, feedback="match: mauve")
    with pytest.raises(BoundaryError, match="not made by its own agent"):
        env.score(task, Trajectory(answer=right))
    assert isinstance(broken, ForeignFailed)
    assert "RuntimeError: the sandbox did not start" in broken.message
    assert isinstance(much, ForeignFailed)
    assert "the score 3 is more than full marks, 1" in much.message
    assert isinstance(failed, TransientError)
    failures = [one.failure for one in (limit, no, empty) if isinstance(one, Trajectory)]
    assert failures[:2] == ["the message limit was reached", "the model refused"]
    assert failures[2].startswith("the reply was cut off")


def test_scores_are_divided_by_full_marks_and_those_below_0_count_as_0() -> None:
    halves = [returned_score(one) for one in attempts(colours(full_marks=4), "score 3", "score -1")]
    assert [(score.hard, score.soft) for score in halves if score is not None] == [(0.75, 0.75), (0, 0)]


def test_a_process_that_dies_costs_nothing_but_a_second_try_and_says_by_what_and_its_last_words(env: Colours) -> None:
    said = ("die", "score 1", "die of 9", "die of 9", "die", "die")
    found = attempts(env, *said)[:3]  # each but the first takes two of them
    assert [one.answer for one in found if isinstance(one, Trajectory)] == ["score 1"]
    assert [one.message for one in found if isinstance(one, RunnerDied)] == [
        f"{env.script} ended with {how}"
        for how in ("SIGKILL: the machine may be out of memory: loading | no more colours", "exit code 3")
    ]


@pytest.mark.slow
def test_a_process_that_takes_too_much_memory_says_so() -> None:
    died, *_ = attempts(colours(memory_mb=256), "eat", "eat")
    assert re.search("was ended at its memory limit; raise env.memory_mb|MemoryError", str(died))


def test_attempts_see_neither_keys_nor_files_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(find_sandbox(unsafe=True), Unsafe):
        pytest.skip("no sandbox works here")
    secret = tmp_path / "secret"
    secret.write_text("private")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-private")
    names, seen = json.loads(attempt(colours(args={"secret": str(secret)}), "peek").answer)
    assert "OPENAI_API_KEY" not in names
    assert seen == "nothing"
    env = colours(args={"secret": str(secret)}, readable=[str(HERE), str(secret)])
    assert json.loads(attempt(env, "peek").answer)[1] == "private"


def test_the_skill_can_be_a_folder_with_its_files() -> None:
    skill = Skill(name="colours", text="Answer with one word.", files={"more/list.txt": File(data=b"red")})
    made = attempt(colours(skill="folder"), "files", skill=skill)
    assert made.answer == "colours,SKILL.md,more/list.txt"
    assert made.read_skill is False


def test_splits_of_the_task_are_loaded_with_arguments_of_their_own() -> None:
    env = Colours(
        {
            "task": "colours",
            "readable": [str(HERE)],
            "split_args": {"train": {"say": "Name"}, "val": {"say": "Spell"}},
            "limit": 2,
        }
    )
    assert [[task.input for task in env.tasks(split)] for split in SPLITS] == [
        ["Name the colour red.", "Name the colour green."],
        ["Spell the colour red.", "Spell the colour green."],
        [],
    ]
    with pytest.raises(ConfigError, match="split_args has no 'val'"):
        colours(split_args={"train": {}})


def test_tasks_that_cannot_be_loaded_are_an_error_before_anything_is_paid() -> None:
    with pytest.raises(DataError, match="the data are gone"):
        colours(args={"broken": True})
    with pytest.raises(DataError, match="SystemExit: set COLOURS_HOME first"):
        colours(args={"exit": True})
    with pytest.raises(ConfigError, match=r"there is no such file"):
        colours(task="missing.py@sums")
    with pytest.raises(ConfigError, match="is not a program"):
        colours(python="no/such/python")


@pytest.mark.parametrize(("kind", "name"), [(InspectEnvironment, "inspect"), (VerifiersEnvironment, "verifiers")])
def test_a_missing_package_says_how_to_make_a_place_for_it(kind: type[ForeignEnvironment], name: str) -> None:
    with pytest.raises(ConfigError, match="cannot import what the environment") as error:
        kind({"task": "sums", "python": "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable})
    assert f"python3 -m venv .venv-{name} && .venv-{name}/bin/pip install {kind.package}" in error.value.hint


class Scored(InspectEnvironment):
    """inspect's settings, and a runner that says what the arguments say."""

    class Config(InspectConfig):
        def for_runner(self) -> dict[str, JsonValue]:
            return super().for_runner() | {"wire": str(RUNNERS)}

    options_type = Config
    script = Colours.script


def scored(args: Mapping[str, Any], **options: Any) -> Scored:
    return Scored({"task": "any/task", "readable": [str(HERE)], "args": args, **options})


def test_one_of_several_scores_has_to_be_named_and_a_sandbox_needs_a_place() -> None:
    assert scored({"scores": ["one", "two"]}, score="two").tasks("train")
    with pytest.raises(ConfigError, match="several scorers: one, two"):
        scored({"scores": ["one", "two"]})
    with pytest.raises(ConfigError, match="score = 'three': the task has one, two"):
        scored({"scores": ["one", "two"]}, score="three")
    with pytest.raises(DataError, match="no scorer"):
        scored({"scores": []})
    with pytest.raises(ConfigError, match="brings the sandbox 'docker'") as error:
        scored({"sandboxes": ["docker", "local"]})
    assert "own_sandbox: true" in error.value.hint
    assert scored({"sandboxes": ["docker"]}, own_sandbox=True).tasks("train")


def test_the_fingerprint_changes_with_arguments_and_the_code_next_to_the_task(tmp_path: Path) -> None:
    task = tmp_path / "task.py"
    task.write_text("")
    before = colours(task=str(task)).fingerprint()
    assert colours(task=str(task)).fingerprint() == before
    assert colours(task=str(task), args={"more": 1}).fingerprint() != before
    (tmp_path / "helper.py").write_text("SCORE = 1\n")
    assert colours(task=str(task)).fingerprint() != before
