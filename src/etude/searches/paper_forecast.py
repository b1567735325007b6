"""How much work `paper` will do."""

from etude.config import TrainConfig
from etude.records.summary import Span
from etude.searches.forecast import (
    NOTHING,
    Known,
    Work,
    attempted,
    between_epochs,
    exactly,
    final_test,
    rounded,
)

__all__ = ["paper_work", "rewrite_first_work"]

_EVALUATED, _EVALUATED_EPOCHS = 1 / 3, 4
"""Of the steps of so many epochs, at least, that have a candidate worth evaluating; later ones may have none."""
_RACED = 0.5
"""Of a validation that a lost race takes at least, unless more is known; what is in flight when it ends counts."""


def paper_work(known: Known) -> tuple[Work, ...]:
    """Baseline, then in each step a batch, its readings, merges, a selection and a validation that may end early;
    between epochs slow update and meta skill; the test."""
    config, train, val = known.config, known.tasks["train"], known.tasks["val"]
    size = config.train.batch_size * config.train.accumulation
    parts = _parts(train, size)
    steps = config.train.epochs * parts
    later = config.train.epochs - 1
    passes = config.train.epochs if config.train.fresh_attempts else 1
    guided = later if config.slow_update.enabled else 0
    evaluated = _EVALUATED if known.failing is None else min(_EVALUATED, known.failing_span.low)
    early = min(config.train.epochs, _EVALUATED_EPOCHS) * parts
    candidates = Span(low=evaluated * early, high=steps + guided)
    least = val
    if config.gate.enabled and config.gate.racing:
        least = min(val, round(val * (_RACED if known.failing is None else max(0.1, _RACED * known.failing))))
    if config.gate.enabled and config.gate.racing and config.gate.no_regression:
        least = min(least, 1)  # the first task that scores lower ends the race
    validation = Span(low=candidates.low * least, high=candidates.high * val * _measured(config))
    return (
        attempted(known, "baseline", exactly(val), exactly(1)),
        attempted(
            known,
            "rollout",
            Span(low=train * passes, high=train * config.train.epochs),
            exactly(steps),
        ),
        Work("analyses", NOTHING, _paper_calls(known, steps), NOTHING, Span(low=2 * steps, high=6 * steps)),
        attempted(known, "gate", rounded(validation), candidates),
        *between_epochs(known, 0),
        final_test(known),
    )


def rewrite_first_work(known: Known) -> tuple[Work, ...]:
    """At most a rewrite and what `paper` does. At least the baseline, where the skill may solve validation already;
    without validation, all training tasks and the rewrite."""
    config, train, val = known.config, known.tasks["train"], known.tasks["val"]
    tries = train * config.train.attempts
    validates = config.gate.enabled and val > 0
    steps = 1 + (config.train.epochs - 1) * _parts(train, config.train.batch_size * config.train.accumulation)
    calls = 2 * _paper_calls(known, steps).high + 1
    once = 0 if validates else 1
    least = Span(low=once * tries, high=tries * config.train.epochs)
    read = Work("analyses", NOTHING, rounded(Span(low=once, high=calls)), NOTHING, Span(low=once, high=8 * steps))
    return (
        *((attempted(known, "baseline", exactly(val), exactly(1)),) if validates else ()),
        attempted(known, "rollout", least, Span(low=once, high=steps)),
        read,
        *(
            (attempted(known, "gate", Span(low=0, high=val * steps * _measured(config)), Span(low=0, high=steps)),)
            if validates
            else ()
        ),
        *between_epochs(known, 0),
        final_test(known),
    )


def _measured(config: TrainConfig) -> int:
    """How often an accepted candidate is attempted on the validation tasks: a bar of its own takes another time."""
    return 2 if config.gate.enabled and config.gate.remeasure else 1


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
    return rounded(
        Span(low=low + shaping * steps / 3, high=readings + batches * extra + steps * (merges + asked + shaping))
    )


def _parts(total: int, size: int) -> int:
    return -(-total // size)


def _sizes(total: int, size: int) -> list[int]:
    return [min(size, total - start) for start in range(0, total, size)]
