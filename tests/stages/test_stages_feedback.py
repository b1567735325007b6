"""Feedback on attempts that ended without an answer: what was right, where feedback on an answer tells it."""

from collections.abc import Sequence
from typing import Any

import pytest
from stages_doubles import ToldAgent, make_rollout

from etude.envs.scorers.answer_scorer import ScoredEnvironment, make_scorer
from etude.protocols import Environment
from etude.records import Score, Skill, Split, Task, Trajectory


class Scored(ScoredEnvironment):
    """Scored by a scorer of that name."""

    def __init__(self, name: str) -> None:
        self.scorer = make_scorer(name, "scorer")

    def tasks(self, split: Split) -> Sequence[Task]:
        return ()


async def feedback(env: Environment, gold: Any, answer: str = "") -> str:
    agent = ToldAgent(lambda *_: Trajectory(answer=answer, failure="the reply was empty", ended="empty"))
    task = Task(id="t", input="Which?\n(A) cat\n(B) dog", gold=gold)
    attempt = await make_rollout(agent, env).attempt(task, Skill(text=""), 0)
    assert (attempt.outcome, attempt.reason) == ("failed", "the reply was empty")
    told = attempt.score.feedback if attempt.score else ""
    assert attempt.score == Score(hard=0, soft=0, feedback=told, ended="empty")
    return told


@pytest.mark.parametrize(
    ("scorer", "gold", "told"),
    [
        ("exact", "dog", "; expected: dog"),
        ("exact", ["dog", "hound"], "; expected: dog or hound"),
        ("f1", "a dog", "; expected: a dog"),
        ("numeric", "3.0", "; expected: 3"),
        ("choice", "B", "; expected: (B) dog"),
        ("math", "\\boxed{7}", "; expected: 7"),
        ("json", {"a": 1}, '; expected: {"a":1}'),
        ("exact", "", ""),
        ("regex", "^d.g$", ""),
        ("checks", [{"op": "contains", "arg": "dog"}], ""),
    ],
)
async def test_it_tells_the_right_answer_unless_the_gold_is_none(scorer: str, gold: Any, told: str) -> None:
    env = Scored(scorer)
    assert await feedback(env, gold) == f"the reply was empty{told}"
    assert await feedback(env, gold, " \n") == f"the reply was empty{told}"
