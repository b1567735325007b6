"""A Python function as a scorer."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from pydantic import JsonValue

from etude.envs.scorers.answer_scorer import make_scorer
from etude.errors import BoundaryError
from etude.protocols import Scorer
from etude.protocols.code_digest import source_digest
from etude.records import Score, Task, Trajectory, canonical

ScoreFunction = Callable[[Task, str], Score | float | Awaitable[Score | float]]
ScorerLike = Scorer | ScoreFunction | str | Mapping[str, JsonValue]
"""A scorer, a function `score(task, answer)`, the name of a scorer, or a mapping of `name` and its settings."""


class FunctionScorer(Scorer):
    """Scores with `score(task, answer)`, which returns a Score, or a number in [0, 1] for both hard and soft."""

    def __init__(self, function: ScoreFunction) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function = function

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        """What the function says. Raises BoundaryError: it returned something else than a score."""
        result = self._function(task, trajectory.answer)
        if inspect.isawaitable(result):
            result = await result
        return as_score(result, f"scorer {self.name!r}")

    def fingerprint(self) -> str:
        """Name and source of the function."""
        return canonical([self.name, source_digest(self._function)])


def as_score(value: object, where: str) -> Score:
    """A Score from what a function returned; a number or a truth value counts as both hard and soft.
    Raises BoundaryError: `value` is neither a Score nor a number in [0, 1]."""
    if isinstance(value, Score):
        return value
    if not isinstance(value, int | float):
        raise BoundaryError(where, TypeError(f"returned {value!r:.80}; allowed: a Score or a number from 0 to 1"))
    if not 0 <= value <= 1:
        raise BoundaryError(where, ValueError(f"returned {value!r}; a score is a number from 0 to 1"))
    return Score(hard=float(value), soft=float(value))


def as_scorer(scorer: ScorerLike, where: str) -> Scorer:
    """The scorer that is meant. Raises ConfigError: the name is unknown, or a setting is wrong."""
    if isinstance(scorer, Scorer):
        return scorer
    if isinstance(scorer, str | Mapping):
        return make_scorer(cast(str | Mapping[str, JsonValue], scorer), where)
    return FunctionScorer(scorer)
