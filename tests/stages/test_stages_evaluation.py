"""Evaluation: a skill on a whole split, with every void named."""

import asyncio
from typing import Any

import pytest
from stages_doubles import ToldAgent, knows, make_rollout, tasks

from etude.config import GateSection
from etude.errors import VoidStop
from etude.records import Score, Skill, Task, Trajectory
from etude.stages.evaluation import best_of, evaluate, evaluate_race, shuffled

SKILL = Skill(text="Be exact.")
SOLVED, MISSED = Score(hard=1, soft=1), Score(hard=0, soft=0)


def without(task: str):
    """An agent that solves all but this task, at which it crashes."""
    return ToldAgent(lambda each, *_: ConnectionError("gone") if each.id == task else each.gold)


async def test_the_share_of_voids_counts_over_all_trials() -> None:
    agent = ToldAgent(lambda task, skill, trial: OSError("gone") if trial and task.id == "t0" else task.gold)
    result = await evaluate(make_rollout(agent, max_void_eval=0.25), SKILL, tasks(2), "val", trials=2)
    assert result.scores == {"t0": (SOLVED,), "t1": (SOLVED, SOLVED)}
    assert len(result.voids) == 1
    with pytest.raises(VoidStop, match="1 of 4"):
        await evaluate(make_rollout(agent, max_void_eval=0.24), SKILL, tasks(2), "val", trials=2)


async def test_allowed_voids_are_named_and_have_no_score() -> None:
    result = await evaluate(make_rollout(without("t1"), max_void_eval=0.5), SKILL, tasks(3), "val")
    assert list(result.scores) == ["t0", "t2"]
    assert len(result.voids) == 1
    assert result.mean("hard") == 1


async def test_programs_that_use_up_their_time_fail_and_stop_no_test() -> None:
    """29 of 100, as in recorded attempts at terminal-bench."""
    late = Trajectory(answer="", failure="not done within agent.limits.seconds = 6")
    agent = ToldAgent(lambda task, *_: late if int(task.id[1:]) < 29 else task.gold)
    result = await evaluate(make_rollout(agent, max_void_eval=0.0), SKILL, tasks(100), "test")
    assert (result.voids, result.mean("hard")) == ((), pytest.approx(0.71))


async def test_the_result_does_not_depend_on_the_order_of_arrival() -> None:
    async def slowly(task: Task, skill: Skill, trial: int) -> str:
        await asyncio.sleep(0.02 if task.id == "t0" else 0)
        return str(task.gold)

    fast = await evaluate(make_rollout(ToldAgent(knows("t0", "t1", "t2"))), SKILL, tasks(3), "val")
    slow = await evaluate(make_rollout(ToldAgent(slowly)), SKILL, tasks(3), "val")
    assert slow.model_dump_json() == fast.model_dump_json()


def test_the_order_of_a_race_is_not_that_of_the_file_and_the_same_each_time() -> None:
    tasks = [Task(id=f"t{number}", input="?") for number in range(20)]
    order = shuffled(tasks, 1)
    assert order != tasks
    assert sorted(order, key=tasks.index) == tasks
    assert order == shuffled(tasks, 1) != shuffled(tasks, 2)


# --- best_of --------------------

LAST, EARLIER, THIRD = (Skill(text=text) for text in ("Last.", "Earlier.", "Third."))


def by_skill(solved: dict[str, range], void: str = "") -> ToldAgent:
    """An agent that solves the tasks of these numbers with a skill."""

    def answer(task: Task, skill: Skill, trial: int) -> str | Exception:
        if task.id == void and skill == LAST:
            return ConnectionError("gone")
        return str(task.gold) if int(task.id[1:]) in solved[skill.text] else "no"

    return ToldAgent(answer)


@pytest.mark.parametrize(
    ("last", "earlier", "third", "best", "calls"),
    [
        (range(10), range(20), range(5), EARLIER, 20 + 20 + 8),
        (range(20), range(20), range(20), LAST, 60),  # of equals the first one
        (range(20), range(0), range(5), LAST, 8 + 8 + 8),  # none is left to compare it with
        (range(0), range(1, 20), range(20), THIRD, 60),  # it falls far behind, and is attempted to the end
    ],
)
async def test_the_best_of_several_skills_scores_most(last, earlier, third, best, calls) -> None:
    agent = by_skill({"Last.": last, "Earlier.": earlier, "Third.": third})
    found = await best_of(make_rollout(agent), [LAST, EARLIER, THIRD], tasks(20), "val", GateSection())
    assert (found, len(agent.attempts)) == ((best, 0), calls)


async def test_a_task_without_a_score_counts_for_no_skill() -> None:
    agent = by_skill({"Last.": range(12), "Earlier.": range(12)}, void="t3")
    rollout = make_rollout(agent, max_void_eval=0.5)
    assert await best_of(rollout, [LAST, EARLIER], tasks(20), "val", GateSection()) == (LAST, 1)


@pytest.mark.parametrize("measure", [evaluate_race, best_of])
async def test_voids_of_all_waves_count_together(measure: Any) -> None:
    """Two in each wave of eight are a quarter of 40, and no wave has more than a tenth of 40 alone."""
    agent = ToldAgent(lambda task, *_: ConnectionError("gone") if int(task.id[1:]) % 4 == 0 else task.gold)
    rollout = make_rollout(agent, max_void_eval=0.1)
    with pytest.raises(VoidStop, match="5 of 40"):
        await measure(rollout, (SKILL, EARLIER), tasks(40), "val", GateSection())
    rollout = make_rollout(agent, max_void_eval=0.25)
    await measure(rollout, (SKILL, EARLIER), tasks(40), "val", GateSection())
