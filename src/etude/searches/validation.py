"""Validation of the skill that a search ends with, which may begin before it is sure that this is the one."""

import asyncio

from etude.records import Evaluation, TrainState
from etude.run_log import RunLog
from etude.searches.base import give_up
from etude.stages.evaluation import evaluate
from etude.workbench import Workbench

__all__ = ["Validation"]

_IN_VAIN = {"stage": "validation begun too early"}
"""A fact: a resumed run knows it before it begins, and pays for nothing that it would give up again."""


class Validation:
    """Scores the best skill on the validation tasks, if need be beside other work: it decides nothing.

    Args:
        bench: what the run works with.
        log: where it tells what happens.
    """

    def __init__(self, bench: Workbench, log: RunLog) -> None:
        self._bench = bench
        self._log = log
        self._work: asyncio.Future[Evaluation] | None = None
        self._step = 0

    def begin(self, state: TrainState) -> None:
        """Begin with the best skill of a state, unless that is under way."""
        if self._work is not None:
            return
        tasks, self._step = self._bench.tasks["val"], state.step
        self._log.begin("validation", state.step, state.epoch, len(tasks))
        self._work = asyncio.ensure_future(evaluate(self._bench.rollout, state.best, tasks, "val"))

    def begin_early(self, state: TrainState) -> None:
        """The same while the skill may still change, unless that was in vain before."""
        if self._bench.rollout.journal.get("decision", _IN_VAIN, bool) is None:
            self.begin(state)

    async def in_vain(self) -> None:
        """The skill is another one now."""
        if self._work is not None:
            await self._bench.rollout.journal.once("decision", _IN_VAIN, bool, _true)
            await self.give_up()

    async def give_up(self) -> None:
        """Begin no further attempts. Those under way end by themselves."""
        work, self._work = self._work, None
        if work is not None:
            await give_up(work)
            self._log.end("validation", self._step, "discarded: the skill has changed")

    async def result(self, state: TrainState) -> Evaluation:
        """What the best skill scores. It is the one that was begun with, or nothing was begun.

        Raises:
            VoidStop: more attempts are void than `limits.max_void_eval` allows.
        """
        self.begin(state)
        assert self._work is not None
        val = await self._work
        mean = self._log.mean(val)
        self._log.end("validation", self._step, "every attempt errored" if mean is None else f"{mean:.3f}")
        return val


async def _true() -> bool:
    return True
