"""The loop: rollout, reflect, aggregate, select, update and gate in each step; slow update and meta skill in between.

Everything paid or decided is a fact in the journal, so there is no progress to keep: resuming is running again.
Source of the method: SkillOpt (its paper, section 3); where this loop differs is said in docs/concepts/method.md.
"""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from skillgrad.build import Given, Workbench, open_workbench
from skillgrad.config import GateSection, TrainConfig, load_config, make_config
from skillgrad.diary import Diary
from skillgrad.errors import ConfigError, StopRun, did_you_mean
from skillgrad.records import Attempt, Candidate, Evaluation, Task, TrainState
from skillgrad.report import Measured, report
from skillgrad.skill import token_count
from skillgrad.stages.aggregate import aggregate, unite
from skillgrad.stages.evaluation import evaluate
from skillgrad.stages.gate import GateResult, decide, reason_not_to_evaluate
from skillgrad.stages.longitudinal import compare_epochs
from skillgrad.stages.meta_skill import meta_skill
from skillgrad.stages.optimizer import Optimizer, together
from skillgrad.stages.reflect import Context, Reflection, count_silence, is_silent, reflect
from skillgrad.stages.schedules import Evidence, schedule_of
from skillgrad.stages.select import select
from skillgrad.stages.slow_update import slow_update
from skillgrad.stages.state import accept, after_rollout, after_verdict
from skillgrad.stages.update_modes import update_mode
from skillgrad.summary import Summary
from skillgrad.threads import run_to_end

__all__ = ["Trainer"]


class Trainer:
    """Trains a skill. What is not given is built from the config.

    Args:
        config: settings, as a `TrainConfig`, nested data or the path of a YAML file.
        given: objects to use instead of building them from the config: `env`, `target`, `optimizer`, `judge`,
            `agent`, `skill`, `executor`, `prompts`, `sinks`; and `fork`, the name of a run to take facts from.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """

    def __init__(
        self, config: TrainConfig | Mapping[str, Any] | Path | str | None = None, **given: Unpack[Given]
    ) -> None:
        if isinstance(config, str | Path):
            config = load_config(config)
        self.config = config if isinstance(config, TrainConfig) else make_config(config or {})
        for name in given:
            if name not in Given.__annotations__:
                hint = did_you_mean(name, Given.__annotations__)
                raise ConfigError(f"Trainer takes no {name!r}", hint=hint)
        self._given = given

    def train(self) -> Summary:
        """`atrain` for synchronous code; works inside a running event loop (a notebook) as well."""
        return run_to_end(self.atrain())

    async def atrain(self) -> Summary:
        """Train, or go on with a run that was interrupted, or report a finished one without calling anybody.

        Raises:
            InputError: data, skill or settings cannot be used; nothing was paid for.
            StopRun: a budget is used up or an endpoint is dead; `stop.summary` says what the run has.
        """
        async with open_workbench(self.config, self._given) as bench:
            return await _Run(bench).train()


class _Batch(NamedTuple):
    """Tasks that are attempted and read together."""

    tasks: Sequence[Task]
    seed: int


class _Run:
    """One run over a workbench."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        config = self._config = bench.config
        size = config.train.batch_size * config.train.accumulation
        self._steps = config.train.epochs * -(-len(bench.tasks["train"]) // size)
        self._mode = update_mode(config)
        self._schedule = schedule_of(config.select, self._steps, budgeted=self._mode.budgeted)
        self._diary = Diary(bench, self._steps)
        self._state = TrainState(current=bench.skill, best=bench.skill)
        self._test: dict[str, Evaluation] = {}
        self._initial_val: Evaluation | None = None
        self._started = time.monotonic()

    async def train(self) -> Summary:
        """The loop."""
        try:
            self._state = await self._start()
            for epoch in range(1, self._config.train.epochs + 1):
                for batches in self._batches(epoch):
                    self._state = await self._step(self._state, batches, epoch)
                self._state = await self._end_epoch(self._state, epoch)
            await self._final_test(self._state)
        except StopRun as stop:
            await self._bench.rollout.executor.drain()
            stop.summary = self._report(stopped=stop.message)
            raise
        await self._bench.rollout.executor.drain()
        return self._report(stopped=None)

    async def _start(self) -> TrainState:
        bench, diary = self._bench, self._diary
        diary.started()
        diary.begin("baseline", 0, 0, len(bench.tasks["val"]))
        val = self._initial_val = await evaluate(bench.rollout, bench.skill, bench.tasks["val"], "val")
        mean = diary.mean(val)
        diary.end("baseline", 0, "no task has a score" if mean is None else f"validation {mean:.3f}")
        return self._state.model_copy(update={"current_val": val, "best_val": val, "voids": len(val.voids)})

    def _batches(self, epoch: int) -> Iterator[Sequence[_Batch]]:
        """The batches of each step."""
        train = self._config.train
        tasks, seed = list(self._bench.tasks["train"]), train.seed + 1000 * epoch
        random.Random(seed).shuffle(tasks)
        parts = [tasks[start : start + train.batch_size] for start in range(0, len(tasks), train.batch_size)]
        batches = [_Batch(part, seed + number) for number, part in enumerate(parts, start=1)]
        return (batches[start : start + train.accumulation] for start in range(0, len(batches), train.accumulation))

    async def _step(self, state: TrainState, batches: Sequence[_Batch], epoch: int) -> TrainState:
        config, bench, diary = self._config, self._bench, self._diary
        optimizer = bench.optimizer(state.meta_skill)
        step = state.step + 1
        place = f"steps/{step:04d}"
        state = state.model_copy(update={"step": step, "epoch": epoch})

        attempts, reflections = await self._read(state, batches, optimizer)
        state = after_rollout(state, attempts)
        state = state.model_copy(update={"silent_steps": count_silence(reflections, state.silent_steps)})

        diary.begin("aggregate", step, epoch)
        failures = [r.patch for r in reflections if r.source == "failures"]
        successes = [r.patch for r in reflections if r.source == "successes"]
        form = self._mode.forms.merged
        merged = await aggregate(optimizer, state.current, (failures, successes), config.aggregate, form)
        diary.write(f"{place}/merged.json", merged)
        diary.end("aggregate", step, f"{len(merged.edits)} edits")

        diary.begin("select", step, epoch)
        evidence = Evidence(state.current, attempts, merged, state.ledger, config.reflect.ledger_entries)
        budget = await self._schedule.decide(optimizer, step, evidence)
        selected = await select(optimizer, state.current, merged, budget.edits)
        selected += unite([reminder for reflection in reflections for reminder in reflection.reminders])
        diary.write(f"{place}/selected.json", {"budget": budget.edits, "reason": budget.reason, "edits": selected})
        limit = "no budget" if budget.edits is None else f"budget {budget.edits}"
        diary.end("select", step, f"{len(selected)} edits, {limit}")

        diary.begin("update", step, epoch)
        candidate = await self._mode.apply(bench.optimizer(), state.current, selected)
        made = sum(edit.fate in ("applied", "repaired") for edit in candidate.edits)
        diary.end("update", step, f"{made} of {len(candidate.edits)} edits made")
        silent = "the optimizer gave no usable answer" if is_silent(reflections) else ""
        why_not = silent or candidate.unusable or ("" if selected else budget.reason)
        return await self._try(state, candidate, place, gate=config.gate, why_not=why_not)

    async def _read(
        self, state: TrainState, batches: Sequence[_Batch], optimizer: Optimizer
    ) -> tuple[list[Attempt], list[Reflection]]:
        """Attempt and read all batches of a step. They do not wait for each other: the skill is the same for all."""
        config, diary, step = self._config, self._diary, state.step
        place = f"steps/{step:04d}"
        trial = state.epoch - 1 if config.train.fresh_attempts else 0
        told = self._schedule.told(step)
        context = Context(state.current, told, state.ledger, state.earlier, self._mode.forms)
        found: dict[int, Sequence[Attempt]] = {}

        def all_attempts() -> list[Attempt]:
            return [attempt for index in sorted(found) for attempt in found[index]]

        async def read(index: int, batch: _Batch) -> Sequence[Reflection]:
            rollout = self._bench.rollout
            found[index] = await rollout.batch(batch.tasks, state.current, "train", trial=trial, step=step)
            if len(found) == len(batches):
                attempts = all_attempts()
                diary.write(f"{place}/rollout.json", attempts)
                diary.end("rollout", step, f"{sum(a.solved for a in attempts)} of {len(attempts)} solved")
                diary.begin("reflect", step, state.epoch)
            return await reflect(optimizer, found[index], context, config.reflect, batch.seed)

        diary.begin("rollout", step, state.epoch, sum(len(batch.tasks) for batch in batches))
        parts = await together(read(index, batch) for index, batch in enumerate(batches))
        reflections = [reflection for part in parts for reflection in part]
        diary.write(f"{place}/patches.json", reflections)
        proposed = sum(len(reflection.patch.edits) + len(reflection.reminders) for reflection in reflections)
        diary.end("reflect", step, f"{proposed} edits from {len(reflections)} readings")
        return all_attempts(), reflections

    async def _try(
        self, state: TrainState, candidate: Candidate, place: str, *, gate: GateSection, why_not: str = ""
    ) -> TrainState:
        """Pass a candidate through the gate, unless it is not worth evaluating."""
        config, bench, diary = self._config, self._bench, self._diary
        skipped = why_not or reason_not_to_evaluate(
            candidate.skill, state.current, state.rejected_texts, config.skill.max_tokens
        )
        diary.made(place, state, candidate, skipped)
        result: GateResult | None = None
        if not skipped:
            assert state.current_val is not None
            diary.begin("gate", state.step, state.epoch, len(bench.tasks["val"]))
            result = await decide(bench.rollout, candidate.skill, state.current_val, bench.tasks["val"], gate)
            diary.end("gate", state.step, result.verdict.reason)
        before = state
        state = after_verdict(state, candidate, result.verdict if result else None)
        if result is not None and result.verdict.accepted and result.evaluation is not None:
            state = accept(state, candidate.skill, result.evaluation, config.gate)
        diary.decided(place, (before, state), candidate, result, skipped)
        return state

    async def _end_epoch(self, state: TrainState, epoch: int) -> TrainState:
        """Slow update, then meta skill, from the second epoch on; nothing to compare when the skill is the same."""
        config, bench, diary = self._config, self._bench, self._diary
        previous, current = state.epoch_skill, state.current
        wanted = config.slow_update.enabled or config.meta_skill.enabled
        if previous is None or previous.hash == current.hash or not wanted:
            return state.model_copy(update={"epoch_skill": current})
        limit = config.reflect.max_trajectory_chars
        self._diary.begin("slow_update", state.step, epoch, 2 * config.slow_update.samples)
        pairs = await compare_epochs(
            bench.rollout,
            (previous, current),
            bench.tasks["train"],
            config.slow_update,
            epoch=epoch,
            seed=config.train.seed,
        )
        diary.write(f"epochs/{epoch:02d}/slow_update.json", pairs)
        if config.slow_update.enabled and pairs:
            candidate = await slow_update(bench.optimizer(), previous, current, pairs, limit)
            if candidate is not None:
                gate = config.gate if config.slow_update.gate else config.gate.model_copy(update={"enabled": False})
                state = await self._try(state, candidate, f"epochs/{epoch:02d}", gate=gate)
        self._diary.end("slow_update", state.step, f"{len(pairs)} tasks compared")
        if config.meta_skill.enabled and pairs:
            self._diary.begin("meta_skill", state.step, epoch)
            memory = await meta_skill(
                bench.optimizer(), (previous, current), pairs, state.ledger, state.meta_skill, limit
            )
            diary.write(f"epochs/{epoch:02d}/meta_skill.json", {"memory": memory})
            state = state.model_copy(update={"meta_skill": memory})
            self._diary.end("meta_skill", state.step, f"{token_count(memory)} tokens")
        return state.model_copy(update={"epoch_skill": state.current})

    async def _final_test(self, state: TrainState) -> None:
        tasks = self._bench.tasks["test"]
        if not self._config.test.enabled or not tasks:
            return
        self._diary.begin("test", state.step, state.epoch, len(tasks) * 2 * self._config.test.trials)
        for skill in (self._bench.skill, state.best):
            self._test[skill.hash] = await evaluate(
                self._bench.rollout, skill, tasks, "test", trials=self._config.test.trials
            )
        self._diary.end("test", state.step, "done")

    def _report(self, *, stopped: str | None) -> Summary:
        measured = Measured(initial_val=self._initial_val, test=self._test)
        return report(self._bench, self._state, measured, stopped, time.monotonic() - self._started)
