"""What the forecasts of the policies are made of: counts of attempts and optimizer calls, from settings and counts of
tasks. A range runs from a search that finds little to one that finds much.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from etude.config import TrainConfig
from etude.records import Split
from etude.records.summary import Span

NOTHING = Span(low=0, high=0)

_FAILING = Span(low=0.25, high=0.9)
"""Share of tasks that the skill does not solve, when it is not measured."""
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
        slots = self.config.limits.concurrency
        return min(slots, self.config.target.max_concurrency or slots)

    @property
    def size(self) -> int:
        """Most tasks in a step."""
        return self.config.train.batch_size * self.config.train.accumulation

    @property
    def failing_span(self) -> Span:
        """The share of tasks that fails in the first epoch."""
        if self.failing is None:
            return _FAILING
        return Span(low=max(0.0, self.failing - _AROUND), high=min(1.0, self.failing + _AROUND))


class StageWork(NamedTuple):
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


def attempted(known: Known, stage: str, attempts: Span, phases: Span) -> StageWork:
    """A part that is attempts only, in phases that wait for each other: each has at least one round."""
    attempts, side = Span(low=int(attempts.low), high=-int(-attempts.high // 1)), known.concurrency
    waits = Span(
        low=min(attempts.low, max(phases.low, attempts.low / side)),
        high=min(attempts.high, phases.high + attempts.high / side),
    )
    return StageWork(stage, attempts, attempt_waits=waits)


def between_epochs(known: Known) -> Iterator[StageWork]:
    """Slow update and meta skill: attempts under two skills, where the skill has changed meanwhile."""
    config, later = known.config, known.config.train.epochs - 1
    kinds = int(config.slow_update.enabled) + int(config.meta_skill.enabled)
    if later and kinds:
        sample = min(config.slow_update.samples, known.tasks["train"])
        calls = Span(low=0, high=kinds * later)
        compared = attempted(known, "slow update", Span(low=0, high=2 * sample * later), Span(low=0, high=2 * later))
        yield compared._replace(calls=calls, call_waits=calls)


def final_test(known: Known) -> StageWork:
    """One skill is tested where nothing better was found."""
    tested = known.tasks["test"] * known.config.test.trials if known.config.test.enabled else 0
    return attempted(known, "test", Span(low=tested, high=2 * tested), Span(low=1, high=2))


def validated(known: Known, candidates: float) -> float:
    """Attempts at validation tasks for this many candidates at most: a bar of its own takes another time."""
    gate = known.config.gate
    return candidates * known.tasks["val"] * (2 if gate.enabled and gate.remeasure else 1)


def step_calls(known: Known, steps: int) -> Span:
    """Calls of steps that make one candidate each: analyses of minibatches, merges of what they propose, a selection,
    and what the update mode asks."""
    config, train = known.config, known.tasks["train"]
    size, minibatch = config.train.batch_size, config.reflect.minibatch_size
    batches = [min(size, train - start) for start in range(0, train, size)]
    analyses = config.train.epochs * sum(parts(batch, minibatch) for batch in batches)
    extra = known.kinds if config.reflect.mode == "deep" else 1
    each = config.train.accumulation * (parts(min(train, size), minibatch) + extra)
    merges = 2 * parts(each, config.aggregate.merge_batch_size) + 1
    shaping = int(config.select.schedule == "autonomous") + int(config.update.mode == "rewrite_from_suggestions")
    asked = 1 + int(config.update.mode == "patch" and config.update.repair)
    low = analyses / 3 if config.reflect.failure_only else analyses
    high = analyses + config.train.epochs * len(batches) * extra + steps * (merges + asked + shaping)
    return Span(low=int(low + shaping * steps / 3), high=high)


def parts(total: int, size: int) -> int:
    """Parts of at most `size` that the total is divided into."""
    return -(-total // size)


def exactly(number: float) -> Span:
    """A range of one number."""
    return Span(low=number, high=number)
