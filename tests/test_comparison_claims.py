"""Two claims: on just these tasks, and on tasks like these. Few tasks have a verdict of the first kind."""

from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Skill, Trainer
from etude.cli.terminal.summary_text import summary_lines
from etude.comparison import FEWEST, least_p
from etude.errors import SkillError
from etude.events import Event, Notice
from etude.intervals import Arms, permutation
from etude.measure.compare import compare_skills
from etude.records.summary import Comparison
from etude.simulation import SEED_SKILL, make_tasks
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


@pytest.mark.parametrize(
    ("target", "cure"),
    [
        ({"temperature": 0}, "bring 5 tasks or more, or set a temperature"),
        ({"model": "handoff:questions"}, "bring 5 tasks or more"),
    ],
)
def test_where_a_question_gets_the_same_answer_again_the_trials_of_a_task_count_as_one(
    tmp_path: Path, target: dict[str, Any], cure: str
) -> None:
    found, notices = compared(tmp_path, 3, 2, **target)
    assert found.these is not None
    assert (found.these.p, found.verdict) == (pytest.approx(1 / 8), "inconclusive")
    (notice,) = notices
    assert notice.level == "warning"
    assert notice.text.endswith(f"; {cure}")


@pytest.mark.parametrize("tasks", [3, FEWEST])
def test_a_skill_compared_with_itself_has_a_result(tmp_path: Path, tasks: int) -> None:
    world = World(tmp_path, BETTER)
    found = compare_skills(world.config(), A, A, "test", 2, **world.given(tasks))
    assert (found.difference.mean, found.equal, found.verdict) == (0, tasks, "do not ship")


def test_more_trials_are_advised_where_they_are_enough(tmp_path: Path) -> None:
    _, (notice,) = compared(tmp_path, 2, 1)
    assert notice.text.endswith("bring 5 tasks or more, or take 2 trials")


def settled(tmp_path: Path, b: str, tasks: int, trials: int, **target: Any) -> Comparison:
    """B solves these tasks in each trial, A none."""
    answers = {f"A{trial}": NOTHING for trial in range(10)} | {f"B{trial}": b.ljust(8, "n") for trial in range(10)}
    return compared(tmp_path / f"{b}{tasks}{trials}", tasks, trials, answers, **target)[0]


@pytest.mark.parametrize(("b", "tasks", "trials"), [("yyy", 3, 2), ("ynn", 3, 3), ("yynnnn", 6, 2), ("y", 1, 3)])
def test_what_would_settle_the_claim_on_these_tasks_is_more_trials_of_them(
    tmp_path: Path, b: str, tasks: int, trials: int
) -> None:
    found = settled(tmp_path, b, tasks, 1)
    assert (found.verdict, found.settle.trials) == ("inconclusive", trials)
    these, alike = found.settle.note.split("; ")
    assert these == f"on just these tasks: {trials} trials would say 'ship', if each task goes on as it did"
    assert alike.startswith("on tasks like these: ")
    # It is right, and the fewest.
    assert [settled(tmp_path, b, tasks, n).these.verdict for n in (trials - 1, trials)] == ["inconclusive", "ship"]


def test_more_trials_are_not_named_where_they_would_not_settle_it(tmp_path: Path) -> None:
    cold = settled(tmp_path, "yyy", 3, 1, temperature=0)
    assert (cold.verdict, cold.settle.trials) == ("inconclusive", None)
    assert cold.settle.note.startswith("on tasks like these: ")
    # With luck in both directions ten trials are not enough; with none it is settled already.
    luck = {f"{skill}{trial}": each for skill, each in (("A", "nnnnyyyn"), ("B", "yyyynnnn")) for trial in range(3)}
    assert compared(tmp_path / "luck", 8, 3, luck)[0].settle.trials is None
    done = settled(tmp_path, "yynnnn", 6, 2)
    assert (done.verdict, done.these.verdict, done.settle.trials) == ("inconclusive", "ship", None)
    assert settled(tmp_path, "yyy", 3, 2).settle is None


def test_the_summary_of_a_run_names_both_claims(tmp_path: Path) -> None:
    tasks = make_tasks("counting", 40, seed=3)
    learnt = [tasks[number] for number in (14, 15, 19, 22, 28, 30, 31, 34)]
    env = ListEnvironment(tasks[:8], tasks[8:14], learnt[:3], scorer="exact")
    skill = Skill(name="everyday-tasks", text=SEED_SKILL)
    found = Trainer({"run": {"folder": str(tmp_path)}}, env=env, skill=skill).train()
    assert found.these is not None
    assert (found.claim, found.verdict, found.these.p) == ("these tasks", "inconclusive", pytest.approx(1 / 8))
    lines = list(summary_lines(found))
    assert lines[0] == "verdict     inconclusive, on just these tasks"
    assert "these tasks inconclusive: luck alone would do as well in 12% of cases" in lines
    assert "like these  no verdict on tasks like these: there are too few in the test" in lines
    again = "`etude compare run:initial run:best --trials 2`"
    settle = f"to settle   on just these tasks: 2 trials would say 'ship', if each task goes on as it did: {again}"
    assert settle in lines
    assert again not in "\n".join(summary_lines(found.model_copy(update={"is_skill": False})))
    env = ListEnvironment(tasks[:8], tasks[8:14], learnt, scorer="exact")
    config = {"run": {"folder": str(tmp_path), "name": "more"}}
    lines = list(summary_lines(Trainer(config, env=env, skill=skill).train()))
    assert lines[0] == "verdict     ship, on tasks like these"
    assert "these tasks ship: luck alone would do as well in 0.4% of cases" in lines


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
