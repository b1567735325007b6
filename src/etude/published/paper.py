"""`paper`: the published loop. Rollout, reflect, aggregate, select, update and a gate over all of validation.

Source: SkillOpt (its paper, section 3); where this loop differs is said in docs/method.md.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import ClassVar

from etude.concurrency import give_up
from etude.published.acceptance import Acceptance
from etude.published.counts import analyses, between_epochs, parts, step_calls, validated
from etude.published.epochs import end_epoch
from etude.published.options import PaperOptions
from etude.published.proposer import Proposer, batches_of
from etude.records import TrainState
from etude.searches.search import Known, Most, Search, SearchOptions
from etude.workbench import Workbench


class PaperSearch(Search):
    """Every step makes one candidate, which has to score strictly higher on validation than the current skill."""

    options_type: ClassVar[type[SearchOptions]] = PaperOptions

    def __init__(self, bench: Workbench, options: PaperOptions) -> None:
        self._options = options
        super().__init__(bench, options)
        self._proposer = Proposer(bench, self.log, options, self.steps)
        self._acceptance = Acceptance(bench, self.log, options)

    @classmethod
    def most(cls, known: Known, options: PaperOptions) -> Most:
        """Baseline, then in each step the attempts of a batch, its analyses and a validation."""
        epochs, tasks, slow = known.config.train.epochs, known.tasks["train"], between_epochs(known, options)
        steps = epochs * parts(tasks, options.step_size)
        read = options.accumulation * analyses(known, options, min(options.batch_size, tasks))
        attempts = known.tasks["val"] + tasks * epochs + validated(known, options, steps)
        return Most(attempts + slow.attempts, steps * step_calls(options, read) + slow.calls)

    @property
    def steps(self) -> int:
        return self._config.train.epochs * parts(len(self._bench.tasks["train"]), self._options.step_size)

    async def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        options = self._options
        for batches in batches_of(*self._shuffled(epoch), options.batch_size, options.accumulation):
            place = {"step": state.step + 1, "epoch": epoch}
            reading = asyncio.ensure_future(self._proposer.read(state.model_copy(update=place), batches))
            try:
                if state.current_val is None:  # the first step's attempts do not depend on it
                    state = await self._acceptance.baseline(state)
                    yield state
                read = await reading
            finally:
                await give_up(reading)
            state, candidate = await self._proposer.make(state.model_copy(update=place), read)
            state = await self._acceptance.decide(state, candidate, f"steps/{state.step:04d}")
            yield state
        yield await end_epoch(self._bench, self.log, state, options, self._acceptance)
