"""Which tasks come out alike whatever the skill says, and which of these luck does not explain."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from etude.records import Score
from etude.stages.shared.contest import ERROR

Unseen = Literal["passes", "fails"]
MOST = 6
"""Further attempts at a task on which all versions look alike: ten in all."""
_SEEN = 0.5
"""A task is seen where at least so many attempts turn out otherwise: with the skill, if it fails without; without it,
if it passes with the skill."""
_SAME = 0.1
"""Partial credit that is farther apart tells versions apart."""


class Tried(NamedTuple):
    """What came of the attempts at one task, by version, in their order; none is empty."""

    scores: Mapping[str, Sequence[Score]]
    apart: float
    """By how much the versions differ in their first attempts, as the metric of the settings has it."""

    @property
    def looks(self) -> Unseen | None:
        """What all attempts came to; None where they tell versions apart."""
        solved = {one.hard >= 1 for each in self.scores.values() for one in each}
        if len(solved) > 1 or self.apart > _SAME:
            return None
        return "passes" if solved.pop() else "fails"

    @property
    def next_version(self) -> str:
        """With which one a task that looks alike is attempted next: one that turns out otherwise if it is seen."""
        return "skill" if self.looks == "fails" else min("opposite", "none", key=lambda name: len(self.scores[name]))

    @property
    def luck(self) -> float:
        """How often a task that is seen looks so, at most."""
        fails = self.looks == "fails"
        return _SEEN ** sum(len(each) for name, each in self.scores.items() if (name == "skill") == fails)


def unseen(tried: Mapping[str, Tried], certain: frozenset[str], error: float = ERROR) -> frozenset[str]:
    """Of the tasks that look alike with all versions, those that are named: of all that are in tables like this one,
    at most `error` are seen on average (Benjamini and Hochberg 1995, Journal of the Royal Statistical Society B
    57:289). Where another trial tells nothing new, one attempt is `certain`."""
    sure = {name for name, each in tried.items() if each.looks and name in certain}
    luck = sorted((each.luck, name) for name, each in tried.items() if each.looks and name not in certain)
    bar = error / max(1, len(tried.keys() - certain))
    ranks = [rank for rank, (chance, _) in enumerate(luck, 1) if chance <= rank * bar]
    return frozenset(sure.union(name for _, name in luck[: max(ranks, default=0)]))
