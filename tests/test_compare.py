"""Two skills on the same tasks."""

from pathlib import Path
from typing import Any

import pytest

from etude import aevaluate_skill
from etude.envs import ListEnvironment
from etude.envs.scorers.rubric import Rubric, RubricOptions
from etude.errors import ConfigError, DataError, VoidStop
from etude.intervals import difference_interval, mean_interval
from etude.measure.compare import acompare_skills
from etude.protocols import Agent
from etude.records import Reply, Skill, Task, Trajectory
from etude.records.summary import Flip, Loaded
from etude.testing import ScriptedModel
from two_skills import OTHERS, TASKS, A, B, World, asked


def test_a_skill_that_solves_more_is_shipped_and_the_tasks_behind_it_are_named(tmp_path: Path) -> None:
    result = World(tmp_path, {"A0": "nnnnnnyy", "B0": "yyyyyyny"}).compare()
    before, after = [0.0] * 6 + [1.0] * 2, [1.0] * 6 + [0.0, 1.0]
    assert (result.a.skill, result.a.hash, result.a.score) == ("a", A.hash, mean_interval(before))
    assert (result.b.skill, result.b.hash, result.b.score) == ("b", B.hash, mean_interval(after))
    assert result.difference == difference_interval(before, after)
    bounds = difference_interval(before, after, 0.90)
    assert (result.at_least, result.at_most) == (bounds.low, bounds.high)
    assert result.at_least > 0
    assert (result.verdict, result.settle) == ("ship", None)
    assert result.gained == tuple(Flip(task=f"t{number}", a=0, b=1) for number in range(6))
    assert result.lost == (Flip(task="t6", a=1, b=0),)
    assert (result.equal, result.voids, result.trials, result.split) == (1, 0, 1, "test")
    assert not result.simulated


async def test_scores_of_a_simulated_judge_are_labelled_also_when_all_are_cached(tmp_path: Path) -> None:
    world = World(tmp_path, {"A0": "nnnnnnyy", "B0": "yyyyyyny"})
    judge = ScriptedModel(lambda request: Reply(text='{"reason": "", "score": 1}', simulated=True), name="judge:x")
    options = RubricOptions(rubric="Is it right?")

    def given(**more: Any) -> dict[str, Any]:
        tasks = ([OTHERS[0]], [OTHERS[1]], TASKS)
        env = {"env": lambda asked: ListEnvironment(*tasks, scorer=Rubric(options, asked))}
        return world.given(**more) | env | {"judge": judge}

    asked: list[int] = []
    for _ in range(2):
        assert (await aevaluate_skill(world.config(), "test", **given(skill=A))).simulated
        assert (await acompare_skills(world.config(), A, B, "test", 1, **given())).simulated
        asked.append(len(judge.requests))
    assert asked[0] == asked[1]


def test_no_skill_is_an_arm_that_is_asked_without_any_text_of_a_skill(tmp_path: Path) -> None:
    world = World(tmp_path, {"-0": "nnnnnnyy", "B0": "yyyyyyny"})
    result = world.compare(None, B)
    assert (result.a.skill, result.b.skill) == ("no skill", "b")
    assert (result.a.score.mean, result.b.score.mean, result.verdict) == (0.25, 0.875, "ship")
    asked_without = [request for request in world.target.requests if asked(request)[0] == "-"]
    assert len(asked_without) == 8
    assert not any("# Skill" in request.messages[0].text for request in asked_without)


class Opens(Agent):
    """A program that opens skill B at the first six tasks, and no other."""

    name = "opens"

    def fingerprint(self) -> str:
        return "opens"

    async def attempt(self, task: Task, skill: Skill, trial: int) -> Trajectory:
        opened = skill.text == B.text and task.id < "t6"
        return Trajectory(answer="yes" if opened else "no", read_skill=opened)


async def test_it_says_in_how_many_attempts_a_program_opened_an_installed_skill(tmp_path: Path) -> None:
    world = World(tmp_path, {"A0": "n" * 8, "B0": "y" * 8})
    for _ in range(2):
        result = await acompare_skills(world.config(), A, B, "test", 1, **world.given(agent=Opens()))
        assert (result.a.loaded, result.b.loaded) == (Loaded(attempts=0, of=8), Loaded(attempts=6, of=8))
    told = await acompare_skills(world.config(), A, B, "test", 1, **world.given())
    assert (told.a.loaded, told.b.loaded) == (None, None)


def test_a_trial_without_a_score_under_one_skill_counts_for_neither(tmp_path: Path) -> None:
    answers = {"A0": "!nnnnnnn", "A1": "nnnnnnnn", "B0": "yyyyyyyy", "B1": "n!!!!!!!"}
    result = World(tmp_path, answers).compare(trials=2, max_void_eval=0.5)
    assert result.voids == 8
    assert result.difference.n == 8
    assert result.gained[0] == Flip(task="t1", a=0, b=1)
    assert result.equal == 1  # the first task: only its second trial counts


def test_voids_above_the_limit_stop_it(tmp_path: Path) -> None:
    with pytest.raises(VoidStop, match="1 of 16 test attempts errored"):
        World(tmp_path, {"A0": "!nnnnnnn", "B0": "yyyyyyyy"}).compare()


def test_without_one_common_score_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no task of split 'test' has a score under both skills"):
        World(tmp_path, {"A0": "!!!!!!!!", "B0": "yyyyyyyy"}).compare(max_void_eval=0.5)


def test_a_margin_is_a_gain_in_score(tmp_path: Path) -> None:
    world = World(tmp_path, {})
    with pytest.raises(ConfigError, match=r"margin = 1 is out of range"):
        world.compare(margin=1)
    assert world.target.requests == []


async def test_other_splits_need_no_test_tasks(tmp_path: Path) -> None:
    world = World(tmp_path, {"A0": "yynnnnnn", "A100000": "nn", "B100000": "yy"})
    given = world.given(env=ListEnvironment(OTHERS, TASKS[:2], scorer="exact"))
    assert (await aevaluate_skill(world.config(), "val", **given, skill=A)).score.mean == 1
    assert (await acompare_skills(world.config(), A, B, "val", 1, **given)).difference.mean == 1
    with pytest.raises(DataError, match="split 'test' has no tasks"):
        await aevaluate_skill(world.config(), "test", **given, skill=A)
