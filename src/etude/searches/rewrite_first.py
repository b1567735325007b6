"""`rewrite_first`: the skill written anew once, from all failures; edits in place where that does not suffice.

For few tasks and a plain flaw: there a single rewrite does what the whole loop does (gbrain-evals `skillopt-v1`, its
ablation), so it is tried before anything else is paid for.
"""

from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import aclosing
from typing import NamedTuple

from pydantic import Field

from etude.config import GateSection, ReflectSection
from etude.records import Attempt, Candidate, Evaluation, LedgerEntry, Record, Skill, TrainState, Verdict
from etude.searches.epochs import end_epoch
from etude.searches.forecast import Known, Work
from etude.searches.paper import Batch, PaperSearch, Proposal, Rolled
from etude.searches.paper_forecast import rewrite_first_work
from etude.skill import Document, token_count
from etude.stages.gate import GateResult
from etude.stages.longitudinal import Pair
from etude.stages.update_modes import UPDATE_MODES
from etude.workbench import Workbench

__all__ = ["HeldOut", "RewriteFirstSearch", "Shown"]

_SHOWN = 2_000
"""Characters of a response that the view of held-out tasks has."""
_REPLIES = 64
"""Most replies of the optimizer that it has."""


class Shown(Record):
    """An attempt at a held-out task, as a person wants to see it."""

    task: str
    outcome: str
    hard: float | None
    soft: float | None
    why: str
    """Feedback of the scorer, or the reason why there is no score."""
    response: str
    tokens: int = 0
    """Output tokens, as billed or estimated; 0 where nobody counted them."""


_VOID = Shown(
    task="", outcome="void", hard=None, soft=None, why="the attempt errored; events.jsonl says why", response=""
)


class HeldOut(Record):
    """What was seen on validation, and what the optimizer said: `held_out.json` in the run folder."""

    initial: tuple[Shown, ...]
    candidate: tuple[Shown, ...]
    """Under the candidate that the search ends with, else under the last one that was decided on; empty when there
    was none, or when it lost a race and was not seen in full."""
    candidate_tokens: int | None = None
    """Of the document of that candidate, estimated as characters / 4; None when there was none."""
    saved: int = 0
    """How many tokens, of the document and a mean answer together, an accepted candidate has less than the first
    skill that scores the same on every task (`gate.shorter`); 0 where it scores higher."""
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
    """The task of each attempt that is named in `ledger` and `guidance`."""
    guidance: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """What the slow update added to a learned block, and was accepted, with the attempts that it compared."""


class RewriteFirstSearch(PaperSearch):
    """Its first epoch is one step with all training tasks and makes a whole new document. Later ones are those of
    `paper`, until validation is solved: the gate could accept nothing more.

    With `gate.enabled: false`, or without validation tasks, nothing is evaluated and every change is accepted, until
    every training task is solved.
    """

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench)
        self._validates = bench.config.gate.enabled and bool(bench.tasks["val"])
        self._tries = bench.config.train.attempts
        self._last: tuple[Candidate, GateResult] | None = None
        self._reason = "every validation task is solved already"
        self._tasks: dict[str, str] = {}
        self._open: tuple[str, frozenset[str]] = ("", frozenset())
        """Hash of the skill that was attempted last, and ids of the training tasks whose latest attempts do not all
        solve them under it."""
        self._answered: set[bool] = set()
        self._guidance: dict[str, tuple[str, ...]] = {}
        self._heard: set[str] = set()
        """What the optimizer said since the last candidate."""
        self._replies: dict[str, None] = {}
        self._tokens: dict[str, float] = {}
        """By hash, of a skill that was told from another one by it: those of the document and a mean answer."""
        bench.models["optimizer"].hear = self._heard.add

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
        self._use(UPDATE_MODES[name](self._config))
        for batches in self._batches(epoch):
            if self._settled(state):
                break
            state = state.model_copy(update={"step": state.step + 1, "epoch": epoch})
            state = await self._step(state, await self._read(state, batches))
            yield state
        yield await end_epoch(self._bench, self._diary, state, epoch, self._guided)

    async def finish(self, state: TrainState) -> TrainState:
        decided = self._decided(state)
        self._keep_replies()
        ledger = state.ledger[len(self._bench.past.ledger) :]
        named = [*(entry.edit.cites for entry in ledger), *self._guidance.values()]
        cites = sorted({name for names in named for name in names} & self._tasks.keys())
        held_out = HeldOut(
            initial=await self._shown(self._bench.skill, state.initial_val),
            candidate=() if decided.skill is None else await self._shown(decided.skill, decided.seen),
            candidate_tokens=None if decided.skill is None else token_count(decided.skill.text),
            saved=decided.saved,
            accepted=decided.accepted,
            reason=decided.reason,
            optimizer_replies=tuple(self._replies)[-_REPLIES:],
            ledger=ledger,
            silent=self._answered == {False},
            cited={name: self._tasks[name] for name in cites},
            guidance=self._guidance,
        )
        self._diary.write("held_out.json", held_out)
        return state

    def _decided(self, state: TrainState) -> "_Decided":
        """What the search comes to."""
        if self._validates and state.best.hash != self._bench.skill.hash and state.initial_val and state.best_val:
            before, after = self._diary.mean(state.initial_val), self._diary.mean(state.best_val)
            if before is not None and before == after and state.best.hash in self._tokens:
                saved = self._saved(self._bench.skill, state.best)
                return _Decided(state.best, state.best_val, True, _as_good(saved), saved)
            if before is not None and after is not None:
                return _Decided(state.best, state.best_val, True, f"candidate {after:.4f} > current {before:.4f}")
        if self._last is None:
            return _Decided(None, None, None, self._reason)
        candidate, result = self._last
        return _Decided(candidate.skill, result.evaluation, result.verdict.accepted, result.verdict.reason)

    async def _try(
        self, state: TrainState, candidate: Candidate, place: str, *, gate: GateSection, why_not: str = ""
    ) -> TrainState:
        tried = await super()._try(state, candidate, place, gate=gate, why_not=why_not)
        taken = tried.current.hash != state.current.hash == state.best.hash and tried.current.hash in self._tokens
        current, best = tried.current_val, tried.best_val
        if taken and current is not None and best is not None and self._diary.mean(current) == self._diary.mean(best):
            return tried.model_copy(update={"best": tried.current, "best_val": current})
        return tried

    async def _guided(self, state: TrainState, candidate: Candidate, pairs: Sequence[Pair]) -> TrainState:
        before, after = (Document.parse(skill.text).learned for skill in (state.current, candidate.skill))
        guided = await super()._guided(state, candidate, pairs)
        if after is not None and guided.current.hash == candidate.skill.hash != state.current.hash:
            attempts = [attempt for pair in pairs for attempt in (pair.previous, pair.current)]
            self._tasks.update((attempt.id, attempt.task.id) for attempt in attempts)
            self._guidance[after.removeprefix(before or "").strip()] = tuple(attempt.id for attempt in attempts)
        return guided

    def _settled(self, state: TrainState) -> bool:
        """There is nothing left to gain: every validation task is solved, and only more is accepted; without
        validation every training task, so that nothing is left to learn from."""
        if not self._validates:
            return self._open == (state.current.hash, frozenset())
        return state.current_val is not None and self._diary.mean(state.current_val) == 1

    def _batches(self, epoch: int) -> Iterator[Sequence[Batch]]:
        if epoch > 1:
            yield from super()._batches(epoch)
        else:
            tasks, seed = self._shuffled(epoch)
            yield [Batch(tasks, seed)]

    async def _attempt(self, batch: Batch, state: TrainState) -> Sequence[Attempt]:
        found = await super()._attempt(batch, state)
        known, left = self._open
        if known != state.current.hash:
            left = frozenset(task.id for task in self._bench.tasks["train"])
        failed = {attempt.task.id for attempt in found if not attempt.solved}
        self._open = state.current.hash, (left - {attempt.task.id for attempt in found}) | failed
        self._tasks.update((attempt.id, attempt.task.id) for attempt in found)
        self._answered.update(bool(attempt.trajectory.answer.strip()) for attempt in found)
        return found

    def _to_read(self, attempts: Sequence[Attempt]) -> tuple[Sequence[Attempt], ReflectSection]:
        """Where there are several attempts at each task, those at tasks of which they differ, side by side."""
        settings = self._config.reflect
        if self._tries == 1:
            return attempts, settings
        differing = _differing(attempts)
        settings = settings.model_copy(update={"mode": "deep", "failure_only": True})
        return [attempt for attempt in attempts if attempt.task.id in differing], settings

    async def _propose(self, state: TrainState, rolled: Sequence[Rolled]) -> Proposal:
        """Where reading what differs proposes nothing, the failures are read as they are."""
        first = await super()._propose(state, rolled)
        if first.merged.edits or self._tries == 1:
            return first
        settings = self._config.reflect
        again = [batch._replace(begun=self._begin(state, batch.attempts, settings, batch.seed)) for batch in rolled]
        reflections, merged = await super()._propose(state, again)
        return Proposal([*first.reflections, *reflections], merged)

    async def _verdict(self, state: TrainState, candidate: Candidate, gate: GateSection) -> GateResult:
        if self._validates:
            racing = gate.racing and not gate.shorter  # a race ends where nothing can be won
            result = await super()._verdict(state, candidate, gate.model_copy(update={"racing": racing}))
            return await self._tie(state, candidate, gate, result)
        return GateResult(verdict=Verdict(accepted=True, reason="accepted without validation"))

    async def _tie(
        self, state: TrainState, candidate: Candidate, gate: GateSection, result: GateResult
    ) -> GateResult:
        """The verdict on a candidate that scores the same on every task, where fewer tokens count."""
        old, new = state.current_val, result.evaluation
        if not gate.shorter or not gate.enabled or old is None or new is None or old.voids or new.voids:
            return result
        solved = {task for task, hard in new.values("hard").items() if hard == 1}
        if not solved or any(new.values(metric) != old.values(metric) for metric in ("hard", "soft")):
            return result  # what fails as before may be worse all the same
        before = await self._tokens_of(state.current, old, solved)
        after = await self._tokens_of(candidate.skill, new, solved)
        if after > (1 - gate.shorter) * before:
            return result
        self._tokens |= {state.current.hash: before, candidate.skill.hash: after}
        reason = _as_good(self._saved(state.current, candidate.skill))
        verdict = result.verdict.model_copy(update={"accepted": True, "reason": reason})
        return result.model_copy(update={"verdict": verdict})

    async def _bar(self, state: TrainState, candidate: Candidate, won: Evaluation) -> Evaluation:
        """A tie was not selected for a high score, so there is nothing to measure anew."""
        return won if candidate.skill.hash in self._tokens else await super()._bar(state, candidate, won)

    async def _tokens_of(self, skill: Skill, seen: Evaluation, solved: Collection[str]) -> float:
        """Of the document and a mean answer to the validation tasks that are solved."""
        shown = [one for one in await self._shown(skill, seen) if one.task in solved]
        return token_count(skill.text) + sum(one.tokens for one in shown) / len(shown)

    def _saved(self, before: Skill, after: Skill) -> int:
        return round(self._tokens[before.hash] - self._tokens[after.hash])

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
        self._keep_replies()
        super()._told(place, states, candidate, result, skipped)

    def _keep_replies(self) -> None:
        """In an order that does not depend on which came first."""
        self._replies |= dict.fromkeys(sorted(self._heard))
        self._heard.clear()

    async def _shown(self, skill: Skill, seen: Evaluation | None) -> tuple[Shown, ...]:
        """The attempts behind an evaluation of validation. Those with a score are known; no other is made again."""
        if seen is None:
            return ()
        found = {task.id: _VOID.model_copy(update={"task": task.id}) for task in self._bench.tasks["val"]}
        known = [task for task in self._bench.tasks["val"] if task.id in seen.scores]
        async with aclosing(self._bench.rollout.stream(known, skill, "val")) as attempts:
            async for _, attempt in attempts:
                found[attempt.task.id] = _shown(attempt)
                self._answered.add(bool(attempt.trajectory.answer.strip()))
        return tuple(found.values())


class _Decided(NamedTuple):
    """The candidate that a search ends with, or its last one."""

    skill: Skill | None
    seen: Evaluation | None
    accepted: bool | None
    reason: str
    saved: int = 0


def _as_good(saved: int) -> str:
    return f"same score with {saved:,} fewer tokens"


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
        tokens=attempt.trajectory.usage.output_tokens,
    )
