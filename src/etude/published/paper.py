"""`paper`: the published loop. Rollout, reflect, aggregate, select, update and a gate over all of validation.

Source: SkillOpt (its paper, section 3); where this loop differs is said in docs/method.md.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import ClassVar

from etude.published.acceptance import Acceptance
from etude.published.counts import analyses, between_epochs, parts, step_calls, validated
from etude.published.epochs import end_epoch
from etude.published.proposer import Proposer, batches_of
from etude.published.update_modes import update_mode
from etude.records import TrainState
from etude.searches.search import Known, Most, Search, SearchOptions, give_up
from etude.workbench import Workbench


class PaperSearch(Search):
    """Every step makes one candidate, which has to score strictly higher on validation than the current skill."""

    ignores: ClassVar[frozenset[str]] = frozenset({"train.attempts"})

    def __init__(self, bench: Workbench, options: SearchOptions) -> None:
        super().__init__(bench, options)
        self._proposer = Proposer(bench, self.log, update_mode(bench.config), self.steps)
        self._acceptance = Acceptance(bench, self.log)

    @classmethod
    def most(cls, known: Known, options: SearchOptions) -> Most:
        """Baseline, then in each step the attempts of a batch, its analyses and a validation."""
        train, tasks, slow = known.config.train, known.tasks["train"], between_epochs(known)
        steps = train.epochs * parts(tasks, train.batch_size * train.accumulation)
        read = train.accumulation * analyses(known, min(train.batch_size, tasks))
        attempts = known.tasks["val"] + tasks * train.epochs + validated(known, steps)
        return Most(attempts + slow.attempts, steps * step_calls(known, read) + slow.calls)

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
