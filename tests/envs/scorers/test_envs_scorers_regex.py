import gc
import os
import signal

import pytest

from etude.envs.scorers.regex import Regex, RegexOptions
from etude.errors import BoundaryError, ConfigError, DataError
from etude.records import Task, Trajectory
from etude.testing.scorer import ScorerContract
from rows import rows

SLOW = r"(a+)+$"
TRAP = "a" * 60 + "!"


def task(gold: object = None) -> Task:
    return Task(id="t", input="i", gold=gold)


def test_a_pattern_matches_the_answer_as_it_is_or_in_its_unicode_form() -> None:
    assert Regex().compare(task("caf\u00e9"), "cafe\u0301").hard == 1
    assert Regex().compare(task("\u200b"), "a\u200bb").hard == 1
    assert Regex().compare(task("cafe$"), "caf\u00e9").hard == 0


@rows(
    ("pattern", "answer", "hard"),
    [
        ("^(?!.*\u200b)", "a\u200bb", 0),
        ("(?<!\u00a0)b", "a\u00a0b", 0),
        ("^[^\u00a0]*$", "a\u00a0b", 0),
        ("^[^\u00e9]*$", "cafe\u0301", 0),
        ("^[^\u00a0]*$", "cafe\u0301", 1),
        ("^ab$", "a\u200bb", 1),
    ],
)
def test_what_a_pattern_forbids_is_looked_for_in_the_answer_as_it_is(pattern: str, answer: str, hard: int) -> None:
    assert Regex().compare(task(pattern), answer).hard == hard


class TestRegexFromGold(ScorerContract):
    def make_scorer(self) -> Regex:
        return Regex()

    def make_other_scorer(self) -> Regex:
        return Regex(RegexOptions(whole=True))

    def right(self) -> list[tuple[Task, str]]:
        return [
            (task(r"\bParis\b"), "It is Paris."),
            (task(["x$", r"^\d+"]), "12 y"),
            (task("é|\u4e2d"), "caf\u00e9"),
        ]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(task(r"\bParis\b"), "paris"), (task("x"), "y" * 900)]


class TestRegexFromSettings(TestRegexFromGold):
    def make_scorer(self) -> Regex:
        return Regex.from_options({"pattern": "Paris"}, "scorer", None)

    def right(self) -> list[tuple[Task, str]]:
        return [(task(), "Paris!")]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(task("("), "London")]


async def test_a_match_that_takes_too_long_has_no_score_and_the_next_one_works() -> None:
    scorer = Regex(RegexOptions(seconds=0.1))
    with pytest.raises(
        BoundaryError, match=r"scorer 'regex', pattern '\(a\+\)\+\$': TimeoutError: no result after 0.1 s"
    ):
        await scorer.score(task(SLOW), Trajectory(answer=TRAP))
    assert (await scorer.score(task(SLOW), Trajectory(answer="aaa"))).hard == 1


def test_a_process_that_dies_is_the_scorers_fault_and_is_started_again() -> None:
    scorer = Regex()
    assert scorer.compare(task("a"), "a").hard == 1
    os.kill(scorer._matcher._process.pid, signal.SIGKILL)
    with pytest.raises(BoundaryError, match="the process that matches regular expressions died"):
        scorer.compare(task("a"), "a")
    assert scorer.compare(task("a"), "a").hard == 1


def test_the_process_ends_with_the_scorer() -> None:
    scorer = Regex()
    scorer.compare(task("a"), "a")
    process = scorer._matcher._process
    del scorer
    gc.collect()
    assert process.returncode is not None


def test_a_broken_pattern_is_found_before_anything_is_scored() -> None:
    with pytest.raises(ConfigError, match=r"scorer 'regex': pattern = '\(': is not a regular expression: missing \)"):
        Regex.from_options({"pattern": "("}, "scorer 'regex'", None)
    with pytest.raises(DataError, match="task 't': gold '\\(' is not a regular expression"):
        Regex().compare(task("("), "x")


def test_a_pattern_for_all_tasks_needs_no_gold() -> None:
    assert Regex().needs_gold
    assert not Regex(RegexOptions(pattern="x")).needs_gold
    with pytest.raises(DataError, match="what scorer 'regex' compares with is not an answer"):
        Regex().gold_answer(task("x"))
