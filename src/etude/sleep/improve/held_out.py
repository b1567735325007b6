"""What a night keeps of a search: what came of the held-out tasks, and why the search ended as it did."""

from collections.abc import Sequence
from contextlib import aclosing

from etude.records import Attempt, Candidate, Evaluation, GateResult, Record, Skill, TrainState
from etude.workbench import Observer, Workbench

_SHOWN = 2_000
"""Characters of a response that are kept."""


class HeldOutAttempt(Record):
    """An attempt at a held-out task; those that errored are not among them."""

    task: str
    hard: float | None
    why: str
    """Feedback of the scorer, or the reason why there is no score."""
    response: str


class HeldOut(Record):
    """What was seen on validation."""

    initial: tuple[HeldOutAttempt, ...]
    candidate: tuple[HeldOutAttempt, ...]
    """Under the candidate that the search ends with, else under the last one that was decided on; empty when there
    was none, or when it lost a race and was not seen in full."""
    accepted: bool | None
    """Whether that candidate was; None when there was none."""
    reason: str
    """Why, or why there was none. Where several were accepted one after the other, the first skill is what the last
    one is compared with."""
    silent: bool = False
    """No attempt at all had an answer."""


class HeldOutObserver(Observer):
    """Collects a `HeldOut`."""

    def __init__(self) -> None:
        self._found: HeldOut | None = None
        self._last: tuple[Candidate, GateResult] | None = None
        self._reason = "every validation task is solved already"
        self._answered: set[bool] = set()

    @property
    def found(self) -> HeldOut:
        """What was collected; there once the search is over."""
        assert self._found is not None
        return self._found

    def attempted(self, attempts: Sequence[Attempt]) -> None:
        self._answered.update(bool(attempt.trajectory.answer.strip()) for attempt in attempts)

    def decided(self, candidate: Candidate, result: GateResult | None, skipped: str) -> None:
        if result is not None:
            self._last = candidate, result
        self._reason = skipped if result is None else result.verdict.reason

    async def finished(self, bench: Workbench, state: TrainState) -> None:
        skill, seen, accepted, reason = self._end(bench, state)
        self._found = HeldOut(
            initial=await self._shown(bench, bench.skill, state.initial_val),
            candidate=() if skill is None else await self._shown(bench, skill, seen),
            accepted=accepted,
            reason=reason,
            silent=self._answered == {False},
        )

    def _end(self, bench: Workbench, state: TrainState) -> tuple[Skill | None, Evaluation | None, bool | None, str]:
        """The candidate that the search ends with, or the last one: its evaluation, whether it is accepted, why."""
        gate = bench.config.gate
        if state.initial_val is None:  # nothing was validated
            return None, None, None, self._reason
        if state.best.hash != bench.skill.hash and state.best_val is not None:
            before, after = (val.mean(gate.metric, gate.mixed_weight) for val in (state.initial_val, state.best_val))
            if before is not None and after is not None:
                return state.best, state.best_val, True, f"candidate {after:.4f} > current {before:.4f}"
        if self._last is None:
            return None, None, None, self._reason
        candidate, result = self._last
        return candidate.skill, result.evaluation, result.verdict.accepted, result.verdict.reason

    async def _shown(self, bench: Workbench, skill: Skill, seen: Evaluation | None) -> tuple[HeldOutAttempt, ...]:
        """The attempts behind an evaluation of validation. Those with a score are known; no other is made again."""
        if seen is None:
            return ()
        found = dict[str, HeldOutAttempt]()
        known = [task for task in bench.tasks["val"] if task.id in seen.scores]
        async with aclosing(bench.rollout.stream(known, skill, "val")) as attempts:
            async for _, attempt in attempts:
                found[attempt.task.id] = _shown(attempt)
                self._answered.add(bool(attempt.trajectory.answer.strip()))
        return tuple(found[task.id] for task in known if task.id in found)


def _shown(attempt: Attempt) -> HeldOutAttempt:
    score = attempt.score
    return HeldOutAttempt(
        task=attempt.task.id,
        hard=None if score is None else score.hard,
        why=attempt.reason or ("" if score is None else score.feedback),
        response=attempt.trajectory.answer[:_SHOWN],
    )
