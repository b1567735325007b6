"""Two claims: on just these tasks, and on tasks like these. Few tasks have a verdict of the first kind."""

from pathlib import Path
from typing import Any

import pytest

from etude.comparison import FEWEST, least_p
from etude.errors import SkillError
from etude.events import Event, Notice
from etude.intervals import Arms, permutation
from etude.measure.compare import compare_skills
from etude.records.summary import Comparison
from etude.stages.shared.contest import ERROR, decide
from two_skills import A, B, World

NOTHING, EVERYTHING = "nnnnnnnn", "yyyyyyyy"
BETTER = {f"A{trial}": NOTHING for trial in range(4)} | {f"B{trial}": EVERYTHING for trial in range(4)}


def compared(
    folder: Path, tasks: int, trials: int, answers: dict[str, str] = BETTER, *, margin: float = 0, **target: Any
) -> tuple[Comparison, list[Notice]]:
    """The comparison, and what was said of what it can show."""
    world, notices = World(folder, answers), list[Notice]()

    class Told:
        def emit(self, event: Event) -> None:
            notices.extend([event] if isinstance(event, Notice) and " show " in event.text else [])

    config = world.config()
    config = config.model_copy(update={"target": config.target.model_copy(update=target)})
    found = compare_skills(config, A, B, "test", trials, margin=margin, **world.given(tasks, sinks=[Told()]))
    return found, notices


@pytest.mark.parametrize(("tasks", "trials", "p"), [(3, 2, 1 / 216), (2, 2, 1 / 36), (1, 3, 1 / 20), (4, 1, 1 / 16)])
def test_few_tasks_have_a_verdict_on_just_these_where_luck_hardly_does_as_well(
    tmp_path: Path, tasks: int, trials: int, p: float
) -> None:
    found, (notice,) = compared(tmp_path, tasks, trials)
    assert found.these is not None
    assert found.these.p == pytest.approx(p)
    assert (found.claim, found.verdict) == ("these tasks", "ship" if p <= ERROR else "inconclusive")
    assert notice.level == ("info" if p <= ERROR else "warning")


@pytest.mark.parametrize(
    ("b", "verdict"), [("nnn", "do not ship"), ("ynn", "inconclusive"), ("yyn", "ship"), ("yyy", "ship")]
)
def test_a_skill_that_does_not_help_on_three_tasks_is_not_shipped(tmp_path: Path, b: str, verdict: str) -> None:
    answers = {"A0": NOTHING, "A1": NOTHING, "B0": f"{b}nnnnn", "B1": f"{b}nnnnn"}
    found, _ = compared(tmp_path, 3, 2, answers)
    assert (found.claim, found.verdict) == ("these tasks", verdict)
    assert (found.settle is None) is (verdict != "inconclusive")


def test_with_five_tasks_the_verdict_is_about_tasks_like_them_and_the_other_claim_stands_beside_it(
    tmp_path: Path,
) -> None:
    zeros, ones = [0.0] * FEWEST, [1.0] * FEWEST
    assert decide(zeros, ones).verdict == "ship"
    assert decide(zeros[1:], ones[1:]).verdict == "inconclusive"
    found, notices = compared(tmp_path, FEWEST, 2)
    assert (found.claim, found.verdict, notices) == ("tasks like these", "ship", [])
    assert found.these is not None
    assert found.these.verdict == "ship"


def test_at_temperature_0_the_trials_of_a_task_count_as_one(tmp_path: Path) -> None:
    found, notices = compared(tmp_path, 3, 2, temperature=0)
    assert found.these is not None
    assert (found.these.p, found.verdict) == (pytest.approx(1 / 8), "inconclusive")
    (notice,) = notices
    assert notice.level == "warning"
    assert "or set a temperature" in notice.text


@pytest.mark.parametrize("tasks", [3, FEWEST])
def test_a_skill_compared_with_itself_has_a_result(tmp_path: Path, tasks: int) -> None:
    world = World(tmp_path, BETTER)
    found = compare_skills(world.config(), A, A, "test", 2, **world.given(tasks))
    assert (found.difference.mean, found.equal, found.verdict) == (0, tasks, "do not ship")


def test_more_trials_are_advised_where_they_are_enough(tmp_path: Path) -> None:
    _, (notice,) = compared(tmp_path, 2, 1)
    assert notice.text.endswith("bring 5 tasks or more, or take 2 trials")


def test_with_a_margin_there_is_one_claim(tmp_path: Path) -> None:
    found, notices = compared(tmp_path, 3, 2, margin=0.1)
    assert (found.these, found.claim, notices) == (None, "tasks like these", [])


def test_the_smallest_p_is_that_of_tasks_which_all_turn() -> None:
    assert least_p([3]) == permutation([Arms((0.0,) * 3, (1.0,) * 3)])
    assert least_p([2, 1]) == permutation([Arms((0.0, 0.0), (1.0, 1.0)), Arms((0.0,), (1.0,))])


def test_all_tasks_are_compared_for_skills_that_were_not_trained(tmp_path: Path) -> None:
    answers = {f"{skill}{trial}": "yyyyyyyy" for skill in "AB" for trial in range(2)}
    world = World(tmp_path, answers)
    found = compare_skills(world.config(), A, B, "all", 2, **world.given(2))
    assert sorted(one.task for one in found.tried) == ["o0", "o1", "t0", "t1"]


def test_a_trained_skill_is_compared_on_test_tasks_only(tmp_path: Path) -> None:
    folder = tmp_path / "skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text("Skill B.\n")
    (folder / "provenance.json").write_text("{}")
    world = World(tmp_path, BETTER)
    for path in (folder, folder / "SKILL.md", str(folder)):
        with pytest.raises(SkillError, match="was trained"):
            compare_skills(world.config(), A, path, "all", 2, **world.given(2))
