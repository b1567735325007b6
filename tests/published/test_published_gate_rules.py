"""The gate's rules beside the mean: no task may score lower, no type may fall too far."""

import random

import pytest
from stages_doubles import ToldAgent, evaluation, knows, make_rollout, tasks

from etude.config import GateSection
from etude.published.gate import decide
from etude.published.options import PaperOptions
from etude.records import Skill, Task

NEW = Skill(text="new")


async def test_a_task_that_scores_lower_ends_the_race_when_none_may() -> None:
    bar = {f"t{i}": float(i >= 30) for i in range(50)}
    rollout = make_rollout(ToldAgent(knows(*(f"t{i}" for i in range(50) if i != 30))), concurrency=1)
    strict = PaperOptions(no_regression=True)
    result = await decide(rollout, NEW, evaluation(bar), tasks(50), GateSection(), strict)
    await rollout.executor.drain()
    assert (result.verdict.accepted, result.verdict.decided_after, result.evaluation) == (False, 31, None)
    assert result.verdict.reason == (
        "could still win after 31 of 50 tasks, but 1 of 31 tasks score lower, and search.no_regression is set: 't30'"
    )
    assert isinstance(rollout.agent, ToldAgent)
    assert len(rollout.agent.tried) <= 32


async def test_the_tasks_that_score_lower_are_named_up_to_a_bound() -> None:
    bar = {f"t{i}": float(i >= 10) for i in range(15)}
    rollout = make_rollout(ToldAgent(knows(*(f"t{i}" for i in range(10)))))
    strict = PaperOptions(no_regression=True, racing=False)
    verdict = (await decide(rollout, NEW, evaluation(bar), tasks(15), GateSection(), strict)).verdict
    assert verdict.reason == (
        "candidate 0.6667 > current 0.3333, but 5 of 15 tasks score lower, and search.no_regression is set: "
        "'t10', 't11', 't12' and 2 more"
    )


async def test_a_task_that_lost_its_score_ends_the_race_like_one_that_scores_lower() -> None:
    agent = ToldAgent(lambda task, *_: OSError("gone") if task.id == "t1" else str(task.gold))
    rollout = make_rollout(agent, max_void_eval=0.5, concurrency=1)
    strict = PaperOptions(no_regression=True)
    verdict = (
        await decide(rollout, NEW, evaluation({"t0": 0, "t1": 1, "t2": 1}), tasks(3), GateSection(), strict)
    ).verdict
    await rollout.executor.drain()
    assert (verdict.accepted, verdict.decided_after, len(verdict.voids)) == (False, 2, 1)


@pytest.mark.parametrize("seed", range(20))
async def test_where_no_task_may_score_lower_racing_gives_the_verdict_of_full_validation(seed: int) -> None:
    rng = random.Random(seed)
    bar = evaluation({f"t{i}": float(rng.random() < 0.5) for i in range(8)})
    solved = [f"t{i}" for i in range(8) if rng.random() < 0.5 or bar.scores[f"t{i}"][0].hard]
    solved = solved[seed % 2 :]
    verdicts = []
    for racing in (True, False):
        rollout = make_rollout(ToldAgent(knows(*solved)))
        options = PaperOptions(no_regression=True, racing=racing)
        verdicts.append((await decide(rollout, NEW, bar, tasks(8), GateSection(), options)).verdict.accepted)
        await rollout.executor.drain()
    assert verdicts[0] == verdicts[1]


def kinds(*types: str) -> list[Task]:
    return [Task(id=f"t{i}", input=f"What is {i}?", gold=str(i), type=kind) for i, kind in enumerate(types)]


@pytest.mark.parametrize(("lost", "allowed", "accepted"), [(3, 0.0, False), (3, 0.3, True), (1, 0.0, True)])
async def test_a_candidate_by_which_one_target_seems_to_lose_is_rejected(
    lost: int, allowed: float, accepted: bool
) -> None:
    """One task of ten may be lost by chance, three hardly."""
    both = [
        task.model_copy(update={"id": f"{task.id}@{name}", "target": name}) for name in "ab" for task in tasks(10)
    ]
    agent = ToldAgent(lambda task, *_: str(task.gold) if task.target == "a" or str(task.gold) >= str(lost) else "no")
    bar = evaluation({task.id: float(task.target == "b") for task in both})
    verdict = (
        await decide(make_rollout(agent), NEW, bar, both, GateSection(allow_loss=allowed), PaperOptions())
    ).verdict
    assert verdict.accepted is accepted
    assert verdict.reason.endswith("0.5000" if accepted else ", but b seems to do worse")
