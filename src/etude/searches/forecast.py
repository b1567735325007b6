"""How much work a search policy will do: counts of attempts and optimizer calls, from settings and counts of tasks.

What the forecasts of the policies are made of. Pure arithmetic. A range runs from a search that finds little to one
that finds much; how often runs lie inside is in docs/guides/plan.md.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from etude.config import TrainConfig
from etude.records import Split
from etude.records.summary import Span

__all__ = [
    "NOTHING",
    "Known",
    "Work",
    "attempted",
    "between_epochs",
    "exactly",
    "final_test",
    "plus",
    "rounded",
]

NOTHING = Span(low=0, high=0)

_FAILING = Span(low=0.25, high=0.9)
"""Share of tasks that the skill does not solve, when nobody has measured it."""
_AROUND = 0.15
"""How far the share on training tasks may lie from the one measured on validation tasks."""


class Known(NamedTuple):
    """What a forecast starts from."""

    config: TrainConfig
    tasks: Mapping[Split, int]
    kinds: int = 1
    """Types among the training tasks."""
    failing: float | None = None
    """Measured share of validation tasks that the initial skill does not solve, in [0, 1]."""

    @property
    def concurrency(self) -> int:
        """Attempts under way at the same time."""
        return min(self.config.limits.concurrency, self.config.target.max_concurrency)

    @property
    def failing_span(self) -> Span:
        """The share of tasks that fails in the first epoch."""
        if self.failing is None:
            return _FAILING
        return Span(low=max(0.0, self.failing - _AROUND), high=min(1.0, self.failing + _AROUND))


class Work(NamedTuple):
    """What a part of a run comes to."""

    stage: str
    attempts: Span
    """By the target."""
    calls: Span = NOTHING
    """Of the optimizer."""
    attempt_waits: Span = NOTHING
    """Rounds of attempts that wait for each other."""
    call_waits: Span = NOTHING
    """Rounds of optimizer calls that wait for each other."""


def between_epochs(known: Known, tested: int) -> Iterator[Work]:
    """Attempts under two skills, and `tested` more under a third, where the skill has changed meanwhile."""
    config = known.config
    later = config.train.epochs - 1
    kinds = int(config.slow_update.enabled) + int(config.meta_skill.enabled)
    if not later or not kinds:
        return
    sample = min(config.slow_update.samples, known.tasks["train"])
    yield Work(
        "slow update",
        Span(low=0, high=(2 * sample + tested) * later),
        Span(low=0, high=kinds * later),
        _waits(known, Span(low=0, high=(2 * sample + tested) * later), Span(low=0, high=2 * later)),
        Span(low=0, high=kinds * later),
    )


def final_test(known: Known) -> Work:
    """One skill is tested where nothing better was found."""
    tested = known.tasks["test"] * known.config.test.trials if known.config.test.enabled else 0
    return attempted(known, "test", Span(low=tested, high=2 * tested), Span(low=1, high=2))


def attempted(known: Known, stage: str, attempts: Span, phases: Span) -> Work:
    """A part that is attempts only, in phases that wait for each other."""
    return Work(stage, attempts, attempt_waits=_waits(known, attempts, phases))


def _waits(known: Known, attempts: Span, phases: Span) -> Span:
    """Rounds of attempts at the same time. Each phase has at least one, and its last one may not be full."""
    side_by_side = known.concurrency
    return Span(
        low=min(attempts.low, max(phases.low, attempts.low / side_by_side)),
        high=min(attempts.high, phases.high + attempts.high / side_by_side),
    )


def exactly(number: float) -> Span:
    """A range of one number."""
    return Span(low=number, high=number)


def plus(one: Span, other: Span) -> Span:
    """Both together, when they are small together and large together."""
    return Span(low=one.low + other.low, high=one.high + other.high)


def rounded(span: Span) -> Span:
    return Span(low=int(span.low), high=int(-(-span.high // 1)))
