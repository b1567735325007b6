"""`rewrite_first`: the skill rewritten once, from all failures; edits in place where that does not suffice.

For few tasks and a plain flaw: there a single rewrite does what the whole loop does (gbrain-evals `skillopt-v1`, its
ablation), so it is tried before anything else is paid for.
"""

from collections.abc import AsyncGenerator

from etude.published.acceptance import Acceptance
from etude.published.counts import analyses, between_epochs, parts, step_calls, validated
from etude.published.epochs import end_epoch
from etude.published.proposer import Batch, Proposer, batches_of
from etude.published.update_modes import UPDATE_MODES
from etude.records import TrainState
from etude.searches.search import Known, Most, Search, SearchOptions
from etude.workbench import Workbench


class RewriteFirstSearch(Search):
    """Its first epoch is one step with all training tasks and makes a whole new document. Later ones are those of
    `paper`, until validation is solved: the gate could accept nothing more.

    With `gate.enabled: false`, or without validation tasks, nothing is evaluated and every change is accepted, until
    every training task is solved.
    """

    def __init__(self, bench: Workbench, options: SearchOptions) -> None:
        super().__init__(bench, options)
        self._validates = bench.config.gate.enabled and bool(bench.tasks["val"])
        self._acceptance = Acceptance(bench, self.log, validates=self._validates)

    @classmethod
    def most(cls, known: Known, options: SearchOptions) -> Most:
        """A rewrite, and what `paper` does."""
        train, tasks, slow = known.config.train, known.tasks["train"], between_epochs(known)
        tries, epochs, several = tasks * train.attempts, train.epochs, train.accumulation
        later = (epochs - 1) * parts(tasks, train.batch_size * several)
        again = 2 if train.attempts > 1 else 1  # where what differs teaches nothing, all of it is read
        batch = several * analyses(known, min(train.batch_size, tasks) * train.attempts)
        first, others = (step_calls(known, again * read) for read in (analyses(known, tries), batch))
        checked = known.tasks["val"] + validated(known, 1 + later) if known.config.gate.enabled else 0
        return Most(tries * epochs + checked + slow.attempts, first + later * others + slow.calls)

    @property
    def steps(self) -> int:
        return 1 + (self._config.train.epochs - 1) * parts(len(self._bench.tasks["train"]), self._size)

    async def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        if epoch == 1 and self._validates:
            state = await self._acceptance.baseline(state)
            yield state
        if self._settled(state):
            return
        train, (tasks, seed) = self._config.train, self._shuffled(epoch)
        mode = UPDATE_MODES["full_rewrite" if epoch == 1 else self._config.update.mode](self._config)
        proposer = Proposer(self._bench, self.log, mode, self.steps, train.attempts)
        later = batches_of(tasks, seed, train.batch_size, train.accumulation)
        for batches in [[Batch(tasks, seed)]] if epoch == 1 else later:
            if self._settled(state):
                break
            state = state.model_copy(update={"step": state.step + 1, "epoch": epoch})
            read = await proposer.read(state, batches)
            state, candidate, why_not = await proposer.make(state, read)
            state = await self._acceptance.decide(state, candidate, f"steps/{state.step:04d}", why_not=why_not)
            yield state
        yield await end_epoch(self._bench, self.log, state, epoch, self._acceptance)

    def _settled(self, state: TrainState) -> bool:
        """There is nothing left to gain: every validation task is solved, and only more is accepted; without
        validation every training task, so that nothing is left to learn from."""
        if self._validates:
            return state.current_val is not None and self.log.mean(state.current_val) == 1
        latest = [state.earlier.get(task.id) for task in self._bench.tasks["train"]]
        return all(one is not None and one.solved and one.skill_hash == state.current.hash for one in latest)
