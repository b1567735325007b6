"""How much work a search policy will do: counts of attempts and optimizer calls, from settings and counts of tasks.

Pure arithmetic, one function for each policy. A range runs from a search that finds little to one that finds much;
how often runs lie inside is in docs/guides/plan.md.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from skillgrad.config import TrainConfig
from skillgrad.records import Split
from skillgrad.summary import Span

__all__ = ["NOTHING", "Known", "Work", "evidence_work", "exactly", "paper_work", "plus", "work_of"]

NOTHING = Span(low=0, high=0)

_FAILING = Span(low=0.1, high=0.9)
"""Share of tasks that the skill does not solve, when nobody has measured it."""
_AROUND = 0.15
"""How far the share on training tasks may lie from the one measured on validation tasks."""
_EVALUATED = 1 / 3
"""Of the steps of `paper`, at least, that have a candidate worth evaluating."""
_RACED = 0.5
"""Of a validation that a lost race takes at least, unless more is known; what is in flight when it ends counts."""
_LEARNING = (1.0, 0.6)
"""Of the steps of `evidence`, in the first epoch and in later ones, those in which a search that learns tests edits
in full: each mended failure makes the rest fewer."""
_LASTING = 0.4
"""Of the failures that a step of `evidence` waits for, those that there are on average, at least."""


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


def work_of(known: Known) -> tuple[Work, ...]:
    """What the run of the settings comes to, stage by stage."""
    return _POLICIES[known.config.search.policy](known)


def paper_work(known: Known) -> tuple[Work, ...]:
    """Baseline, then in each step a batch, its readings, merges, a selection and a validation that may end early;
    between epochs slow update and meta skill; the test."""
    config, train, val = known.config, known.tasks["train"], known.tasks["val"]
    size = config.train.batch_size * config.train.accumulation
    steps = config.train.epochs * _parts(train, size)
    later = config.train.epochs - 1
    passes = config.train.epochs if config.train.fresh_attempts else 1
    guided = later if config.slow_update.enabled else 0
    evaluated = _EVALUATED if known.failing is None else min(_EVALUATED, known.failing_span.low)
    candidates = Span(low=evaluated * steps, high=steps + guided)
    least = val
    if config.gate.enabled and config.gate.racing:
        least = min(val, round(val * (_RACED if known.failing is None else max(0.1, _RACED * known.failing))))
    validation = Span(low=candidates.low * least, high=candidates.high * val)
    return (
        _attempted(known, "baseline", exactly(val), exactly(1)),
        _attempted(
            known,
            "rollout",
            Span(low=train * passes, high=train * config.train.epochs),
            exactly(steps),
        ),
        Work("readings", NOTHING, _paper_calls(known, steps), NOTHING, Span(low=2 * steps, high=6 * steps)),
        _attempted(known, "gate", _rounded(validation), candidates),
        *_between_epochs(known, 0),
        _final_test(known),
    )


def evidence_work(known: Known) -> tuple[Work, ...]:
    """In each step training tasks in waves until enough have failed; readings of the failures; all edits on them,
    each edit left out, what stays on the failures it mends and on solved tasks; between epochs slow update and meta
    skill; at the end validation of the best skill, and the test. It ends after an epoch that has brought nothing."""
    config, search, train = known.config, known.config.search, known.tasks["train"]
    sizes = _sizes(train, config.train.batch_size * config.train.accumulation)
    epochs, steps = config.train.epochs, config.train.epochs * len(sizes)
    failing = known.failing_span
    fewest = sum(min(size, search.failures / failing.high) if failing.high else size for size in sizes)
    largest = max(sizes, default=0)
    most = min(largest, search.failures, math.ceil(failing.high * largest))
    full = most + 0.75 * search.edits + most / 2 + search.guard / 2 + 3
    learning = len(sizes) * (_LEARNING[0] + _LEARNING[1] * (epochs - 1))
    # Failures that are there in every step, even when few fail or later steps have none left.
    least = min(most * _LASTING, failing.low * len(sizes) * most) if known.failing is not None else most * _LASTING
    return (
        _attempted(
            known,
            "rollout",
            _rounded(Span(low=fewest, high=train * epochs)),
            Span(low=len(sizes), high=3 * steps),
        ),
        _evidence_readings(known, Span(low=len(sizes), high=steps), least / most if most else 0, most),
        _attempted(
            known,
            "proof",
            _rounded(Span(low=len(sizes) * least, high=max(learning * full, steps * most))),
            Span(low=2 * len(sizes) * least / max(most, 1), high=8 * learning),
        ),
        _attempted(known, "validation", exactly(known.tasks["val"]), exactly(1)),
        *_between_epochs(known, search.guard),
        _final_test(known),
    )


def _evidence_readings(known: Known, steps: Span, least: float, most: int) -> Work:
    """Readings of up to `most` failures, in at least that share of the steps."""
    reflect, readings = known.config.reflect, known.config.search.readings
    groups = Span(low=1, high=1 + 0.6 * most / reflect.minibatch_size)
    if reflect.mode == "deep":  # failures of different types are read apart
        kinds = min(known.kinds, most)
        groups = Span(low=max(1.0, 0.7 * kinds), high=max(groups.high, 1.1 * kinds))
    share = min(1.0, 2 * least)
    calls = Span(low=share * groups.low * steps.low * readings, high=groups.high * steps.high * readings)
    return Work("readings", NOTHING, _rounded(calls), NOTHING, Span(low=share * steps.low, high=steps.high))


_POLICIES: Mapping[str, Callable[[Known], tuple[Work, ...]]] = {"paper": paper_work, "evidence": evidence_work}


def _paper_calls(known: Known, steps: int) -> Span:
    """Readings of minibatches, merges of what they propose, a selection, and what the update mode asks."""
    config, train = known.config, known.tasks["train"]
    minibatch = config.reflect.minibatch_size
    batches = config.train.epochs * _parts(train, config.train.batch_size)
    readings = config.train.epochs * sum(_parts(size, minibatch) for size in _sizes(train, config.train.batch_size))
    extra = known.kinds if config.reflect.mode == "deep" else 1
    each = config.train.accumulation * (_parts(min(train, config.train.batch_size), minibatch) + extra)
    merges = 1 if config.reflect.failure_only else 3
    merges += 2 * _parts(each, config.aggregate.merge_batch_size) - 2
    shaping = int(config.select.schedule == "autonomous") + int(config.update.mode == "rewrite_from_suggestions")
    asked = 1 + int(config.update.mode == "patch" and config.update.repair)
    low = readings / 3 if config.reflect.failure_only else readings
    return _rounded(
        Span(low=low + shaping * steps / 3, high=readings + batches * extra + steps * (merges + asked + shaping))
    )


def _between_epochs(known: Known, tested: int) -> Iterator[Work]:
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


def _final_test(known: Known) -> Work:
    """One skill is tested where nothing better was found."""
    tested = known.tasks["test"] * known.config.test.trials if known.config.test.enabled else 0
    return _attempted(known, "test", Span(low=tested, high=2 * tested), Span(low=1, high=2))


def _attempted(known: Known, stage: str, attempts: Span, phases: Span) -> Work:
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


def _parts(total: int, size: int) -> int:
    return -(-total // size)


def _sizes(total: int, size: int) -> list[int]:
    return [min(size, total - start) for start in range(0, total, size)]


def _rounded(span: Span) -> Span:
    return Span(low=int(span.low), high=int(-(-span.high // 1)))
