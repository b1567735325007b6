"""Evaluation: a skill on a whole split, with every void named."""

import asyncio

import pytest
from stages_doubles import AnswersEnv, ToldAgent, attempt, knows, make_rollout, tasks

from etude.errors import VoidStop
from etude.records import Evaluation, Score, Skill, Task
from etude.stages.evaluation import evaluate, shuffled
from memory_doubles import MemoryJournal

SKILL = Skill(text="Be exact.")
SOLVED, MISSED = Score(hard=1, soft=1), Score(hard=0, soft=0)


def without(task: str):
    """An agent that solves all but this task, at which it crashes."""
    return ToldAgent(lambda each, *_: ConnectionError("gone") if each.id == task else each.gold)


async def test_every_task_is_attempted_and_scored() -> None:
    result = await evaluate(make_rollout(ToldAgent(knows("t1"))), SKILL, tasks(3), "val")
    assert (result.skill_hash, result.split, result.voids) == (SKILL.hash, "val", ())
    assert result.scores == {"t0": (MISSED,), "t1": (SOLVED,), "t2": (MISSED,)}
    assert result.mean("hard") == pytest.approx(1 / 3)


async def test_each_trial_gives_a_score() -> None:
    agent = ToldAgent(lambda task, skill, trial: task.gold if trial == 1 else "wrong")
    result = await evaluate(make_rollout(agent), SKILL, tasks(2), "test", trials=3)
    assert result.scores == dict.fromkeys(("t0", "t1"), (MISSED, SOLVED, MISSED))
    assert sorted(trial for _, _, trial in agent.attempts) == [0, 0, 1, 1, 2, 2]


async def test_a_void_stops_the_run_unless_it_is_allowed() -> None:
    with pytest.raises(VoidStop, match=r"1 of 3 val attempts errored; the last one \(t1\): agent 'told': .*gone"):
        await evaluate(make_rollout(without("t1")), SKILL, tasks(3), "val")


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


async def test_an_evaluation_is_a_decision_that_resuming_repeats_without_asking_anybody() -> None:
    journal = MemoryJournal()
    first = await evaluate(make_rollout(without("t1"), journal=journal, max_void_eval=0.5), SKILL, tasks(3), "val")
    recovered, env = ToldAgent(knows("t0", "t1", "t2")), AnswersEnv()
    again = await evaluate(make_rollout(recovered, env, journal=journal), SKILL, tasks(3), "val")
    assert again == first
    assert (recovered.tried, env.scored) == ([], [])


async def test_a_corrected_gold_answer_is_another_evaluation() -> None:
    journal = MemoryJournal()
    agent = ToldAgent(lambda *_: "7")
    wrong, right = (Task(id="t", input="What is 3 + 4?", gold=gold) for gold in ("8", "7"))
    before = await evaluate(make_rollout(agent, journal=journal), SKILL, [wrong], "val")
    after = await evaluate(make_rollout(agent, journal=journal), SKILL, [right], "val")
    assert (before.mean("hard"), after.mean("hard")) == (0, 1)


@pytest.mark.parametrize("change", ["skill", "trials", "tasks"])
async def test_another_skill_number_of_trials_or_choice_of_tasks_is_another_evaluation(change: str) -> None:
    journal = MemoryJournal()
    await evaluate(make_rollout(ToldAgent(knows()), journal=journal), SKILL, tasks(2), "val")
    skill = Skill(text="Other.") if change == "skill" else SKILL
    chosen = tasks(3 if change == "tasks" else 2)
    trials = 2 if change == "trials" else 1
    await evaluate(make_rollout(ToldAgent(knows()), journal=journal), skill, chosen, "val", trials=trials)
    assert [kind for kind, _ in journal.keys].count("decision") == 2


async def test_a_stopped_evaluation_lets_paid_attempts_finish() -> None:
    finished: list[str] = []

    async def attempting(task: Task) -> str:
        if task.id == "t0":
            raise ConnectionError("gone")
        await asyncio.sleep(0.02)
        finished.append(task.id)
        return "x"

    rollout = make_rollout(ToldAgent(lambda task, *_: attempting(task)), concurrency=3)
    with pytest.raises(VoidStop):
        await evaluate(rollout, SKILL, tasks(20), "val")
    await rollout.executor.drain()
    assert sorted(finished) == ["t1", "t2"]


async def test_the_result_does_not_depend_on_the_order_of_arrival() -> None:
    async def slowly(task: Task, skill: Skill, trial: int) -> str:
        await asyncio.sleep(0.02 if task.id == "t0" else 0)
        return str(task.gold)

    fast = await evaluate(make_rollout(ToldAgent(knows("t0", "t1", "t2"))), SKILL, tasks(3), "val")
    slow = await evaluate(make_rollout(ToldAgent(slowly)), SKILL, tasks(3), "val")
    assert slow.model_dump_json() == fast.model_dump_json()


def test_scores_are_gathered_by_task() -> None:
    attempts = [attempt("a", 1.0, task="x"), attempt("b", None, task="y"), attempt("c", 0.0, task="x")]
    result = Evaluation.of(SKILL.hash, "train", attempts)
    assert result.scores == {"x": (SOLVED, MISSED)}
    assert result.voids == ("b",)


def test_the_order_of_a_race_is_not_that_of_the_file_and_the_same_each_time() -> None:
    tasks = [Task(id=f"t{number}", input="?") for number in range(20)]
    order = shuffled(tasks, 1)
    assert order != tasks
    assert sorted(order, key=tasks.index) == tasks
    assert order == shuffled(tasks, 1) != shuffled(tasks, 2)
