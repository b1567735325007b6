"""The loop: rollout, reflect, aggregate, select, update and gate in each step; slow update and meta skill in between.

Everything paid or decided is a fact in the journal, so there is no progress to keep: resuming is running again.
Source of the method: SkillOpt (its paper, section 3); where this loop differs is said in docs/concepts/method.md.
"""

import asyncio
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Unpack

from skillgrad.build import Given, Workbench, open_workbench
from skillgrad.config import GateSection, TrainConfig, load_config, make_config
from skillgrad.errors import StopRun
from skillgrad.events import Decided, RunStarted, Stage, StageFinished, StageStarted
from skillgrad.records import Candidate, Evaluation, Task, TrainState
from skillgrad.report import Measured, report
from skillgrad.skill import token_count
from skillgrad.stages.aggregate import aggregate
from skillgrad.stages.evaluation import evaluate
from skillgrad.stages.gate import GateResult, decide
from skillgrad.stages.longitudinal import compare_epochs
from skillgrad.stages.meta_skill import meta_skill
from skillgrad.stages.reflect import Context, is_silent, reflect
from skillgrad.stages.schedules import edit_budget
from skillgrad.stages.select import select
from skillgrad.stages.slow_update import slow_update
from skillgrad.stages.state import accept, after_rollout, after_verdict
from skillgrad.stages.update import reason_not_to_evaluate, update
from skillgrad.summary import Summary

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
        self._given = given

    def train(self) -> Summary:
        """`atrain` for synchronous code; works inside a running event loop (a notebook) as well."""
        if not _loop_is_running():
            return asyncio.run(self.atrain())
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(asyncio.run, self.atrain()).result()

    async def atrain(self) -> Summary:
        """Train, or go on with a run that was interrupted, or report a finished one without calling anybody.

        Raises:
            InputError: data, skill or settings cannot be used; nothing was paid for.
            StopRun: a budget is used up or an endpoint is dead; `stop.summary` says what the run has.
        """
        async with open_workbench(self.config, self._given) as bench:
            return await _Run(bench).train()


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _Run:
    """One run over a workbench."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._config = bench.config
        size = self._config.train.batch_size
        self._steps = self._config.train.epochs * -(-len(bench.tasks["train"]) // size)
        self._state = TrainState(current=bench.skill, best=bench.skill)
        self._test: dict[str, Evaluation] = {}
        self._initial_val: Evaluation | None = None
        self._started = time.monotonic()

    async def train(self) -> Summary:
        """The loop."""
        try:
            self._state = await self._start()
            for epoch in range(1, self._config.train.epochs + 1):
                for number, batch in enumerate(self._batches(epoch), start=1):
                    seed = self._config.train.seed + 1000 * epoch + number
                    self._state = await self._step(self._state, batch, epoch, seed)
                self._state = await self._end_epoch(self._state, epoch)
            await self._final_test(self._state)
        except StopRun as stop:
            await self._bench.rollout.executor.drain()
            stop.summary = self._report(stopped=stop.message)
            raise
        await self._bench.rollout.executor.drain()
        return self._report(stopped=None)

    async def _start(self) -> TrainState:
        bench = self._bench
        bench.emit(
            RunStarted(
                name=self._config.run.name,
                folder=str(bench.folder.path),
                epochs=self._config.train.epochs,
                steps=self._steps,
                resumed=bench.resumed,
                simulated=bench.simulated,
            )
        )
        bench.folder.write_skill(0, bench.skill.text)
        self._begin("baseline", 0, 0, len(bench.tasks["val"]))
        val = self._initial_val = await evaluate(bench.rollout, bench.skill, bench.tasks["val"], "val")
        mean = self._mean(val)
        self._end("baseline", 0, "no task has a score" if mean is None else f"validation {mean:.3f}")
        return self._state.model_copy(update={"current_val": val, "best_val": val, "voids": len(val.voids)})

    def _batches(self, epoch: int) -> Iterator[Sequence[Task]]:
        tasks = list(self._bench.tasks["train"])
        random.Random(self._config.train.seed + 1000 * epoch).shuffle(tasks)
        size = self._config.train.batch_size
        return (tasks[start : start + size] for start in range(0, len(tasks), size))

    async def _step(self, state: TrainState, batch: Sequence[Task], epoch: int, seed: int) -> TrainState:
        config, bench, folder = self._config, self._bench, self._bench.folder
        optimizer = bench.optimizer(state.meta_skill)
        step = state.step + 1
        state = state.model_copy(update={"step": step, "epoch": epoch})
        budget = edit_budget(config.select, step, self._steps)

        self._begin("rollout", step, epoch, len(batch))
        trial = epoch - 1 if config.train.fresh_attempts else 0
        attempts = await bench.rollout.batch(batch, state.current, "train", trial=trial, step=step)
        folder.write_json(f"steps/{step:04d}/rollout.json", attempts)
        self._end("rollout", step, f"{sum(attempt.solved for attempt in attempts)} of {len(attempts)} solved")

        self._begin("reflect", step, epoch)
        context = Context(state.current, budget, state.ledger, state.earlier, state.silent_steps)
        reflections = await reflect(optimizer, attempts, context, config.reflect, seed)
        folder.write_json(f"steps/{step:04d}/patches.json", reflections)
        proposed = sum(len(reflection.patch.edits) for reflection in reflections)
        self._end("reflect", step, f"{proposed} edits from {len(reflections)} readings")
        state = after_rollout(state, attempts)
        silent = is_silent(reflections)
        state = state.model_copy(update={"silent_steps": state.silent_steps + 1 if silent else 0})

        self._begin("aggregate", step, epoch)
        failures = [r.patch for r in reflections if r.source == "failures"]
        successes = [r.patch for r in reflections if r.source == "successes"]
        merged = await aggregate(optimizer, state.current, (failures, successes), config.aggregate)
        folder.write_json(f"steps/{step:04d}/merged.json", merged)
        self._end("aggregate", step, f"{len(merged.edits)} edits")

        self._begin("select", step, epoch)
        selected = await select(optimizer, state.current, merged, budget)
        folder.write_json(f"steps/{step:04d}/selected.json", {"budget": budget, "edits": selected})
        self._end("select", step, f"{len(selected)} edits, budget {budget}")

        self._begin("update", step, epoch)
        candidate = await update(bench.optimizer(), state.current, selected, repair=config.update.repair)
        made = sum(edit.fate in ("applied", "repaired") for edit in candidate.edits)
        self._end("update", step, f"{made} of {len(candidate.edits)} edits made")
        why_not = "the optimizer gave no usable answer" if silent else ""
        return await self._try(state, candidate, f"steps/{step:04d}", gate=config.gate, why_not=why_not)

    async def _try(
        self, state: TrainState, candidate: Candidate, place: str, *, gate: GateSection, why_not: str = ""
    ) -> TrainState:
        """Pass a candidate through the gate, unless it is not worth evaluating."""
        config, bench, folder = self._config, self._bench, self._bench.folder
        skipped = why_not or reason_not_to_evaluate(
            candidate.skill, state.current, state.rejected_texts, config.skill.max_tokens
        )
        folder.write_json(f"{place}/update.json", {"edits": candidate.edits, "skipped": skipped})
        folder.write_candidate(place, state.current.text, candidate.skill.text)
        result: GateResult | None = None
        if not skipped:
            assert state.current_val is not None
            self._begin("gate", state.step, state.epoch, len(bench.tasks["val"]))
            result = await decide(bench.rollout, candidate.skill, state.current_val, bench.tasks["val"], gate)
            self._end("gate", state.step, result.verdict.reason)
        before = state
        state = after_verdict(state, candidate, result.verdict if result else None)
        if result is not None and result.verdict.accepted and result.evaluation is not None:
            state = accept(state, candidate.skill, result.evaluation, config.gate)
        action = "skipped" if result is None else "accepted" if result.verdict.accepted else "rejected"
        reason = skipped if result is None else result.verdict.reason
        folder.write_json(
            f"{place}/gate.json",
            {
                "action": action,
                "reason": reason,
                "origin": candidate.origin,
                "best": state.best.hash != before.best.hash,
                "verdict": None if result is None else result.verdict,
            },
        )
        folder.write_skill(state.step, state.current.text)
        bench.emit(
            Decided(
                step=state.step,
                steps=self._steps,
                action=action,
                origin=candidate.origin,
                reason=reason,
                current=self._mean(state.current_val),
                best=self._mean(state.best_val),
                skill_tokens=token_count(state.current.text),
            )
        )
        return state

    async def _end_epoch(self, state: TrainState, epoch: int) -> TrainState:
        """Slow update, then meta skill, from the second epoch on; nothing to compare when the skill is the same."""
        config, bench, folder = self._config, self._bench, self._bench.folder
        previous, current = state.epoch_skill, state.current
        wanted = config.slow_update.enabled or config.meta_skill.enabled
        if previous is None or previous.hash == current.hash or not wanted:
            return state.model_copy(update={"epoch_skill": current})
        limit = config.reflect.max_trajectory_chars
        self._begin("slow_update", state.step, epoch, 2 * config.slow_update.samples)
        pairs = await compare_epochs(
            bench.rollout,
            (previous, current),
            bench.tasks["train"],
            config.slow_update,
            epoch=epoch,
            seed=config.train.seed,
        )
        folder.write_json(f"epochs/{epoch:02d}/slow_update.json", pairs)
        if config.slow_update.enabled and pairs:
            candidate = await slow_update(bench.optimizer(), previous, current, pairs, limit)
            if candidate is not None:
                gate = config.gate if config.slow_update.gate else config.gate.model_copy(update={"enabled": False})
                state = await self._try(state, candidate, f"epochs/{epoch:02d}", gate=gate)
        self._end("slow_update", state.step, f"{len(pairs)} tasks compared")
        if config.meta_skill.enabled and pairs:
            self._begin("meta_skill", state.step, epoch)
            memory = await meta_skill(
                bench.optimizer(), (previous, current), pairs, state.ledger, state.meta_skill, limit
            )
            folder.write_json(f"epochs/{epoch:02d}/meta_skill.json", {"memory": memory})
            state = state.model_copy(update={"meta_skill": memory})
            self._end("meta_skill", state.step, f"{token_count(memory)} tokens")
        return state.model_copy(update={"epoch_skill": state.current})

    async def _final_test(self, state: TrainState) -> None:
        tasks = self._bench.tasks["test"]
        if not self._config.test.enabled or not tasks:
            return
        self._begin("test", state.step, state.epoch, len(tasks) * 2 * self._config.test.trials)
        for skill in (self._bench.skill, state.best):
            self._test[skill.hash] = await evaluate(
                self._bench.rollout, skill, tasks, "test", trials=self._config.test.trials
            )
        self._end("test", state.step, "done")

    def _report(self, *, stopped: str | None) -> Summary:
        measured = Measured(initial_val=self._initial_val, test=self._test)
        return report(self._bench, self._state, measured, stopped, time.monotonic() - self._started)

    def _mean(self, evaluation: Evaluation | None) -> float | None:
        gate = self._config.gate
        return None if evaluation is None else evaluation.mean(gate.metric, gate.mixed_weight)

    def _begin(self, stage: Stage, step: int, epoch: int, total: int = 0) -> None:
        self._bench.emit(StageStarted(stage=stage, step=step, epoch=epoch, total=total))

    def _end(self, stage: Stage, step: int, note: str) -> None:
        self._bench.emit(StageFinished(stage=stage, step=step, note=note))
        self._bench.tell_spend()
