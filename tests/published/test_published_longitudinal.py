"""Comparing two epochs: which tasks, under which skills, in which category."""

import random

import pytest
from stages_doubles import ToldAgent, attempt, make_rollout, tasks

from etude.errors import VoidStop
from etude.published.longitudinal import Pair, compare_epochs, pairs_block, skills_block
from etude.published.options import PaperOptions
from etude.records import Skill, Task
from memory_doubles import MemoryJournal

BEFORE, AFTER = Skill(text="before"), Skill(text="after")
# By task number modulo 4: under which skills it is solved.
SOLVED = {0: ("before", "after"), 1: ("before",), 2: ("after",), 3: ()}
CATEGORY = {0: "stable_success", 1: "regressed", 2: "improved", 3: "persistent_fail"}


def number(task: Task) -> int:
    return int(task.id[1:])


def agent() -> ToldAgent:
    return ToldAgent(lambda task, skill, trial: task.gold if skill.text in SOLVED[number(task) % 4] else "wrong")


async def compare(options: PaperOptions, count: int = 40, said: ToldAgent | None = None, **limits: float):
    rollout = make_rollout(said or agent(), **limits)
    return await compare_epochs(rollout, (BEFORE, AFTER), tasks(count), options, epoch=2, seed=42)


async def test_the_same_sample_is_attempted_under_both_skills() -> None:
    said = agent()
    pairs = await compare(PaperOptions(slow_update_samples=8), said=said)
    drawn = [task.id for task in random.Random(42 + 2000 * 2).sample(tasks(40), 40)[:8]]
    assert [pair.previous.task.id for pair in pairs] == [pair.current.task.id for pair in pairs] == drawn
    assert sorted(said.attempts) == sorted((name, text, 0) for name in drawn for text in ("before", "after"))
    assert {pair.previous.skill_hash for pair in pairs} == {BEFORE.hash}
    assert {pair.current.skill_hash for pair in pairs} == {AFTER.hash}


async def test_each_task_is_in_its_category() -> None:
    pairs = await compare(PaperOptions(slow_update_samples=40))
    assert len(pairs) == 40
    for pair in pairs:
        assert pair.category == CATEGORY[number(pair.current.task) % 4]


async def test_a_sample_larger_than_the_data_is_all_of_it() -> None:
    assert len(await compare(PaperOptions(slow_update_samples=20), count=5)) == 5


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


def test_all_categories_are_counted_and_attempts_shown_but_for_stable_successes() -> None:
    pairs = [pair("improved", "i"), pair("regressed", "r"), pair("stable_success", "s"), pair("regressed", "q")]
    text = pairs_block(pairs, 500)
    heads = ["# regressed: 2 tasks", "# persistent_fail: 0 tasks", "# improved: 1 tasks", "# stable_success: 1 tasks"]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)
    assert text.index('id="r-old"') < text.index('id="r-new"') < text.index('id="q-old"')
    assert 'id="i-new"' in text
    assert 'id="s-' not in text


def test_long_attempts_are_cut() -> None:
    long = pair("regressed", "r").model_copy(update={"current": attempt("x", answer="y" * 900)})
    # An answer has an eighth of the limit: 12 characters on either side of the cut.
    assert f"\n{'y' * 12}\n[... 876 characters left out ...]\n{'y' * 12}\n" in pairs_block([long], 200)


def test_both_skills_are_shown_whole() -> None:
    text = skills_block(Skill(text="---\nname: a\n---\nOld.\n"), Skill(text="New.\n"))
    assert text.index("# Previous skill") < text.index("name: a") < text.index("Old.")
    assert text.index("Old.") < text.index("# Current skill") < text.index("New.")
