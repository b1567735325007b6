"""Which tasks come out alike whatever the skill says, by the noise that the attempts of this suite show."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from etude.records import Score
from etude.stages.shared.contest import ERROR
from etude.stages.shared.noise import Outcomes, PassSpread

Unseen = Literal["passes", "fails"]
MOST = 6
"""Further attempts at a task on which all versions look alike: ten in all."""
_SEEN = 0.3
"""A task is seen where it turns out otherwise in more of the attempts: with the skill, if it fails without; without,
if it passes with it."""
_SAME = 0.1
"""Partial credit that is farther apart tells versions apart."""
_CONTRARY = 2
"""Attempts that turn out otherwise, after which a task is not asked further: one may be an accident."""


class Tried(NamedTuple):
    """What came of the attempts at one task, by version, in their order; none is empty."""

    scores: Mapping[str, Sequence[Score]]
    apart: float
    """By how much the versions differ in their first attempts, as the metric of the settings has it."""

    @property
    def looks(self) -> Unseen | None:
        """What all versions look like on it, as far as attempts have shown."""
        solved = {each[0].hard >= 1 for each in self.scores.values()}
        if len(solved) > 1 or self.apart > _SAME:
            return None
        kind: Unseen = "passes" if solved.pop() else "fails"
        return kind if self.contrary(kind).passed < _CONTRARY else None

    def contrary(self, kind: Unseen) -> Outcomes:
        """Attempts that speak against it (`passed`) and for it: a seen task that passes with the skill fails without,
        one that fails without passes with the skill."""
        fails = kind == "fails"
        asked = [one for name, each in self.scores.items() if (name == "skill") == fails for one in each]
        others = sum((one.hard >= 1) == fails for one in asked)
        return Outcomes(others, len(asked) - others)

    @property
    def shown(self) -> str:
        """In a few words."""
        made = [one.hard >= 1 for each in self.scores.values() for one in each]
        return f"{sum(made)} of {len(made)} attempts passed"

    @property
    def next_version(self) -> str:
        """With which one an open task is attempted next: one that would turn out otherwise, were it seen."""
        if self.looks == "fails":
            return "skill"
        return min("opposite", "none", key=lambda name: len(self.scores[name]))


def unseen(tried: Mapping[str, Tried], certain: frozenset[str]) -> dict[str, Unseen]:
    """The tasks that no version changes, by id. Each is seen after all with probability `ERROR` at most, by the
    spread of outcomes over all tasks (the local false discovery rate: Efron 2008, Statistical Science 23:1), so of
    those named together no larger share is expected to be wrong. Where another trial tells nothing new, one attempt
    is `certain`."""
    found: dict[str, Unseen] = {}
    kinds: tuple[Unseen, ...] = ("passes", "fails")
    for kind in kinds:
        outcomes = {name: each.contrary(kind) for name, each in tried.items()}
        spread = PassSpread.measured(outcomes.values())
        for name, each in tried.items():
            if each.looks == kind and (name in certain or spread.above(_SEEN, outcomes[name]) <= ERROR):
                found[name] = kind
    return found
