"""Scorers by name, by import path and from functions."""

import pytest

from etude.envs.scorers.answer_scorer import accepted, make_scorer
from etude.envs.scorers.function import FunctionScorer, as_score, as_scorer
from etude.envs.scorers.text import Exact
from etude.errors import BoundaryError, ConfigError, DataError
from etude.protocols import Scorer
from etude.records import Score, Task, Trajectory
from etude.testing.scorer import ScorerContract
from rows import rows


def length(task: Task, answer: str) -> Score:
    share = min(1.0, len(answer) / len(str(task.gold)))
    return Score(hard=float(share == 1), soft=share, feedback=f"{share:.0%}")


async def same(task: Task, answer: str) -> bool:
    return answer == task.gold


class Strict:
    def __call__(self, task: Task, answer: str) -> int:
        return 0


class TestFunctionScorer(ScorerContract):
    def make_scorer(self) -> FunctionScorer:
        return FunctionScorer(length)

    def make_other_scorer(self) -> FunctionScorer:
        return FunctionScorer(same)

    def right(self) -> list[tuple[Task, str]]:
        return [(Task(id="t", input="i", gold="abc"), "xyz")]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(Task(id="t", input="i", gold="abc"), "x")]


async def test_async_functions_and_plain_numbers_are_understood() -> None:
    task = Task(id="t", input="i", gold="a")
    assert await FunctionScorer(same).score(task, Trajectory(answer="a")) == Score(hard=1, soft=1)
    assert await FunctionScorer(Strict()).score(task, Trajectory(answer="a")) == Score(hard=0, soft=0)
    assert FunctionScorer(Strict()).name == "Strict"


@pytest.mark.parametrize(("value", "message"), [(None, "returned None; allowed"), (2, "returned 2; a score is")])
def test_what_is_no_score_is_the_functions_fault(value: object, message: str) -> None:
    with pytest.raises(BoundaryError, match=f"scorer 'x': .*{message}"):
        as_score(value, "scorer 'x'")


def test_scorers_names_mappings_and_functions_all_give_a_scorer() -> None:
    exact = Exact()
    assert as_scorer(exact, "s") is exact
    assert as_scorer("numeric", "s").name == "numeric"
    assert as_scorer({"name": "f1", "articles": False}, "s").name == "f1"
    assert as_scorer(length, "s").name == "length"


class Bare(Scorer):
    name = "bare"

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        return Score(hard=1, soft=1)


def test_own_scorers_are_found_by_import_path() -> None:
    with pytest.raises(ConfigError, match=r"has no `from_options\(options, where, judge\)`"):
        make_scorer(f"{__name__}:Bare", "scorer")


@rows(
    ("spec", "message"),
    [
        ("exakt", "unknown scorer 'exakt'\nhint: did you mean 'exact'"),
        ({"casefold": True}, "s: a scorer needs a name, found None"),
        ({"name": "f1", "casefolding": True}, "s 'f1': unknown key 'casefolding'\nhint: did you mean 'casefold'?"),
        ({"name": "numeric", "abs_tol": -1}, "s 'numeric': abs_tol = -1: "),
    ],
)
def test_a_wrong_spec_is_an_error_that_says_where(spec: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_scorer(spec, "s")
    assert str(caught.value).startswith(message)


@rows(("gold", "message"), [(None, "has no gold answer"), ([], "has no gold"), ({"a": 1}, "neither")])
def test_gold_that_cannot_be_compared_as_text_is_an_error(gold: object, message: str) -> None:
    with pytest.raises(DataError, match=f"task 't'.*{message}"):
        accepted(Task(id="t", input="i", gold=gold))
