"""Noise: how often an attempt turns out otherwise when nothing has changed, as the attempts of this run show it.

Tasks have pass probabilities of their own. How these are spread is estimated from the tasks that were attempted, the
repeated ones above all, and says what an attempt will come to at a task that passed or failed so many times.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import fsum
from typing import NamedTuple

from etude.records.record import Record

_CHANCES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Pass probabilities that a task may have: hopeless, sure, and five steps between. A finer grid changes no prediction
by more than .02, as no task is attempted often enough to tell."""
_PRIOR = (1.25, 0.5, 0.5, 0.5, 0.5, 0.5, 1.25)
"""Tasks that are taken as seen before any is: five, most of them at the ends, so that one attempt in five turns out
otherwise when it is repeated. Agents of public benchmarks have 4 to 41% (terminal-bench, tau-bench)."""
_BEFORE = tuple(weight / fsum(_PRIOR) for weight in _PRIOR)
"""The same as shares."""
_ROUNDS = 12
"""Rounds of the estimation; more change the third digit."""


class Outcomes(NamedTuple):
    """Attempts at a task with one skill."""

    passed: int = 0
    failed: int = 0

    def plus(self, passed: bool, times: int = 1) -> "Outcomes":
        """With so many more."""
        return Outcomes(self.passed + passed * times, self.failed + (not passed) * times)

    def joined(self, other: "Outcomes") -> "Outcomes":
        """With those of other attempts."""
        return Outcomes(self.passed + other.passed, self.failed + other.failed)


class PassSpread(Record):
    """How pass probabilities are spread over the tasks of a run."""

    weights: tuple[float, ...] = _BEFORE
    """Share of the tasks at each of the pass probabilities; in all 1."""

    @classmethod
    def measured(cls, tasks: Iterable[Outcomes]) -> "PassSpread":
        """From the outcomes of each task.

        The weights are those of highest likelihood, with the prior (empirical Bayes: Laird 1978, Journal of the
        American Statistical Association 73:805). That a task was attempted again because it had failed does no harm:
        the attempts that were the reason are among its outcomes."""
        seen = Counter(task for task in tasks if sum(task))
        likely = {task: [_chance_of(p, task) for p in _CHANCES] for task in seen}
        weights = cls().weights
        for _ in range(_ROUNDS):
            counts = list(_PRIOR)
            for task, alike in sorted(seen.items()):
                shares = _shares(weights, likely[task])
                counts = [count + alike * share for count, share in zip(counts, shares, strict=True)]
            weights = tuple(_shares(counts, [1.0] * len(counts)))
        return cls(weights=weights)

    def next_passes(self, known: Outcomes) -> float:
        """Probability in (0, 1) that the next attempt at a task with these outcomes passes, when nothing changes."""
        return fsum(share * p for share, p in zip(self._given(known), _CHANCES, strict=True))

    def likelihood(self, outcome: Outcomes, known: Outcomes) -> float:
        """Probability of these outcomes, in their order, at a task of which this is known, when nothing changes."""
        return fsum(share * _chance_of(p, outcome) for share, p in zip(self._given(known), _CHANCES, strict=True))

    def raised(self, more: Outcomes, less: Outcomes) -> float:
        """How much likelier outcomes at one task are if the first ones passed with a higher probability than the
        second, than if both had one. It may be any that a task of this run has, or one before any run, in proportion
        to how often it passes: solved tasks may be rare so far."""
        higher = same = 0.0
        for at, (weight, p) in enumerate(zip(self.weights, _CHANCES, strict=True)):
            known = weight * _chance_of(p, less)
            same += known * _chance_of(p, more)
            above = slice(at + 1 if at + 1 < len(_CHANCES) else at, None)
            shares = [
                (own + prior) * q
                for own, prior, q in zip(self.weights[above], _BEFORE[above], _CHANCES[above], strict=True)
            ]
            passes = fsum(share * _chance_of(q, more) for share, q in zip(shares, _CHANCES[above], strict=True))
            higher += known * passes / fsum(shares)
        return higher / same

    def two_kinds(self, intact: Outcomes, broken: Outcomes, left: float) -> float:
        """Probability of outcomes at one task, in their order: of the second ones each passes with only `left` of its
        probability."""
        return fsum(
            weight * _chance_of(p, intact) * _chance_of(left * p, broken)
            for weight, p in zip(self.weights, _CHANCES, strict=True)
        )

    @cached_property
    def regained(self) -> float:
        """P(pass | failed once, nothing changed)."""
        return self.next_passes(Outcomes(failed=1))

    @cached_property
    def lost(self) -> float:
        """P(fail | passed once, nothing changed)."""
        return 1 - self.next_passes(Outcomes(passed=1))

    def _given(self, known: Outcomes) -> list[float]:
        return _shares(self.weights, [_chance_of(p, known) for p in _CHANCES])


def _chance_of(p: float, outcomes: Outcomes) -> float:
    return p**outcomes.passed * (1 - p) ** outcomes.failed


def _shares(weights: Sequence[float], likely: Sequence[float]) -> list[float]:
    """Of the weights, after what was seen."""
    both = [weight * one for weight, one in zip(weights, likely, strict=True)]
    total = fsum(both)
    return [one / total for one in both]
