import threading
from typing import Any

import pytest

from etude.envs.gold import check_gold, check_varied, scores_of
from etude.envs.lists import ListEnvironment
from etude.envs.scorers.answer_scorer import make_scorer
from etude.errors import DataError
from etude.protocols import Environment
from etude.records import Score, Task, Trajectory


def env(scorer: object, *golds: object) -> ListEnvironment:
    train = [{"id": f"t{n}", "input": f"{n}", "gold": gold} for n, gold in enumerate(golds)]
    return ListEnvironment(train, [("v", "1")], scorer=scorer)


@pytest.mark.parametrize(
    ("scorer", "gold"),
    [("exact", "x"), ("f1", ["the x", "y"]), ("numeric", 5), ("choice", "(B)"), ("json", {"a": [1]}), ("anls", "x")],
)
async def test_gold_answers_that_pass_are_no_error(scorer: str, gold: object) -> None:
    checked = env(scorer, gold)
    await check_gold(checked, checked.tasks("train"))


async def test_gold_answers_that_fail_are_listed_by_task() -> None:
    checked = env("numeric", "5", "five", "none", "12")
    with pytest.raises(DataError) as caught:
        await check_gold(checked, checked.tasks("train"))
    assert caught.value.message.startswith(
        "the scorer 'numeric' does not accept the gold answer of 2 of 4 tasks: 't1', 't2'\n"
        "  task 't1': gold 'five' holds no number\n"
    )


async def test_a_gold_answer_with_low_marks_is_shown_with_its_feedback() -> None:
    strict = {"name": "anls", "solved_at": 1.0, "threshold": 1.0, "answer_until": "!"}

    class Doubtful(ListEnvironment):
        async def score(self, task: Task, trajectory: Trajectory) -> Score:
            return await super().score(task, Trajectory(answer=trajectory.answer + "?"))

    checked = Doubtful([("a", "x")], [("b", "y")], scorer=strict)
    with pytest.raises(DataError, match=r"expected: x; got: x\?; similarity 0.50"):
        await check_gold(checked, checked.tasks("train"))


async def test_a_plain_score_is_made_in_a_thread_also_behind_one_that_is_waited_for() -> None:
    """It may hang, and the loop must hear Ctrl-C then."""
    threads: list[int] = []

    class Mixed(Environment):
        def tasks(self, split: str) -> list[Task]:
            return [Task(id=f"t{number}", input=f"{number}?", gold="1") for number in range(3)]

        def score(self, task: Task, trajectory: Trajectory) -> Any:
            async def late() -> Score:
                return Score(hard=1, soft=1)

            if task.id == "t0":
                return late()
            threads.append(threading.get_ident())
            return 1.0

    env = Mixed()
    found = await scores_of(env, [(task, "1") for task in env.tasks("train")])
    assert [score.hard for score in found] == [1, 1, 1]
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_plain_numbers_of_own_environments_are_understood() -> None:
    class Own(Environment):
        scorer = make_scorer("exact", "scorer")

        def tasks(self, split: str) -> list[Task]:
            return [Task(id=split, input=split, gold="x")]

        def score(self, task: Task, trajectory: Trajectory) -> float:
            return 0.25

    with pytest.raises(DataError, match=r"'train': scored 0.25"):
        await check_gold(Own(), Own().tasks("train"))


@pytest.mark.parametrize(
    ("gold", "problem"),
    [
        ([{"op": "contain", "arg": "x"}], "checks.0.op = 'contain'"),
        ({"rubric": "It is kind."}, "has a rubric, but there is no model to judge it"),
    ],
)
async def test_checks_that_cannot_be_used_are_found_before_an_attempt(gold: object, problem: str) -> None:
    checked = env("checks", [{"op": "contains", "arg": "x"}], gold)
    with pytest.raises(DataError, match=f"task 't1'.*{problem}"):
        await check_gold(checked, checked.tasks("train"))


async def test_a_gold_pattern_that_is_none_is_found_before_an_attempt() -> None:
    checked = env("regex", "x", ["x", "("])
    with pytest.raises(DataError, match=r"task 't1': gold '\(' is not a regular expression"):
        await check_gold(checked, checked.tasks("train"))


async def test_scorers_that_have_no_say_about_gold_are_left_alone() -> None:
    for scorer in ("regex", lambda task, answer: 0.0):
        checked = env(scorer, "x")
        await check_gold(checked, checked.tasks("train"))


@pytest.mark.parametrize(
    ("scorer", "golds"),
    [("exact", ["yes"] * 6), ("numeric", ["4.0", 4, "4", "4 %"] * 2), ("exact", ["yes"] * 19 + ["no"])],
)
async def test_a_split_that_one_fixed_reply_solves_is_an_error(scorer: str, golds: list[object]) -> None:
    checked = env(scorer, *golds)
    with pytest.raises(DataError, match=r"the fixed reply '(yes|4)' solves \d+ of \d+ train tasks") as caught:
        await check_varied(checked, {"val": checked.tasks("val"), "train": checked.tasks("train")})
    assert "env.allow_constant_gold" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("scorer", "golds"),
    [("exact", ["yes"] * 18 + ["no"] * 2), ("exact", ["yes"] * 5), ("regex", ["yes"] * 9), (lambda *_: 1.0, [1] * 9)],
)
async def test_answers_that_differ_or_are_few_or_are_none_are_no_error(scorer: object, golds: list[object]) -> None:
    checked = env(scorer, *golds)
    await check_varied(checked, {"train": checked.tasks("train")})


async def test_a_few_tasks_have_one_answer_by_chance_unless_all_tasks_have_it() -> None:
    val, train = env("exact", *["no"] * 4).tasks("train"), env("exact", *["yes", "no"] * 4).tasks("train")
    await check_varied(env("exact", "x"), {"train": train, "val": val})
    with pytest.raises(DataError, match=r"the fixed reply 'no' solves 8 of 8 tasks: a skill can learn nothing"):
        await check_varied(env("exact", "x"), {"train": val, "val": val})
