"""The gate's rules beside the mean: no task may score lower, no type may fall too far."""

import random

import pytest
from stages_doubles import ToldAgent, evaluation, knows, make_rollout, tasks

from etude.config import GateSection
from etude.published.gate import decide
from etude.published.options import PaperOptions
from etude.records import Skill

NEW = Skill(text="new")


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
