"""The first half of a published step: from tasks to a candidate."""

import asyncio
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

from etude.concurrency import together
from etude.published.aggregate import aggregate, select
from etude.published.options import PaperOptions
from etude.published.schedules import Schedule
from etude.published.update_modes import update_mode
from etude.records import Attempt, Candidate, Edit, LeftOut, Patch, Skill, Task, TrainState
from etude.run_log import RunLog, counted
from etude.stages.reflect import Context, Minibatches, Reflection, after_reflection, analyses, is_silent
from etude.stages.shared.proposals import Source, unite
from etude.stages.state import after_rollout
from etude.workbench import Workbench


class Batch(NamedTuple):
    """Tasks that are attempted and read together."""

    tasks: Sequence[Task]
    seed: int


class StepReading(NamedTuple):
    """What a step knows before it makes its candidate."""

    attempts: Sequence[Attempt]
    reflections: Sequence[Reflection]
    merged: Patch


class _Begun(NamedTuple):
    """One analysis under way. Awaiting it gives what it proposes."""

    source: Source
    reflection: asyncio.Future[Reflection]

    def __await__(self) -> Generator[Any, None, Patch]:
        reflection = yield from self.reflection.__await__()
        return reflection.patch


class _Rolled(NamedTuple):
    """A batch that was attempted, and its analyses under way."""

    attempts: Sequence[Attempt]
    seed: int
    begun: Sequence[_Begun]


def batches_of(tasks: Sequence[Task], seed: int, size: int, accumulation: int) -> Iterator[Sequence[Batch]]:
    """The batches of each step of an epoch, from its shuffled tasks."""
    parts = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    batches = [Batch(part, seed + number) for number, part in enumerate(parts, start=1)]
    return (batches[start : start + accumulation] for start in range(0, len(batches), accumulation))


class Proposer:
    """Rollout, reflect, aggregate, select, update: from tasks to a candidate.

    With several attempts at each task, those at the same task that differ are read side by side first.

    Args:
        steps: of the whole run, for the schedule of the edit budget.
    """

    def __init__(self, bench: Workbench, log: RunLog, options: PaperOptions, steps: int) -> None:
        self._bench, self._log, self._config = bench, log, bench.config
        self._options, self._mode = options, update_mode(options)
        self._schedule = Schedule(options, steps, self._mode.budgeted)
        self._tries = options.tries
        self._golds = bench.golds

    async def read(self, state: TrainState, batches: Sequence[Batch]) -> StepReading:
        """Attempt and read all batches of a step, and merge what the analyses propose."""
        log, place = self._log, f"steps/{state.step:04d}"
        log.begin("rollout", state.step, state.epoch, self._tries * sum(len(batch.tasks) for batch in batches))
        # Batches do not wait for each other: the skill is the same for all.
        rolled = await together(self._roll(state, batch) for batch in batches)
        attempts = [attempt for batch in rolled for attempt in batch.attempts]
        log.attempted(state, attempts, f"{sum(a.solved for a in attempts)} of {len(attempts)} solved")
        reflections, merged = await self._propose(state, rolled)
        if not merged.edits and self._tries > 1:  # what differs taught nothing: read the failures as they are
            again = [
                batch._replace(begun=self._begin(state, batch.attempts, batch.attempts, batch.seed))
                for batch in rolled
            ]
            more, merged = await self._propose(state, again)
            reflections = [*reflections, *more]
        log.write(f"{place}/patches.json", reflections)
        log.write(f"{place}/merged.json", merged)
        return StepReading(attempts, reflections, merged)

    async def make(self, state: TrainState, read: StepReading) -> tuple[TrainState, Candidate]:
        """Make a candidate of what was read; `unusable` where it is not worth evaluating."""
        config, bench, log = self._config, self._bench, self._log
        attempts, reflections, merged = read
        optimizer = bench.optimizer(state.meta_skill)
        step, epoch = state.step, state.epoch
        reminders = unite([reminder for reflection in reflections for reminder in reflection.reminders])
        merged, reminders, left_out = self._without_golds(state.current, merged, reminders)
        state = after_rollout(state, attempts)
        nothing = left_out[0].why if left_out and not merged.edits and not reminders else ""
        state = after_reflection(state, reflections, nothing)

        log.begin("select", step, epoch)
        entries = config.reflect.ledger_entries
        budget = await self._schedule.decide(optimizer, state, attempts, merged, entries)
        selected = await select(optimizer, state.current, merged, budget.edits)
        selected += reminders
        chosen = {"budget": budget.edits, "reason": budget.reason, "edits": selected, "left_out": left_out}
        log.write(f"steps/{step:04d}/selected.json", chosen)
        limit = "no budget" if budget.edits is None else f"budget {budget.edits}"
        log.end("select", step, f"{counted(len(selected), 'edit')}, {limit}", idle=not selected)

        log.begin("update", step, epoch)
        candidate = await self._mode.apply(bench.optimizer(), state.current, selected)
        made = sum(edit.fate in ("applied", "repaired") for edit in candidate.edits)
        log.end("update", step, f"{made} of {len(candidate.edits)} edits applied", idle=not candidate.edits)
        silent = "the optimizer gave no usable answer" if is_silent(reflections) else ""
        why_not = silent or candidate.unusable or nothing or ("" if selected else budget.reason)
        return state, candidate.model_copy(update={"unusable": why_not})

    def _without_golds(
        self, skill: Skill, merged: Patch, reminders: Sequence[Edit]
    ) -> tuple[Patch, tuple[Edit, ...], list[LeftOut]]:
        """Edits and reminders without those that copy a gold answer. What single edits are good for is not tested
        here, so none of them can show that it is more than the answer."""
        found = {edit: self._golds.why(edit.content, skill.text) for edit in (*merged.edits, *reminders)}
        left_out = [LeftOut(edit=edit, why=why, faulty=True) for edit, why in found.items() if why]
        merged = merged.model_copy(update={"edits": tuple(edit for edit in merged.edits if not found[edit])})
        return merged, tuple(edit for edit in reminders if not found[edit]), left_out

    async def _roll(self, state: TrainState, batch: Batch) -> _Rolled:
        """Attempt the tasks of a batch and begin to read the attempts; tries do not wait for each other either."""
        first = self._tries * (state.epoch - 1 if self._config.train.fresh_attempts else 0)
        tries = await together(
            self._bench.rollout.batch(batch.tasks, state.current, "train", trial=trial, step=state.step)
            for trial in range(first, first + self._tries)
        )
        attempts = [attempt for some in tries for attempt in some]
        to_read = _differing(attempts) if self._tries > 1 else attempts
        begun = self._begin(state, attempts, to_read, batch.seed, side_by_side=self._tries > 1)
        return _Rolled(attempts, batch.seed, begun)

    def _begin(
        self,
        state: TrainState,
        batch: Sequence[Attempt],
        to_read: Sequence[Attempt],
        seed: int,
        *,
        side_by_side: bool = False,
    ) -> list[_Begun]:
        """Begin to read attempts of a batch, each on its own or with the others at the same task."""
        settings = self._config.reflect
        settings = settings.model_copy(update={"mode": "deep"}) if side_by_side else settings
        minibatches = Minibatches(
            self._options.minibatch_size, seed, failures_only=side_by_side or self._options.failure_only
        )
        budget = self._schedule.shown(state.step)
        context = Context(
            state.current,
            budget,
            state.ledger,
            state.earlier,
            self._mode.forms,
            batch=batch,
            told=self._bench.told,
            tallies=state.tallies,
        )
        calls = analyses(self._bench.optimizer(state.meta_skill), to_read, context, settings, minibatches)
        return [_Begun(call.source, asyncio.ensure_future(call.reflection)) for call in calls]

    async def _propose(self, state: TrainState, rolled: Sequence[_Rolled]) -> tuple[list[Reflection], Patch]:
        """Merge what the analyses propose. Merges do not wait for analyses that they do not need."""
        log, step = self._log, state.step
        begun = [analysis for batch in rolled for analysis in batch.begun]
        log.begin("reflect", step, state.epoch)
        try:
            failures = [each for each in begun if each.source == "failures"]
            successes = [each for each in begun if each.source == "successes"]
            optimizer, form = self._bench.optimizer(state.meta_skill), self._mode.forms.merged
            size = self._options.merge_batch_size
            merged = await aggregate(optimizer, state.current, (failures, successes), size, form)
        finally:
            await asyncio.gather(*(each.reflection for each in begun), return_exceptions=True)
        reflections = [each.reflection.result() for each in begun]
        log.reflected(step, reflections)
        log.begin("aggregate", step, state.epoch)
        log.end("aggregate", step, counted(len(merged.edits), "edit"), idle=not merged.edits)
        return reflections, merged


def _differing(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts at tasks where one came out better than another."""
    values: dict[str, set[float]] = {}
    for attempt in attempts:
        if attempt.score is not None:
            values.setdefault(attempt.task.id, set()).add(attempt.score.soft)
    return [attempt for attempt in attempts if len(values.get(attempt.task.id, ())) > 1]
