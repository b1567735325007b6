"""What a night keeps of a search: the answers to held-out tasks, and why the search ended as it did."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing

from etude.records import Attempt, Candidate, Evaluation, GateResult, Record, Skill, TrainState
from etude.stages.shared.rollout import PlannedAttempt
from etude.workbench import Observer, Workbench

_SHOWN = 2_000
"""Characters of an answer that are kept."""


class HeldOut(Record):
    """What was seen on validation."""

    before: Mapping[str, str]
    """Answers to the held-out tasks that have a score under the first skill, by task."""
    after: Mapping[str, str]
    """The same under the candidate that the search ends with; empty where there was none."""
    accepted: bool | None
    """Whether that candidate, else the last one that was decided on, was; None where there was none."""
    reason: str
    """Why, or why there was none. Where several were accepted one after the other, the first skill is what the last
    one is compared with."""
    silent: str | None = None
    """No attempt at all had an answer, as the last one says; None where one had."""


class HeldOutObserver(Observer):
    """Collects a `HeldOut`."""

    def __init__(self) -> None:
        self._found: HeldOut | None = None
        self._accepted: bool | None = None
        self._reason = "every validation task is solved already"
        self._silent: str | None = None
        self._answered = False

    @property
    def found(self) -> HeldOut:
        """What was collected; there once the search is over."""
        assert self._found is not None
        return self._found

    def attempted(self, attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            self._answered = self._answered or bool(attempt.trajectory.answer.strip())
            self._silent = attempt.reason

    def decided(self, candidate: Candidate, result: GateResult | None, skipped: str) -> None:
        if result is not None:
            self._accepted, self._reason = result.verdict.accepted, result.verdict.reason
        elif self._accepted is None:
            self._reason = skipped

    async def finished(self, bench: Workbench, state: TrainState) -> None:
        before, after = await self._answers(bench, bench.skill, state.initial_val), dict[str, str]()
        gate, ended = bench.config.gate, state.best_val if state.best.hash != bench.skill.hash else None
        if state.initial_val is None:  # nothing was validated
            self._accepted = None
        elif ended is not None:
            after = await self._answers(bench, state.best, ended)
            first, last = (val.mean(gate.metric, gate.mixed_weight) for val in (state.initial_val, ended))
            if first is not None and last is not None:
                self._accepted, self._reason = True, f"candidate {last:.4f} > current {first:.4f}"
        silent = None if self._answered else self._silent
        self._found = HeldOut(before=before, after=after, accepted=self._accepted, reason=self._reason, silent=silent)

    async def _answers(self, bench: Workbench, skill: Skill, seen: Evaluation | None) -> dict[str, str]:
        """The answers behind an evaluation of validation. Those with a score are known; none is asked for again."""
        known = [task for task in bench.tasks["val"] if seen is not None and task.id in seen.scores]
        found = dict[str, str]()
        planned = [PlannedAttempt(task, skill) for task in known]
        async with aclosing(bench.rollout.stream(planned, "val")) as attempts:
            async for _, attempt in attempts:
                found[attempt.task.id] = attempt.trajectory.answer[:_SHOWN]
                self.attempted([attempt])
        return {task.id: found[task.id] for task in known if task.id in found}
