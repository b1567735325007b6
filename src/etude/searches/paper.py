"""`paper`: the published loop. Rollout, reflect, aggregate, select, update and a gate over all of validation.

Source: SkillOpt (its paper, section 3); where this loop differs is said in docs/concepts/method.md.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import ClassVar

from etude.records import TrainState
from etude.searches.base import Search, give_up
from etude.searches.epochs import end_epoch
from etude.searches.forecast import Known, Work
from etude.searches.paper_forecast import paper_work
from etude.searches.steps import Acceptance, Proposer, batches_of
from etude.stages.update_modes import update_mode
from etude.workbench import Workbench

__all__ = ["PaperSearch"]


class PaperSearch(Search):
    """Every step makes one candidate, which has to score strictly higher on validation than the current skill."""

    baseline: ClassVar[bool] = True

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench)
        self._proposer = Proposer(bench, self.log, update_mode(bench.config), self.steps)
        self._acceptance = Acceptance(bench, self.log)

    @classmethod
    def forecast(cls, known: Known) -> tuple[Work, ...]:
        return paper_work(known)

    @property
    def steps(self) -> int:
        return self._config.train.epochs * -(-len(self._bench.tasks["train"]) // self._size)

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
        yield await end_epoch(self._bench, self.log, state, epoch, self._acceptance.guided)

    async def finish(self, state: TrainState) -> TrainState:
        return state
