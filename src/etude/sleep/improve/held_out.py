"""What a night keeps of a search: the held-out tasks as a person wants to see them, and what the optimizer said."""

from collections.abc import Sequence
from contextlib import aclosing

from pydantic import Field

from etude.records import Attempt, Candidate, Evaluation, GateResult, LedgerEntry, Record, Skill, TrainState
from etude.sleep.report import HeldOutAttempt
from etude.workbench import Observer, Workbench

_SHOWN = 2_000
"""Characters of a response that are kept."""
_REPLIES = 64
"""Most replies of the optimizer that are kept."""


_VOID = HeldOutAttempt(
    task="", outcome="void", hard=None, soft=None, why="the attempt errored; events.jsonl says why", response=""
)


class HeldOut(Record):
    """What was seen on validation, and what the optimizer said."""

    initial: tuple[HeldOutAttempt, ...]
    candidate: tuple[HeldOutAttempt, ...]
    """Under the candidate that the search ends with, else under the last one that was decided on; empty when there
    was none, or when it lost a race and was not seen in full."""
    accepted: bool | None
    """Whether that candidate was; None when there was none."""
    reason: str
    """Why, or why there was none. Where several were accepted one after the other, the first skill is what the last
    one is compared with."""
    optimizer_replies: tuple[str, ...]
    """The latest raw ones, candidate by candidate, and sorted among those of one."""
    ledger: tuple[LedgerEntry, ...]
    """All edits that were tried in this run."""
    silent: bool = False
    """No attempt at all had an answer."""
    cited: dict[str, str] = Field(default_factory=dict[str, str])
    """The task of each attempt that an edit cites."""

    def judged(self, accepted: bool | None) -> "HeldOut":
        """With edits that count as accepted only where fresh attempts bear them out, for the next night."""
        judged = (entry.model_copy(update={"accepted": entry.accepted and accepted}) for entry in self.ledger)
        return self.model_copy(update={"ledger": tuple(judged)})


class HeldOutObserver(Observer):
    """Collects a `HeldOut`."""

    def __init__(self) -> None:
        self._found: HeldOut | None = None
        self._last: tuple[Candidate, GateResult] | None = None
        self._reason = "every validation task is solved already"
        self._tasks: dict[str, str] = {}
        self._heard: set[str] = set()
        """What the optimizer said since the last candidate."""
        self._replies: dict[str, None] = {}
        self._answered: set[bool] = set()

    @property
    def found(self) -> HeldOut:
        """What was collected; there once the search is over."""
        assert self._found is not None
        return self._found

    def replied(self, text: str) -> None:
        self._heard.add(text)

    def attempted(self, attempts: Sequence[Attempt]) -> None:
        self._tasks.update((attempt.id, attempt.task.id) for attempt in attempts)
        self._answered.update(bool(attempt.trajectory.answer.strip()) for attempt in attempts)

    def decided(self, candidate: Candidate, result: GateResult | None, skipped: str) -> None:
        if result is not None:
            self._last = candidate, result
        self._reason = skipped if result is None else result.verdict.reason
        self._keep_replies()

    async def finished(self, bench: Workbench, state: TrainState) -> None:
        self._keep_replies()
        skill, seen, accepted, reason = self._end(bench, state)
        ledger = state.ledger[len(bench.past.ledger) :]
        cites = sorted({name for entry in ledger for name in entry.edit.cites} & self._tasks.keys())
        self._found = HeldOut(
            initial=await self._shown(bench, bench.skill, state.initial_val),
            candidate=() if skill is None else await self._shown(bench, skill, seen),
            accepted=accepted,
            reason=reason,
            optimizer_replies=tuple(self._replies)[-_REPLIES:],
            ledger=ledger,
            silent=self._answered == {False},
            cited={name: self._tasks[name] for name in cites},
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

    def _keep_replies(self) -> None:
        """In an order that does not depend on which came first."""
        self._replies |= dict.fromkeys(sorted(self._heard))
        self._heard.clear()

    async def _shown(self, bench: Workbench, skill: Skill, seen: Evaluation | None) -> tuple[HeldOutAttempt, ...]:
        """The attempts behind an evaluation of validation. Those with a score are known; no other is made again."""
        if seen is None:
            return ()
        found = {task.id: _VOID.model_copy(update={"task": task.id}) for task in bench.tasks["val"]}
        known = [task for task in bench.tasks["val"] if task.id in seen.scores]
        async with aclosing(bench.rollout.stream(known, skill, "val")) as attempts:
            async for _, attempt in attempts:
                found[attempt.task.id] = _shown(attempt)
                self._answered.add(bool(attempt.trajectory.answer.strip()))
        return tuple(found.values())


def _shown(attempt: Attempt) -> HeldOutAttempt:
    score = attempt.score
    return HeldOutAttempt(
        task=attempt.task.id,
        outcome=attempt.outcome,
        hard=None if score is None else score.hard,
        soft=None if score is None else score.soft,
        why=attempt.reason or ("" if score is None else score.feedback),
        response=attempt.trajectory.answer[:_SHOWN],
    )
