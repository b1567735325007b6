"""`rewrite_first`: the skill rewritten once, from all failures; edits in place where that does not suffice.

For few tasks and a plain flaw: there a single rewrite does what the whole loop does (gbrain-evals `skillopt-v1`, its
ablation), so it is tried before anything else is paid for.
"""

from collections.abc import AsyncGenerator
from typing import ClassVar

from etude.published.acceptance import Acceptance
from etude.published.counts import analyses, between_epochs, parts, step_calls, validated
from etude.published.epochs import end_epoch
from etude.published.options import RewriteFirstOptions
from etude.published.proposer import Batch, Proposer, batches_of
from etude.records import TrainState
from etude.searches.search import Known, Most, Search, SearchOptions
from etude.workbench import Workbench


class RewriteFirstSearch(Search):
    """Its first epoch is one step with all training tasks and makes a whole new document. Later ones are those of
    `paper`, until validation is solved: the gate could accept nothing more.

    With `gate: false`, or without validation tasks, nothing is evaluated and every change is accepted, until
    every training task is solved.
    """

    options_type: ClassVar[type[SearchOptions]] = RewriteFirstOptions

    def __init__(self, bench: Workbench, options: RewriteFirstOptions) -> None:
        self._options = options
        super().__init__(bench, options)
        self._validates = options.gate and bool(bench.tasks["val"])
        self._acceptance = Acceptance(bench, self.log, options, validates=self._validates)

    @classmethod
    def most(cls, known: Known, options: RewriteFirstOptions) -> Most:
        """A rewrite, and what `paper` does."""
        epochs, tasks, slow = known.config.train.epochs, known.tasks["train"], between_epochs(known, options)
        tries, later = tasks * options.attempts, (epochs - 1) * parts(tasks, options.step_size)
        again = 2 if options.attempts > 1 else 1  # where what differs teaches nothing, all of it is read
        batch = options.accumulation * analyses(known, options, min(options.batch_size, tasks) * options.attempts)
        first, others = (step_calls(options, again * read) for read in (analyses(known, options, tries), batch))
        checked = known.tasks["val"] + validated(known, options, 1 + later) if options.gate else 0
        return Most(tries * epochs + checked + slow.attempts, first + later * others + slow.calls)

    @property
    def steps(self) -> int:
        later = parts(len(self._bench.tasks["train"]), self._options.step_size)
        return 1 + (self._config.train.epochs - 1) * later

    async def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        if epoch == 1 and self._validates:
            state = await self._acceptance.baseline(state)
            yield state
        if self._settled(state):
            return
        options, (tasks, seed) = self._options, self._shuffled(epoch)
        if epoch == 1:
            options = options.model_copy(update={"update_mode": "full_rewrite"})
        proposer = Proposer(self._bench, self.log, options, self.steps)
        later = batches_of(tasks, seed, options.batch_size, options.accumulation)
        for batches in [[Batch(tasks, seed)]] if epoch == 1 else later:
            if self._settled(state):
                break
            state = state.model_copy(update={"step": state.step + 1, "epoch": epoch})
            read = await proposer.read(state, batches)
            state, candidate = await proposer.make(state, read)
            state = await self._acceptance.decide(state, candidate, f"steps/{state.step:04d}")
            yield state
        yield await end_epoch(self._bench, self.log, state, options, self._acceptance)

    def _settled(self, state: TrainState) -> bool:
        """There is nothing left to gain: every validation task is solved, and only more is accepted; without
        validation every training task, so that nothing is left to learn from."""
        if self._validates:
            return state.current_val is not None and self.log.mean(state.current_val) == 1
        latest = [state.earlier.get(task.id) for task in self._bench.tasks["train"]]
        return all(one is not None and one.solved and one.skill_hash == state.current.hash for one in latest)
