"""Noise: how often an attempt turns out otherwise when nothing has changed, as the attempts of this run show it.

Tasks have pass probabilities of their own. How these are spread is estimated from the tasks that were attempted, the
repeated ones above all, and says what an attempt will come to at a task that passed or failed so many times.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import fsum, prod
from typing import NamedTuple

from etude.records.base import Record

_CHANCES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Pass probabilities that a task may have: hopeless, sure, and five steps between. A finer grid changes no prediction
by more than .02, as no task is attempted often enough to tell."""
_PRIOR = (1.25, 0.5, 0.5, 0.5, 0.5, 0.5, 1.25)
"""Tasks that are taken as seen before any is: five, most of them at the ends, so that one attempt in five turns out
otherwise when it is repeated. Agents of public benchmarks have 4 to 41% (terminal-bench, tau-bench)."""
_ROUNDS = 12
"""Rounds of the estimation; more change the third digit."""


class Tally(NamedTuple):
    """Attempts at a task with one skill."""

    passed: int = 0
    failed: int = 0

    def plus(self, passed: bool) -> "Tally":
        """With one more."""
        return Tally(self.passed + passed, self.failed + (not passed))


class Noise(Record):
    """How pass probabilities are spread over the tasks of a run."""

    weights: tuple[float, ...] = tuple(weight / fsum(_PRIOR) for weight in _PRIOR)
    """Share of the tasks at each of the pass probabilities; in all 1."""

    @classmethod
    def measured(cls, tallies: Iterable[Tally]) -> "Noise":
        """From one tally for each task.

        The weights are those of highest likelihood, with the prior (empirical Bayes: Laird 1978, Journal of the
        American Statistical Association 73:805). That a task was attempted again because it had failed does no harm:
        the attempts that were the reason are part of its tally."""
        seen = Counter(tally for tally in tallies if tally.passed + tally.failed)
        likely = {tally: [_chance_of(p, tally) for p in _CHANCES] for tally in seen}
        weights = cls().weights
        for _ in range(_ROUNDS):
            counts = list(_PRIOR)
            for tally, tasks in sorted(seen.items()):
                shares = _shares(weights, likely[tally])
                counts = [count + tasks * share for count, share in zip(counts, shares, strict=True)]
            weights = tuple(count / fsum(counts) for count in counts)
        return cls(weights=weights)

    def next_passes(self, known: Tally) -> float:
        """Probability in (0, 1) that the next attempt at a task with this tally passes, when nothing changes."""
        return fsum(share * p for share, p in zip(self._given(known), _CHANCES, strict=True))

    def likelihood(self, outcome: Tally, known: Tally) -> float:
        """Probability of these outcomes, in their order, at a task of which this is known, when nothing changes."""
        return fsum(share * _chance_of(p, outcome) for share, p in zip(self._given(known), _CHANCES, strict=True))

    @cached_property
    def regained(self) -> float:
        """P(pass | failed once, nothing changed)."""
        return self.next_passes(Tally(failed=1))

    @cached_property
    def lost(self) -> float:
        """P(fail | passed once, nothing changed)."""
        return 1 - self.next_passes(Tally(passed=1))

    def _given(self, known: Tally) -> list[float]:
        return _shares(self.weights, [_chance_of(p, known) for p in _CHANCES])


def _chance_of(p: float, tally: Tally) -> float:
    return p**tally.passed * (1 - p) ** tally.failed


def _shares(weights: Sequence[float], likely: Sequence[float]) -> list[float]:
    """Of the weights, after what was seen."""
    both = [weight * one for weight, one in zip(weights, likely, strict=True)]
    return [one / fsum(both) for one in both]
