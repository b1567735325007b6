"""`rewrite_first`: the skill written anew once, from all failures; edits in place where that does not suffice.

For few tasks and a plain flaw: there a single rewrite does what the whole loop does (gbrain-evals `skillopt-v1`, its
ablation), so it is tried before anything else is paid for.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from pydantic import Field

from skillgrad.build import Workbench
from skillgrad.config import GateSection
from skillgrad.records import Attempt, Candidate, LedgerEntry, Record, Skill, TrainState, Verdict
from skillgrad.searches.epochs import end_epoch
from skillgrad.searches.forecast import Known, Work
from skillgrad.searches.paper import Batch, PaperSearch, Read
from skillgrad.searches.paper_forecast import rewrite_first_work
from skillgrad.skill import Document
from skillgrad.stages.gate import GateResult, reason_not_to_evaluate
from skillgrad.stages.longitudinal import Pair
from skillgrad.stages.optimizer import Optimizer
from skillgrad.stages.reflect import Context, Reading, readings
from skillgrad.stages.schedules import schedule_of
from skillgrad.stages.state import after_verdict
from skillgrad.stages.update_modes import UPDATE_MODES

__all__ = ["HeldOut", "RewriteFirstSearch", "Shown"]

_SHOWN = 2_000
"""Characters of a response that the view of held-out tasks has."""


class Shown(Record):
    """An attempt at a held-out task, as a person wants to see it."""

    task: str
    outcome: str
    hard: float | None
    soft: float | None
    why: str
    """Feedback of the scorer, or the reason why there is no score."""
    response: str


class HeldOut(Record):
    """What was seen on validation, and what the optimizer said: `held_out.json` in the run folder."""

    initial: tuple[Shown, ...]
    candidate: tuple[Shown, ...]
    """Under the last candidate that was evaluated; empty when there was none."""
    accepted: bool | None
    """Whether that candidate was."""
    reason: str
    """Why, or why there was none."""
    optimizer_replies: tuple[str, ...]
    """The latest raw ones, sorted."""
    ledger: tuple[LedgerEntry, ...]
    """All edits that were tried in this run."""
    silent: bool = False
    """No attempt at all had an answer."""
    cited: dict[str, str] = Field(default_factory=dict[str, str])
    """The task of each attempt that is named in `ledger` and `guidance`."""
    guidance: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """What the slow update added to a learned block, and was accepted, with the attempts that it compared."""


class RewriteFirstSearch(PaperSearch):
    """Its first epoch is one step with all training tasks and makes a whole new document. Later ones are those of
    `paper`, until validation and training are solved.

    With `gate.enabled: false`, or without validation tasks, nothing is evaluated and every change is accepted.
    """

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench)
        self._validates = bench.config.gate.enabled and bool(bench.tasks["val"])
        self._contrasts = bench.config.train.attempts > 1
        self._last: tuple[Candidate, GateResult] | None = None
        self._reason = "every validation task is solved already"
        self._tasks: dict[str, str] = {}
        self._answered: set[bool] = set()
        self._guidance: dict[str, tuple[str, ...]] = {}

    @classmethod
    def forecast(cls, known: Known) -> tuple[Work, ...]:
        return rewrite_first_work(known)

    @property
    def steps(self) -> int:
        later = self._config.train.epochs - 1
        return 1 + later * -(-len(self._bench.tasks["train"]) // self._size)

    async def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        if epoch == 1 and self._validates:
            state = await self._baseline(state)
            yield state
        if self._settled(state):
            return
        name = "full_rewrite" if epoch == 1 else self._config.update.mode
        self._mode = UPDATE_MODES[name](self._config)
        self._schedule = schedule_of(self._config.select, self.steps, budgeted=self._mode.budgeted)
        for batches in self._batches(epoch):
            state = state.model_copy(update={"step": state.step + 1, "epoch": epoch})
            state = await self._step(state, await self._read(state, batches))
            yield state
        yield await end_epoch(self._bench, self._diary, state, epoch, self._guided)

    async def finish(self, state: TrainState) -> TrainState:
        result = None if self._last is None else self._last[1]
        ledger = state.ledger[len(self._bench.past.ledger) :]
        named = [*(entry.edit.cites for entry in ledger), *self._guidance.values()]
        cites = sorted({name for names in named for name in names} & self._tasks.keys())
        held_out = HeldOut(
            initial=await self._shown(self._bench.skill) if self._validates else (),
            candidate=() if self._last is None else await self._shown(self._last[0].skill),
            accepted=None if result is None else result.verdict.accepted,
            reason=self._reason if result is None else result.verdict.reason,
            optimizer_replies=tuple(sorted(set(self._bench.models["optimizer"].heard))),
            ledger=ledger,
            silent=self._answered == {False},
            cited={name: self._tasks[name] for name in cites},
            guidance=self._guidance,
        )
        self._diary.write("held_out.json", held_out)
        return state

    async def _guided(self, state: TrainState, candidate: Candidate, pairs: Sequence[Pair]) -> TrainState:
        before, after = (Document.parse(skill.text).learned for skill in (state.current, candidate.skill))
        guided = await super()._guided(state, candidate, pairs)
        if after is not None and guided.current.hash == candidate.skill.hash != state.current.hash:
            attempts = [attempt for pair in pairs for attempt in (pair.previous, pair.current)]
            self._tasks.update((attempt.id, attempt.task.id) for attempt in attempts)
            self._guidance[after.removeprefix(before or "").strip()] = tuple(attempt.id for attempt in attempts)
        return guided

    def _settled(self, state: TrainState) -> bool:
        """There is nothing left to gain: every validation task is solved, and so was every training task."""
        if state.current_val is None or self._diary.mean(state.current_val) != 1:
            return False
        return all(attempt.solved for attempt in state.earlier.values())

    def _batches(self, epoch: int) -> Iterator[Sequence[Batch]]:
        if epoch > 1:
            yield from super()._batches(epoch)
        else:
            tasks, seed = self._shuffled(epoch)
            yield [Batch(tasks, seed)]

    async def _read(self, state: TrainState, batches: Sequence[Batch]) -> Read:
        """Where attempts at the same task differ, these are read first; where that proposes nothing, the failures."""
        read = await super()._read(state, batches)
        if read.merged.edits or not self._contrasts:
            return read
        self._contrasts = False
        try:
            return await super()._read(state, batches)
        finally:
            self._contrasts = True

    async def _attempt(self, batch: Batch, state: TrainState, trial: int) -> Sequence[Attempt]:
        count, found = self._config.train.attempts, list[Attempt]()
        for number in range(trial * count, (trial + 1) * count):
            found += await self._bench.rollout.batch(
                batch.tasks, state.current, "train", trial=number, step=state.step
            )
        self._tasks.update((attempt.id, attempt.task.id) for attempt in found)
        self._answered.update(bool(attempt.trajectory.answer.strip()) for attempt in found)
        return found

    def _readings(
        self, optimizer: Optimizer, attempts: Sequence[Attempt], context: Context, seed: int
    ) -> list[Reading]:
        settings = self._config.reflect
        if self._contrasts:
            attempts = [attempt for attempt in attempts if attempt.task.id in _differing(attempts)]
            settings = settings.model_copy(update={"mode": "deep", "failure_only": True})
        return readings(optimizer, attempts, context, settings, seed)

    async def _try(
        self, state: TrainState, candidate: Candidate, place: str, *, gate: GateSection, why_not: str = ""
    ) -> TrainState:
        if self._validates:
            return await super()._try(state, candidate, place, gate=gate, why_not=why_not)
        limit = self._config.skill.max_tokens
        skipped = why_not or reason_not_to_evaluate(candidate.skill, state.current, state.rejected_texts, limit)
        self._diary.made(place, state, candidate, skipped)
        verdict = None if skipped else Verdict(accepted=True, reason="accepted without validation")
        before, state = state, after_verdict(state, candidate, verdict)
        if verdict is not None:
            state = state.model_copy(update={"current": candidate.skill, "best": candidate.skill})
        self._told(
            place, (before, state), candidate, None if verdict is None else GateResult(verdict=verdict), skipped
        )
        return state

    def _told(
        self,
        place: str,
        states: tuple[TrainState, TrainState],
        candidate: Candidate,
        result: GateResult | None,
        skipped: str,
    ) -> None:
        if result is not None and self._validates:
            self._last = candidate, result
        self._reason = skipped if result is None else result.verdict.reason
        super()._told(place, states, candidate, result, skipped)

    async def _shown(self, skill: Skill) -> tuple[Shown, ...]:
        """The attempts at validation tasks under a skill, which are known."""
        found: dict[int, Shown] = {}
        async with aclosing(self._bench.rollout.stream(self._bench.tasks["val"], skill, "val")) as attempts:
            async for index, attempt in attempts:
                found[index] = _shown(attempt)
                self._answered.add(bool(attempt.trajectory.answer.strip()))
        return tuple(found[index] for index in sorted(found))


def _differing(attempts: Sequence[Attempt]) -> set[str]:
    """Tasks of which one attempt came out better than another."""
    values: dict[str, set[float]] = {}
    for attempt in attempts:
        if attempt.score is not None:
            values.setdefault(attempt.task.id, set()).add(attempt.score.soft)
    return {task for task, seen in values.items() if len(seen) > 1}


def _shown(attempt: Attempt) -> Shown:
    score = attempt.score
    return Shown(
        task=attempt.task.id,
        outcome=attempt.outcome,
        hard=None if score is None else score.hard,
        soft=None if score is None else score.soft,
        why=attempt.reason or ("" if score is None else score.feedback),
        response=attempt.trajectory.answer[:_SHOWN],
    )
