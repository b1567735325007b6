"""Ship or not: verdicts, what would settle them, and how often the test split was looked at."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import verdicts

from etude import ListEnvironment, Score, Task, Trajectory, aevaluate_skill
from etude.build import open_workbench
from etude.comparison import compare_on
from etude.config import GateSection
from etude.errors import BudgetStop
from etude.events import Event, Notice
from etude.measure.compare import acompare_skills
from etude.records import TrainState
from etude.records.summary import Comparison, Interval
from etude.report import Measured, report
from rows import few
from two_skills import OTHERS, TASKS, A, B, C, World

SOLVED = {f"{skill}{trial}": "yyyyyyyy" for skill in "ABC" for trial in range(3)}


def test_candidates_that_do_not_help_are_rarely_shipped_and_the_truth_is_in_the_interval() -> None:
    for number, world in enumerate(verdicts.WORLDS):
        for tasks, trials in verdicts.SIZES[number % 3 :: 3]:  # one of three, for time
            found = verdicts.rates(world, tasks, trials, 200)
            assert world.gain > 0 or found.ship <= 18 / 200, (world, tasks, trials, found)
            assert found.difference >= 182 / 200, (world, tasks, trials, found)


@pytest.mark.parametrize(("tasks", "trials"), few([(3, 2), (1, 3), (8, 2), (2, 5), (5, 3), (12, 3)], first=2))
def test_a_skill_that_changes_nothing_hardly_passes_the_gate_with_attempts_of_real_agents(
    tasks: int, trials: int
) -> None:
    if not verdicts.DATA.is_dir():
        pytest.skip("the recorded outcomes are not here")
    found = [verdicts.unchanged(one, tasks, trials, 100) for one in verdicts.recorded(verdicts.DATA).values()]
    assert len(found) == 10
    for claim in zip(*found, strict=True):
        assert fmean(claim) <= 0.05


def settle(folder: Path, trials: int = 1, margin: float = 0, **answers: str) -> Any:
    result = World(folder, answers).compare(trials=trials, margin=margin)
    assert result.verdict == "inconclusive"
    return result.settle


class Notices:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def emit(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.texts.append(event.text)


AGAIN = (
    "skills were already scored on the test split of run 'run', {}: "
    "a skill that is chosen by these scores has no unseen test left"
)


async def openings(world: World, skills: Sequence[Any], split: str = "test", trials: int = 1, **more: Any) -> Any:
    """(which opening it was, what was said about it) of a comparison, or of an evaluation of one skill."""
    notices = Notices()
    given = world.given(sinks=[notices], **more)
    if len(skills) == 2:
        result: Any = await acompare_skills(world.config(), *skills, split, trials, **given)  # type: ignore[arg-type]
    else:
        result = await aevaluate_skill(world.config(), split, trials, skill=skills[0], **given)  # type: ignore[arg-type]
    return result.test_openings, [text for text in notices.texts if "test split" in text]


async def test_skills_that_were_scored_before_open_nothing_however_they_are_asked_for(tmp_path: Path) -> None:
    world = World(tmp_path, SOLVED)
    assert await openings(world, (A, B)) == (1, [])
    assert await openings(world, (A, B)) == (1, [])
    assert await openings(world, (B, A), trials=3) == (1, [])
    assert await openings(world, (A,)) == (1, [])
    await openings(world, (C,))
    assert await openings(world, (A, B)) == (1, [])
    assert await openings(world, (A, C)) == (2, [AGAIN.format("once")])


async def test_an_opening_counts_even_if_nothing_came_of_it(tmp_path: Path) -> None:
    world = World(tmp_path, SOLVED)
    with pytest.raises(BudgetStop):
        await acompare_skills(world.config(calls=1), A, B, **world.given())
    assert await openings(world, (A, C)) == (2, [AGAIN.format("once")])
    assert await openings(world, (A, B)) == (1, [])


async def test_a_skill_compared_with_itself_is_attempted_once_and_not_shipped(tmp_path: Path) -> None:
    world = World(tmp_path, SOLVED | {"A0": "ynyyyyyy"})
    async with open_workbench(world.config(), world.given(skill=A)) as bench:  # type: ignore[arg-type]
        result = await compare_on(bench, (A, A), "test", 2)
    assert len(world.target.requests) == 16
    assert (result.verdict, result.settle) == ("do not ship", None)
    assert result.difference == Interval(mean=0, low=0, high=0, n=8)
    assert result.a == result.b
    assert result.a.score.mean == 15 / 16
    assert (result.gained, result.lost, result.equal) == ((), (), 8)


class Nearly(ListEnvironment):
    """A wrong answer is nearly right."""

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        right = trajectory.answer == task.gold
        return Score(hard=float(right), soft=1.0 if right else 0.8)


@pytest.mark.parametrize(
    ("gate", "a", "b"),
    [
        ({"metric": "hard"}, 0.0, 0.875),
        ({"metric": "soft"}, 0.8, 0.975),
        ({"metric": "mixed", "mixed_weight": 0.25}, 0.2, 0.9),
    ],
)
async def test_skills_are_compared_by_the_metric_of_the_gate(
    tmp_path: Path, gate: dict[str, Any], a: float, b: float
) -> None:
    world = World(tmp_path, {"A0": "nnnnnnnn", "B0": "yyyyyyyn"})
    config = world.config().model_copy(update={"gate": GateSection(**gate)})
    env = Nearly([OTHERS[0]], [OTHERS[1]], TASKS, scorer="exact")
    result = await acompare_skills(config, A, B, "test", 1, **world.given(env=env))
    assert result.metric == gate["metric"]
    assert (result.a.score.mean, result.b.score.mean) == pytest.approx((a, b))
    assert result.difference.mean == pytest.approx(b - a)


async def test_a_run_reports_the_comparison_at_its_end(tmp_path: Path) -> None:
    world = World(tmp_path, SOLVED | {"A0": "nnnnnnyy"})
    async with open_workbench(world.config(), world.given(skill=A)) as bench:  # type: ignore[arg-type]
        comparison = await compare_on(bench, (A, B), "test", 1)
        measured = Measured(initial_val=None, comparison=comparison)
        summary = report(bench, TrainState(current=B, best=B, voids=2), measured, None, 1.0)
    assert (summary.initial.test, summary.best.test) == (comparison.a.score, comparison.b.score)
    assert summary.test_gain == comparison.difference
    assert (summary.verdict, summary.settle, summary.test_openings) == ("ship", None, 1)
    assert summary.voids == 2
    written = json.loads((tmp_path / "run" / "ship.json").read_text())
    assert Comparison.model_validate(written) == comparison
