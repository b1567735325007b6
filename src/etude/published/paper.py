"""`paper`: the published loop. Rollout, reflect, aggregate, select, update and a gate over all of validation.

Source: SkillOpt (its paper, section 3); where this loop differs is said in docs/concepts/method.md.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import ClassVar

from etude.published.acceptance import Acceptance
from etude.published.epochs import end_epoch
from etude.published.proposer import Proposer, batches_of
from etude.published.update_modes import update_mode
from etude.records import TrainState
from etude.records.summary import Span
from etude.searches.base import Search, SearchOptions, give_up
from etude.searches.forecast import (
    NOTHING,
    Known,
    StageWork,
    attempted,
    between_epochs,
    exactly,
    final_test,
    parts,
    step_calls,
    validated,
)
from etude.workbench import Workbench

_EVALUATED, _EVALUATED_EPOCHS = 1 / 3, 4
"""Share of the steps that have a candidate worth evaluating, at least, and the epochs that this is said of."""
_RACED = 0.5
"""Share of a validation that a lost race takes, at least, unless more is known."""


class PaperSearch(Search):
    """Every step makes one candidate, which has to score strictly higher on validation than the current skill."""

    baseline: ClassVar[bool] = True
    ignores: ClassVar[frozenset[str]] = frozenset({"train.attempts"})

    def __init__(self, bench: Workbench, options: SearchOptions) -> None:
        super().__init__(bench, options)
        self._proposer = Proposer(bench, self.log, update_mode(bench.config), self.steps)
        self._acceptance = Acceptance(bench, self.log)

    @classmethod
    def forecast(cls, known: Known, options: SearchOptions) -> tuple[StageWork, ...]:
        """Baseline, then in each step a batch, its analyses, a selection and a validation that may end early."""
        config, train, val = known.config, known.tasks["train"], known.tasks["val"]
        epochs, gate = config.train.epochs, config.gate
        steps_of_epoch = parts(train, known.size)
        steps = epochs * steps_of_epoch
        guided = epochs - 1 if config.slow_update.enabled else 0
        evaluated = _EVALUATED if known.failing is None else min(_EVALUATED, known.failing_span.low)
        candidates = Span(low=evaluated * min(epochs, _EVALUATED_EPOCHS) * steps_of_epoch, high=steps + guided)
        least = val
        if gate.enabled and gate.racing:
            least = min(val, round(val * (_RACED if known.failing is None else max(0.1, _RACED * known.failing))))
            least = min(least, 1) if gate.no_regression else least  # the first task that scores lower ends the race
        tried = train * (epochs if config.train.fresh_attempts else 1)
        checked = Span(low=candidates.low * least, high=validated(known, candidates.high))
        return (
            attempted(known, "baseline", exactly(val), exactly(1)),
            attempted(known, "rollout", Span(low=tried, high=train * epochs), exactly(steps)),
            StageWork("analyses", NOTHING, step_calls(known, steps), NOTHING, Span(low=2 * steps, high=6 * steps)),
            attempted(known, "gate", checked, candidates),
            *between_epochs(known),
            final_test(known),
        )

    @property
    def steps(self) -> int:
        return self._config.train.epochs * parts(len(self._bench.tasks["train"]), self._size)

    async def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        train = self._config.train
        for batches in batches_of(*self._shuffled(epoch), train.batch_size, train.accumulation):
            place = {"step": state.step + 1, "epoch": epoch}
            reading = asyncio.ensure_future(self._proposer.read(state.model_copy(update=place), batches))
            try:
                if state.current_val is None:  # the first step's attempts do not depend on it
                    state = await self._acceptance.baseline(state)
                    yield state
                read = await reading
            finally:
                await give_up(reading)
            state, candidate, why_not = await self._proposer.make(state.model_copy(update=place), read)
            state = await self._acceptance.decide(state, candidate, f"steps/{state.step:04d}", why_not=why_not)
            yield state
        yield await end_epoch(self._bench, self.log, state, epoch, self._acceptance)
