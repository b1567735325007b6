"""Comparing two epochs: which tasks, under which skills, in which category."""

import pytest
from stages_doubles import ToldAgent, attempt, make_rollout, tasks

from etude.errors import VoidStop
from etude.published.epochs import Pair, compare_epochs, pairs_block
from etude.published.options import PaperOptions
from etude.records import Skill, Task
from memory_doubles import MemoryJournal

BEFORE, AFTER = Skill(text="before"), Skill(text="after")
# By task number modulo 4: under which skills it is solved.
SOLVED = {0: ("before", "after"), 1: ("before",), 2: ("after",), 3: ()}


def number(task: Task) -> int:
    return int(task.id[1:])


def agent() -> ToldAgent:
    return ToldAgent(lambda task, skill, trial: task.gold if skill.text in SOLVED[number(task) % 4] else "wrong")


async def compare(options: PaperOptions, count: int = 40, said: ToldAgent | None = None, **limits: float):
    rollout = make_rollout(said or agent(), **limits)
    return await compare_epochs(rollout, (BEFORE, AFTER), tasks(count), options, epoch=2, seed=42)


async def test_unchanged_keeps_what_stayed_as_it_was_and_does_not_top_up() -> None:
    said = agent()
    pairs = await compare(PaperOptions(slow_update_samples=12, slow_update_pairs="unchanged"), said=said)
    assert {pair.category for pair in pairs} == {"persistent_fail", "stable_success"}
    assert len(said.attempts) == 24


async def test_changed_goes_on_until_it_has_as_many_as_wanted() -> None:
    said = agent()
    pairs = await compare(PaperOptions(slow_update_samples=8, slow_update_pairs="changed"), said=said)
    assert {pair.category for pair in pairs} <= {"improved", "regressed"}
    assert len(pairs) == 8
    assert 16 < len(said.attempts) < 80


async def test_changed_ends_with_the_data() -> None:
    said = ToldAgent(lambda task, skill, trial: task.gold if number(task) or skill is AFTER else "wrong")
    pairs = await compare(PaperOptions(slow_update_samples=3, slow_update_pairs="changed"), count=10, said=said)
    assert [(pair.category, pair.current.task.id) for pair in pairs] == [("improved", "t0")]
    assert len(said.attempts) == 20


async def test_tasks_without_a_score_under_one_of_the_skills_are_left_out() -> None:
    said = ToldAgent(lambda task, skill, trial: OSError("gone") if (task.id, skill) == ("t1", AFTER) else "x")
    pairs = await compare(PaperOptions(slow_update_samples=4), count=4, said=said, max_void=0.5)
    assert sorted(pair.current.task.id for pair in pairs) == ["t0", "t2", "t3"]
    with pytest.raises(VoidStop, match=r"train .*\(t1\)"):
        await compare(PaperOptions(slow_update_samples=4), count=4, said=said, max_void=0)


async def test_the_voids_it_went_on_without_stay_void_on_resume() -> None:
    journal = MemoryJournal()
    said = ToldAgent(lambda task, skill, trial: OSError("gone") if task.id == "t1" else "x")
    options = PaperOptions(slow_update_samples=4)
    runs = []
    for each in (said, agent()):
        rollout = make_rollout(each, journal=journal, max_void=0.5)
        runs.append(await compare_epochs(rollout, (BEFORE, AFTER), tasks(4), options, epoch=2, seed=42))
    assert runs[0] == runs[1]


def pair(category: str, name: str) -> Pair:
    return Pair.model_validate(
        {"category": category, "previous": attempt(f"{name}-old"), "current": attempt(f"{name}-new")}
    )


def test_long_attempts_are_cut() -> None:
    long = pair("regressed", "r").model_copy(update={"current": attempt("x", answer="y" * 900)})
    # An answer has an eighth of the limit: 12 characters on either side of the cut.
    assert f"\n{'y' * 12}\n[... 876 characters left out ...]\n{'y' * 12}\n" in pairs_block([long], 200)
