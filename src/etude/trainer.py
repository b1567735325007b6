"""The loop: epochs of a search policy, then validation and the test.

Everything paid or decided is a fact in the journal, so there is no progress to keep: resuming is running again.
Source of the method: SkillOpt (its paper, section 3); where this loop differs is said in docs/method.md.
"""

import asyncio
import time
from contextlib import aclosing
from copy import copy
from typing import Unpack

from etude.build import open_workbench
from etude.comparison import compare_on, delivers, with_these, worth_of
from etude.concurrency import run_to_end
from etude.config import Settings, config_of
from etude.display import watched
from etude.errors import StopRun
from etude.events import Notice
from etude.records import TrainState, brief
from etude.records.summary import Comparison, NoSkill, Summary
from etude.records.tasks import CURES
from etude.report import Measured, TrainingAttempts, report
from etude.searches import search_of
from etude.workbench import Given, Workbench, check_given, takes_given


class Trainer:
    """Trains a skill. What is not given is built from the config.

    Args:
        config: settings, as a `TrainConfig`, nested data or the path of a YAML file.
        given: objects to use instead of building them from the config: `env`, `target`, `optimizer`, `judge`,
            `agent`, `skill`, `executor`, `prompts`, `sinks`; and `fork`, the name of a run to take facts from.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """

    @takes_given
    def __init__(self, config: Settings | None = None, **given: Unpack[Given]) -> None:
        self.config = config_of({} if config is None else config)
        check_given(given)
        self._given = given

    def __repr__(self) -> str:
        target, optimizer = (
            brief(getattr(given, "name", None) or section.model, 30)
            for given, section in (
                (self._given.get("target"), self.config.target),
                (self._given.get("optimizer"), self.config.optimizer),
            )
        )
        return f"<Trainer {brief(self.config.run.name, 30)}: target {target}, optimizer {optimizer}>"

    def train(self) -> Summary:
        """`atrain` for synchronous code; works inside a running event loop (a notebook) as well. Unless `progress`
        is given, it is shown where a person watches: in a terminal or a notebook."""
        shown = copy(self)
        shown._given = {"progress": watched(), **self._given}
        return run_to_end(shown.atrain())

    async def atrain(self) -> Summary:
        """Train, or resume a run that was interrupted, or report a finished one without any call.

        Raises:
            InputError: data, skill or settings cannot be used; nothing was paid for.
            StopRun: a budget is used up or an endpoint is dead; `stop.summary` says what the run has.
        """
        attempts = TrainingAttempts()
        given: Given = {**self._given, "sinks": (*self._given.get("sinks", ()), attempts)}
        async with open_workbench(self.config, given) as bench:
            return await _Run(bench, attempts).train()


class _Run:
    """One run over a workbench."""

    def __init__(self, bench: Workbench, attempts: TrainingAttempts) -> None:
        self._bench, self._attempts = bench, attempts
        self._search = search_of(bench)
        self._log = self._search.log
        self._state = TrainState(current=bench.skill, best=bench.skill)
        self._comparison: Comparison | None = None
        self._no_skill: NoSkill | None = None
        self._started, self._facts = time.monotonic(), bench.folder.journal.counts()

    async def train(self) -> Summary:
        """The loop. What an epoch does is the search policy's."""
        try:
            self._log.started()
            idle = 0
            for epoch in range(1, self._bench.config.train.epochs + 1):
                before = self._state.current
                async with aclosing(self._search.epoch(self._state, epoch)) as states:
                    async for self._state in states:
                        if self._state.gave_up:
                            break
                idle = idle + 1 if self._state.current.hash == before.hash else 0
                if self._state.gave_up or self._search.gives_up(self._state, idle):
                    break
            self._log.doubts.ended(self._state)
            self._state = await self._search.finish(self._state)
            await self._bench.observer.finished(self._bench, self._state)
            await self._final_test(self._state)
        except StopRun as stop:
            await self._bench.rollout.executor.drain()
            stop.summary = self._report(stopped=stop.message)
            raise
        await self._bench.rollout.executor.drain()
        return self._report(stopped=None)

    async def _final_test(self, state: TrainState) -> None:
        """Open the test split: is the best skill better than the initial one, and than none?"""
        bench = self._bench
        tasks, trials = bench.tasks["test"], bench.config.test.trials
        if not bench.config.test.enabled or not tasks:
            return
        arms = 2 + (bench.config.test.no_skill and delivers(bench.skill))
        self._log.begin("test", state.step, state.epoch, arms * len(tasks) * trials)
        found = await compare_on(bench, (bench.skill, state.best), "test", trials)
        self._comparison = await asyncio.to_thread(with_these, found, bench)  # which counts all ways
        if bench.config.test.no_skill:
            self._no_skill = await worth_of(bench, state.best, self._comparison)
        self._log.end("test", state.step, self._comparison.said)

    def _report(self, *, stopped: str | None) -> Summary:
        log, none = self._log, self._no_skill
        limit = self._bench.config.target.max_output_tokens
        ended = [self._attempts.ended(how, self._state, self._comparison, limit) for how in CURES]
        of_replies = [doubt for doubt in ended if doubt is not None]
        for doubt in of_replies:
            self._bench.emit(Notice(level="warning", text=doubt.text))
        doubts = (*self._bench.doubts, *log.doubts.found, *of_replies)
        known = self._state.initial_val, self._comparison
        measured = Measured(*known, log.changes, none, doubts, self._attempts.noise())
        worked = self._bench.folder.journal.counts() != self._facts
        seconds = time.monotonic() - self._started if worked else None
        return report(self._bench, self._state, measured, stopped, seconds)
