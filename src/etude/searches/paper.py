"""`paper`: the published loop. Rollout, reflect, aggregate, select, update and a gate over all of validation.

Source: SkillOpt (its paper, section 3); where this loop differs is said in docs/concepts/method.md.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from etude.config import GateSection, ReflectSection
from etude.records import Attempt, Candidate, Evaluation, Patch, Task, TrainState
from etude.run_log import counted
from etude.searches.base import Search, give_up
from etude.searches.epochs import end_epoch
from etude.searches.forecast import Known, Work
from etude.searches.paper_forecast import paper_work
from etude.stages.aggregate import aggregate, unite
from etude.stages.evaluation import evaluate
from etude.stages.gate import GateResult, decide, reason_not_to_evaluate
from etude.stages.longitudinal import Pair
from etude.stages.optimizer import together
from etude.stages.proposals import Source
from etude.stages.reflect import Context, Reflection, count_silence, is_silent, readings
from etude.stages.schedules import Evidence, schedule_of
from etude.stages.select import select
from etude.stages.state import accept, after_rollout, after_verdict
from etude.stages.update_modes import UpdateMode, update_mode
from etude.workbench import Workbench

__all__ = ["Batch", "PaperSearch", "Proposal", "Rolled"]

_REMEASURED = 10_000
"""Trial numbers from here on are those of accepted skills that are measured again."""


class Batch(NamedTuple):
    """Tasks that are attempted and read together."""

    tasks: Sequence[Task]
    seed: int


class Begun(NamedTuple):
    """A reading under way. Awaiting it gives what it proposes."""

    source: Source
    reflection: asyncio.Future[Reflection]

    def __await__(self) -> Generator[Any, None, Patch]:
        reflection = yield from self.reflection.__await__()
        return reflection.patch


class Rolled(NamedTuple):
    """A batch that was attempted, and its readings under way."""

    attempts: Sequence[Attempt]
    seed: int
    begun: Sequence[Begun]


class Proposal(NamedTuple):
    """What the readings of a step come to."""

    reflections: Sequence[Reflection]
    merged: Patch


class _Read(NamedTuple):
    """What a step knows before it makes its candidate."""

    attempts: Sequence[Attempt]
    proposal: Proposal


class PaperSearch(Search):
    """Every step makes one candidate, which has to score strictly higher on validation than the current skill."""

    baseline: ClassVar[bool] = True

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench)
        self._tries = 1
        """Attempts at each training task of a step."""
        self._use(update_mode(self._config))

    @classmethod
    def forecast(cls, known: Known) -> tuple[Work, ...]:
        return paper_work(known)

    @property
    def steps(self) -> int:
        return self._config.train.epochs * -(-len(self._bench.tasks["train"]) // self._size)

    def _use(self, mode: UpdateMode) -> None:
        """Make the next candidates in this mode."""
        self._mode = mode
        self._schedule = schedule_of(self._config.select, self.steps, budgeted=mode.budgeted)

    async def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        for batches in self._batches(epoch):
            place = {"step": state.step + 1, "epoch": epoch}
            reading = asyncio.ensure_future(self._read(state.model_copy(update=place), batches))
            try:
                if state.current_val is None:  # the first step's attempts do not depend on it
                    state = await self._baseline(state)
                    yield state
                read = await reading
            finally:
                await give_up(reading)
            state = await self._step(state.model_copy(update=place), read)
            yield state
        yield await end_epoch(self._bench, self._diary, state, epoch, self._guided)

    async def finish(self, state: TrainState) -> TrainState:
        return state

    async def _guided(self, state: TrainState, candidate: Candidate, pairs: Sequence[Pair]) -> TrainState:
        """Pass the slow update's candidate through the gate, which looks at validation only."""
        del pairs
        gate = self._config.gate
        gate = gate if self._config.slow_update.gate else gate.model_copy(update={"enabled": False})
        return await self._try(state, candidate, f"epochs/{state.epoch:02d}", gate=gate)

    async def _baseline(self, state: TrainState) -> TrainState:
        """Measure the initial skill, which is the bar for the first candidate."""
        bench, diary = self._bench, self._diary
        diary.begin("baseline", 0, 0, len(bench.tasks["val"]))
        val = await evaluate(bench.rollout, bench.skill, bench.tasks["val"], "val")
        mean = diary.mean(val)
        diary.end("baseline", 0, "every attempt errored" if mean is None else f"validation {mean:.3f}")
        return state.model_copy(
            update={"initial_val": val, "current_val": val, "best_val": val, "voids": len(val.voids)}
        )

    def _batches(self, epoch: int) -> Iterator[Sequence[Batch]]:
        """The batches of each step."""
        train = self._config.train
        tasks, seed = self._shuffled(epoch)
        parts = [tasks[start : start + train.batch_size] for start in range(0, len(tasks), train.batch_size)]
        batches = [Batch(part, seed + number) for number, part in enumerate(parts, start=1)]
        return (batches[start : start + train.accumulation] for start in range(0, len(batches), train.accumulation))

    async def _step(self, state: TrainState, read: _Read) -> TrainState:
        """Make a candidate of what was read, and pass it through the gate."""
        config, bench, diary = self._config, self._bench, self._diary
        attempts, (reflections, merged) = read
        optimizer = bench.optimizer(state.meta_skill)
        step, epoch, place = state.step, state.epoch, f"steps/{state.step:04d}"
        state = after_rollout(state, attempts)
        state = state.model_copy(update={"silent_steps": count_silence(reflections, state.silent_steps)})

        diary.begin("select", step, epoch)
        evidence = Evidence(state.current, attempts, merged, state.ledger, config.reflect.ledger_entries)
        budget = await self._schedule.decide(optimizer, step, evidence)
        selected = await select(optimizer, state.current, merged, budget.edits)
        selected += unite([reminder for reflection in reflections for reminder in reflection.reminders])
        diary.write(f"{place}/selected.json", {"budget": budget.edits, "reason": budget.reason, "edits": selected})
        limit = "no budget" if budget.edits is None else f"budget {budget.edits}"
        diary.end("select", step, f"{counted(len(selected), 'edit')}, {limit}", idle=not selected)

        diary.begin("update", step, epoch)
        candidate = await self._mode.apply(bench.optimizer(), state.current, selected)
        made = sum(edit.fate in ("applied", "repaired") for edit in candidate.edits)
        diary.end("update", step, f"{made} of {len(candidate.edits)} edits applied", idle=not candidate.edits)
        silent = "the optimizer gave no usable answer" if is_silent(reflections) else ""
        why_not = silent or candidate.unusable or ("" if selected else budget.reason)
        return await self._try(state, candidate, place, gate=config.gate, why_not=why_not)

    async def _read(self, state: TrainState, batches: Sequence[Batch]) -> _Read:
        """Attempt and read all batches of a step, and merge what the readings propose."""
        diary, step = self._diary, state.step
        place = f"steps/{step:04d}"
        diary.begin("rollout", step, state.epoch, self._tries * sum(len(batch.tasks) for batch in batches))
        # Batches do not wait for each other: the skill is the same for all.
        rolled = await together(self._roll(state, batch) for batch in batches)
        attempts = [attempt for batch in rolled for attempt in batch.attempts]
        diary.write(f"{place}/rollout.json", attempts)
        diary.end("rollout", step, f"{sum(a.solved for a in attempts)} of {len(attempts)} solved")
        proposal = await self._propose(state, rolled)
        diary.write(f"{place}/patches.json", proposal.reflections)
        diary.write(f"{place}/merged.json", proposal.merged)
        return _Read(attempts, proposal)

    async def _roll(self, state: TrainState, batch: Batch) -> Rolled:
        """Attempt the tasks of a batch and begin to read the attempts."""
        attempts = await self._attempt(batch, state)
        return Rolled(attempts, batch.seed, self._begin(state, *self._to_read(attempts), batch.seed))

    async def _attempt(self, batch: Batch, state: TrainState) -> Sequence[Attempt]:
        """Attempt the tasks of a batch, each as often as the search does; tries do not wait for each other either."""
        first = self._tries * (state.epoch - 1 if self._config.train.fresh_attempts else 0)
        tries = await together(
            self._bench.rollout.batch(batch.tasks, state.current, "train", trial=trial, step=state.step)
            for trial in range(first, first + self._tries)
        )
        return [attempt for attempts in tries for attempt in attempts]

    def _to_read(self, attempts: Sequence[Attempt]) -> tuple[Sequence[Attempt], ReflectSection]:
        """Which attempts of a batch are read, and how."""
        return attempts, self._config.reflect

    def _begin(
        self, state: TrainState, attempts: Sequence[Attempt], settings: ReflectSection, seed: int
    ) -> list[Begun]:
        """Begin to read attempts of a batch."""
        told = self._schedule.told(state.step)
        context = Context(state.current, told, state.ledger, state.earlier, self._mode.forms)
        calls = readings(self._bench.optimizer(state.meta_skill), attempts, context, settings, seed)
        return [Begun(call.source, asyncio.ensure_future(call.reflection)) for call in calls]

    async def _propose(self, state: TrainState, rolled: Sequence[Rolled]) -> Proposal:
        """Merge what the readings propose. Merges do not wait for readings that they do not need."""
        config, diary, step = self._config, self._diary, state.step
        begun = [reading for batch in rolled for reading in batch.begun]
        diary.begin("reflect", step, state.epoch)
        try:
            failures = [each for each in begun if each.source == "failures"]
            successes = [each for each in begun if each.source == "successes"]
            optimizer, form = self._bench.optimizer(state.meta_skill), self._mode.forms.merged
            merged = await aggregate(optimizer, state.current, (failures, successes), config.aggregate, form)
        finally:
            await asyncio.gather(*(each.reflection for each in begun), return_exceptions=True)
        reflections = [each.reflection.result() for each in begun]
        proposed = sum(len(reflection.patch.edits) + len(reflection.reminders) for reflection in reflections)
        diary.end("reflect", step, f"{counted(proposed, 'edit')} from {counted(len(reflections), 'analysis')}")
        diary.begin("aggregate", step, state.epoch)
        diary.end("aggregate", step, counted(len(merged.edits), "edit"), idle=not merged.edits)
        return Proposal(reflections, merged)

    async def _try(
        self, state: TrainState, candidate: Candidate, place: str, *, gate: GateSection, why_not: str = ""
    ) -> TrainState:
        """Pass a candidate through the gate, unless it is not worth evaluating."""
        config, diary = self._config, self._diary
        skipped = why_not or reason_not_to_evaluate(
            candidate.skill, state.current, state.rejected_texts, config.skill.max_tokens
        )
        diary.made(place, state, candidate, skipped)
        result = None if skipped else await self._verdict(state, candidate, gate)
        before = state
        state = after_verdict(state, candidate, result.verdict if result else None)
        if result is not None and result.verdict.accepted:
            if result.evaluation is None:  # nothing is measured: there is no bar
                state = state.model_copy(update={"current": candidate.skill, "best": candidate.skill})
            else:
                bar = await self._bar(state, candidate, result.evaluation)
                state = accept(state, candidate.skill, bar, config.gate)
        self._told(place, (before, state), candidate, result, skipped)
        return state

    async def _verdict(self, state: TrainState, candidate: Candidate, gate: GateSection) -> GateResult:
        """Whether a candidate is better than the current skill."""
        bench, diary, tasks = self._bench, self._diary, self._bench.tasks["val"]
        assert state.current_val is not None
        diary.begin("gate", state.step, state.epoch, len(tasks))
        result = await decide(bench.rollout, candidate.skill, state.current_val, tasks, gate)
        diary.end("gate", state.step, result.verdict.reason)
        return result

    def _told(
        self,
        place: str,
        states: tuple[TrainState, TrainState],
        candidate: Candidate,
        result: GateResult | None,
        skipped: str,
    ) -> None:
        """Tell what became of a candidate."""
        self._diary.decided(place, states, candidate, result, skipped)

    async def _bar(self, state: TrainState, candidate: Candidate, won: Evaluation) -> Evaluation:
        """What the next candidates have to beat: the scores it won with, or fresh ones.

        A fresh bar can be lower than the one before it; the search goes on from there all the same.
        """
        if not self._config.gate.remeasure:
            return won
        bench = self._bench
        # A trial of its own for each step: no other attempt at these tasks was chosen by.
        return await evaluate(
            bench.rollout, candidate.skill, bench.tasks["val"], "val", first=_REMEASURED + state.step
        )
