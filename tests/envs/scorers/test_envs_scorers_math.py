import asyncio

import pytest

from etude.envs.scorers.math import Math, MathOptions, same_result
from etude.errors import DataError
from etude.records import Task, Trajectory
from etude.testing.scorer import ScorerContract


class TestMath(ScorerContract):
    def make_scorer(self) -> Math:
        return Math()

    def make_other_scorer(self) -> Math:
        return Math(MathOptions(rel_tol=0.01))

    def right(self) -> list[tuple[Task, str]]:
        return [(Task(id="t", input="q", gold=[r"\boxed{2}", "two"]), answer) for answer in (r"\boxed{2.0}", "two")]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(Task(id="t", input="q", gold=r"\boxed{2}"), "3")]


def score(gold: str, answer: str) -> float:
    return asyncio.run(Math().score(Task(id="t", input="q", gold=gold), Trajectory(answer=answer))).hard


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"so $\boxed{\frac{1}{2}}$.", r"First \boxed{3}, then \boxed{\dfrac12}"),
        (r"\boxed{\frac{1}{2}}", "Some work.\nThe answer is 1/2."),
        (r"\boxed{0.5}", r"\boxed{\frac{1}{2}}"),
        (r"\boxed{1,234}", "1234"),
        (r"\boxed{x^{2}+1}", r"\boxed{ x^{2} + 1 }"),
        (r"\boxed{\left( 3, \frac{\pi}{2} \right)}", r"$\boxed{(3,\frac{\pi}{2})}$"),
        (r"\boxed{90^\circ}", r"\boxed{90}"),
        (r"\boxed{\text{Evelyn}}", "Evelyn"),
        (r"\boxed{5}", r"\boxed{x=5}"),
        (r"\boxed{-\frac{3}{4}}", "-3/4"),
        ("12", "12"),
    ],
)
def test_results_that_are_written_in_another_way_are_equal(gold: str, answer: str) -> None:
    assert score(gold, answer) == 1


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\boxed{\frac{1}{2}}", r"\boxed{\frac{1}{3}}"),
        (r"\boxed{5}", ""),
        (r"\boxed{5}", r"\boxed{}"),
        (r"\boxed{(1,2)}", r"\boxed{12}"),
        (r"\boxed{1,2}", r"\boxed{12}"),
        (r"\boxed{5}", "I got 5 at first, and it may be 6"),
        (r"\boxed{x^2}", r"\boxed{x2}"),
        (r"\boxed{1/0}", r"\boxed{2/0}"),
    ],
)
def test_other_results_are_wrong(gold: str, answer: str) -> None:
    assert score(gold, answer) == 0


def test_an_unfinished_brace_is_read_to_the_end_and_a_long_answer_is_read_fast() -> None:
    assert score(r"\boxed{\frac{1}{2}}", r"\boxed{\frac{1}{2}") == 1
    assert not same_result("\\text{" * 5000, "{" * 50_000)


def test_a_gold_answer_without_a_result_is_an_error() -> None:
    with pytest.raises(DataError, match="no result"):
        Math().compare(Task(id="t", input="q", gold=r"\boxed{}"), "1")
