"""`evidence`: edits are tested on the failures they cite; validation is spent on the report only."""

import random
from collections.abc import AsyncGenerator, Mapping, Sequence, Set
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from etude.config import TrainConfig
from etude.errors import ConfigError
from etude.records import AppliedEdit, Attempt, Candidate, Edit, EditEvidence, Skill, Task, TrainState, Verdict
from etude.searches.base import Search, SearchOptions
from etude.searches.ending import tidied, validated
from etude.searches.epochs import end_epoch
from etude.searches.evidence_forecast import evidence_forecast
from etude.searches.forecast import Known, StageWork
from etude.skill import apply_edit, apply_edits, token_count
from etude.stages.aggregate import unite
from etude.stages.gate import GateResult
from etude.stages.proof import ProofInput, Variant, prove
from etude.stages.reflect import Context, Reflection, after_reflection, is_silent, reflect
from etude.stages.shared.golds import Golds
from etude.stages.shared.longitudinal import Pair
from etude.stages.shared.statements import LeftOut, carries, own_runs, single_statements
from etude.stages.state import after_proof, after_rollout
from etude.workbench import Workbench

_PROPOSED = 6
"""Most edits that one analysis may propose."""
_LARGEST = 64
"""Times that a step may be as large as the first: of its edits only `search.edits` are tested."""
_SHARE = 128
"""Of so many tasks at least one is attempted at once, up to as many as the failures of the largest step."""
_WITNESSES = 8
"""Solved training tasks that have to stay solved for a deletion that fixes nothing itself."""

Origin = Literal["step", "slow_update"]


class EvidenceOptions(SearchOptions):
    """Options of `search.policy: evidence`."""

    failures: int = Field(default=4, ge=1)
    """Failed attempts that a step looks for, among no more tasks than `train.batch_size` says. It begins with twice
    as many attempts at once, the first step of an epoch with as many as the slots allow. It learns from no more than
    twice as many failures; the next step continues with the others, and the tasks that are left of the epoch. After
    two steps in a row that change nothing, each next step is twice as large, up to 64 times the first, until one
    changes the skill."""
    edits: int = Field(default=12, ge=1)
    """Most edits tested in a step, the most cited ones."""
    revisits: int = Field(default=48, ge=0)
    """This many of the training tasks that were solved when last attempted are attempted again in each later epoch,
    in addition to all others. Of several targets each has its share of them."""

    def revisits_of(self, config: TrainConfig) -> int:
        """Solved tasks that an epoch attempts again: it attempts each task with one of several targets only."""
        return self.revisits // max(1, len(config.targets))


class Proposed(NamedTuple):
    """Edits, and how skills are made of some of them."""

    edits: Sequence[Edit]
    variant: Variant
    origin: Origin = "step"

    def candidate(self, kept: Sequence[int], evidence: Sequence[EditEvidence]) -> Candidate:
        """With the fates of the edits and why. Where none stays it is what was tested: all of them."""
        everything = range(len(self.edits))
        return Candidate(
            skill=self.variant(kept or everything),
            origin=self.origin,
            edits=tuple(
                AppliedEdit(
                    edit=one.edit, fate="applied" if number in kept else "dropped", detail=one.why(number in kept)
                )
                for number, one in enumerate(evidence)
            ),
        )


class EvidenceSearch(Search):
    """A step collects failures, has edits proposed for them, and keeps them where they are seen to fix one."""

    options_type: ClassVar[type[SearchOptions]] = EvidenceOptions
    ignores: ClassVar[frozenset[str]] = frozenset(
        {
            "aggregate",
            "gate.enabled",
            "gate.no_regression",
            "gate.racing",
            "gate.remeasure",
            "reflect.appendix_limit",
            "reflect.failure_only",
            "select",
            "slow_update.gate",
            "train.attempts",
            "update.repair",
        }
    )

    def __init__(self, bench: Workbench, options: EvidenceOptions) -> None:
        super().__init__(bench, options)
        self._options = options
        tasks = len(bench.tasks["train"]) // max(1, len(bench.config.targets))
        self._least = min(tasks // _SHARE, _LARGEST * options.failures)
        self._golds = Golds(bench.tasks["train"])
        self._runs = own_runs(bench.tasks["train"])

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        whole = f"update.mode = {config.update.mode!r}" if config.update.mode != "patch" else ""
        whole = whole or ("reflect.skill_aware = true" if config.reflect.skill_aware else "")
        if whole:
            raise ConfigError(
                f"{whole} does not go with search.policy = 'evidence', which tests edits in place one by one",
                hint="set search.policy: paper",
            )

    @classmethod
    def forecast(cls, known: Known, options: EvidenceOptions) -> tuple[StageWork, ...]:
        most = max(2 * options.failures, known.tasks["train"] // _SHARE)
        return evidence_forecast(known, options.failures, most, options.revisits_of(known.config), _WITNESSES)

    async def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        shuffled, seed = self._shuffled(epoch)
        tasks = self._worth_a_visit(state.model_copy(update={"epoch": epoch}), shuffled)
        width, unchanged = self._bench.slots, 0
        left: dict[str, Attempt | None] = {}
        """Tasks of which a step did not read the failure, with the attempt before it."""
        while tasks:
            begun = state.model_copy(update={"step": state.step + 1, "epoch": epoch})
            # Steps have to wait for each other only where one changes the skill: else the next may be larger.
            times = min(_LARGEST, 2 ** max(0, unchanged - 1))
            attempts = await self._collect(begun, tasks, times, width, left.keys())
            most = max(2 * times * self._options.failures, self._least)
            unread = {attempt.task.id for attempt in list(filter(_failed, attempts))[most:]}
            tasks = [task for task in tasks[: len(attempts)] if task.id in unread] + tasks[len(attempts) :]
            read = [attempt for attempt in attempts if attempt.task.id not in unread]
            earlier = begun.earlier | {name: attempt for name, attempt in left.items() if attempt is not None}
            left = {name: begun.earlier.get(name) for name in unread} | left
            width = 0
            state = await self._step(after_rollout(begun, attempts), read, earlier, seed)
            changed = state.current.hash != begun.current.hash
            # Steps do not grow where the optimizer gives no usable answers: that is to be found out early.
            unchanged = 0 if changed else unchanged + (not state.silent_steps)
            yield state

        async def proved(state: TrainState, candidate: Candidate, pairs: Sequence[Pair]) -> TrainState:
            failures = [pair.current for pair in pairs if not pair.current.solved]
            if not failures:
                return self._skip(state, f"epochs/{epoch:02d}", "no compared task fails", origin="slow_update")
            guidance = Edit(op="rewrite", content=candidate.skill.text, cites=tuple(a.id for a in failures))

            def variant(numbers: Sequence[int]) -> Skill:
                return candidate.skill if numbers else state.current

            return await self._prove(
                state, f"epochs/{epoch:02d}", Proposed([guidance], variant, "slow_update"), failures
            )

        yield await end_epoch(self._bench, self.log, state, epoch, proved)

    def gives_up(self, epoch: int, idle: int) -> bool:
        # Of several targets, some fail tasks in each epoch for want of a rule by which another would do worse: a
        # second epoch like this costs more than it finds.
        targets = len(self._config.targets)
        return idle >= (1 if targets > 1 else 2) and epoch >= targets

    async def finish(self, state: TrainState) -> TrainState:
        return await validated(self._bench, self.log, await tidied(self._bench, self.log, state))

    def _worth_a_visit(self, state: TrainState, tasks: Sequence[Task]) -> list[Task]:
        """What may fail: tasks that nobody has tried or that failed last time, and a sample of those that were
        solved, which tells when an edit has broken them. Those whose outcome is known go last: they need no slot."""
        solved = [task.id for task in tasks if task.id in state.earlier and state.earlier[task.id].solved]
        left_out = set(solved[self._options.revisits_of(self._config) :])
        visited = (task for task in tasks if task.id not in left_out)
        return sorted(visited, key=lambda task: self._known(state, task) is not None)

    async def _collect(
        self, state: TrainState, tasks: Sequence[Task], times: int, width: int, left: Set[str]
    ) -> list[Attempt]:
        """Attempt tasks in their order, in waves, until enough have failed, or some of a batch; the next step goes on
        with the others. A step may be several times as large as the first.

        The first wave makes at least `width` attempts where there are as many tasks. Any other is as long as the
        failures that are missing make likely (one of two, before anything is seen), so that what is attempted depends
        on outcomes and not on the order in which they came. `left` are tasks that an earlier step left.
        """
        wanted, size, trial = times * self._options.failures, max(times * self._size, self._least), self._trial(state)
        attempts: list[Attempt] = []
        failed = 0
        tried: list[bool] = []
        self.log.begin("rollout", state.step, state.epoch, min(len(tasks), max(size, width)))
        while len(attempts) < len(tasks) and failed < wanted and not (failed and len(attempts) >= size):
            rate = (1 + sum(tried)) / (2 + len(tried))
            room = size - len(attempts) if len(attempts) < size else len(tasks)
            least = 0 if attempts else width, max(wanted, self._least)
            wave = self._wave(state, tasks[len(attempts) :], room, least, wanted - failed, rate)
            known = {task.id: attempt for task in wave if (attempt := self._known(state, task)) is not None}
            found = await self._bench.rollout.batch(
                wave, state.current, "train", trial=trial, step=state.step, known=known
            )
            tried += [_failed(attempt) for attempt in found if attempt.task.id not in known]
            failed += sum(map(_failed, found))
            attempts += found
        self.log.attempted(state, attempts, f"{failed} of {len(attempts)} failed", left)
        return attempts

    def _wave(
        self, state: TrainState, tasks: Sequence[Task], room: int, least: tuple[int, int], missing: int, rate: float
    ) -> list[Task]:
        """The first tasks, as many as there is room for, or as bring the failures that are missing if those that are
        attempted fail at this rate.

        Args:
            least: attempts that are made in any case; and those that are made unless known failures are enough: a
                wave takes as long as one attempt, however short it is.
        """
        width, others_at_least = least
        wave: list[Task] = []
        others = 0
        for task in tasks:
            wave.append(task)
            known = self._known(state, task)
            others += known is None
            missing -= known is not None and _failed(known)
            enough = missing <= 0 or others >= max(others_at_least, round(missing / rate))
            if (known is not None or others >= width) and (enough or len(wave) >= room):
                break
        return wave

    def _known(self, state: TrainState, task: Task) -> Attempt | None:
        """The attempt at a task that would not be made again."""
        attempt = state.earlier.get(task.id)
        same = attempt is not None and (attempt.skill_hash, attempt.trial) == (state.current.hash, self._trial(state))
        return attempt if same else None

    async def _step(
        self, state: TrainState, attempts: Sequence[Attempt], earlier: Mapping[str, Attempt], seed: int
    ) -> TrainState:
        """Learn from attempts; `earlier` are the ones before them, by task."""
        place = f"steps/{state.step:04d}"
        failures = [attempt for attempt in attempts if _failed(attempt)]
        if not failures:
            return self._skip(state, place, "no attempt failed")
        reflections = await self._read(state, attempts, earlier, seed + 100 * state.step)
        edits, left_out = self._testable(state, reflections, failures)
        unusable = left_out[0].why if left_out and not edits and all(one.faulty for one in left_out) else ""
        state = after_reflection(state, reflections, unusable)
        self.log.write(f"{place}/selected.json", {"edits": edits, "left_out": left_out})
        if not edits:
            silent = is_silent(reflections)
            return self._skip(state, place, "the optimizer gave no usable answer" if silent else "no edit to test")

        def variant(numbers: Sequence[int]) -> Skill:
            return _revised(state.current, [edits[number] for number in numbers])

        return await self._prove(state, place, Proposed(edits, variant), failures)

    async def _read(
        self, state: TrainState, attempts: Sequence[Attempt], earlier: Mapping[str, Attempt], seed: int
    ) -> list[Reflection]:
        self.log.begin("reflect", state.step, state.epoch)
        settings = self._config.reflect.model_copy(update={"failure_only": True})
        told, before = self._bench.told, state.tallies[:-1]
        context = Context(state.current, _PROPOSED, state.ledger, earlier, told=told, tallies=before)
        reflections = await reflect(self._bench.optimizer(state.meta_skill), attempts, context, settings, seed)
        self.log.write(f"steps/{state.step:04d}/patches.json", reflections)
        self.log.reflected(state.step, reflections)
        return list(reflections)

    def _testable(
        self, state: TrainState, reflections: Sequence[Reflection], failures: Sequence[Attempt]
    ) -> tuple[list[Edit], list[LeftOut]]:
        """The edits to test, the most cited ones first, and those that are left out with the reason."""
        skill = state.current
        proposed = [edit for reflection in reflections for edit in reflection.patch.edits]
        edits = unite([part for edit in proposed for part in single_statements(edit)])
        names = [name for attempt in failures for name in (attempt.id, attempt.task.id)]
        kept: list[Edit] = []
        left_out: list[LeftOut] = []
        for edit in sorted(edits, key=lambda edit: -edit.support):
            _, applied = apply_edit(skill.text, edit)
            copied = self._golds.copied(edit.content, skill.text)
            theirs = {attempt.id for attempt in failures if attempt.task.id in copied}
            why = carries(edit, self._runs, names)
            if theirs.issuperset(edit.cites):
                why = why or self._golds.why(edit.content, skill.text)
            # A task whose answer it holds cannot speak for it.
            edit = edit.model_copy(update={"cites": tuple(cite for cite in edit.cites if cite not in theirs)})
            if applied.fate != "applied":
                why = f"{applied.fate}: {applied.detail}"
            limit = ""
            if len(kept) == self._options.edits:
                limit = f"more than search.edits = {self._options.edits}"
            elif token_count(_revised(skill, [*kept, edit]).text) > self._config.skill.max_tokens:
                limit = f"the skill would be longer than skill.max_tokens = {self._config.skill.max_tokens}"
            if why or limit:
                faulty = bool(why) and applied.fate != "no_change"
                left_out.append(LeftOut(edit=edit, why=why or limit, faulty=faulty))
            else:
                kept.append(edit)
        return kept, left_out

    async def _prove(
        self, state: TrainState, place: str, proposed: Proposed, failures: Sequence[Attempt]
    ) -> TrainState:
        """Keep the edits where they are seen to fix a failure."""
        bench, log, before = self._bench, self.log, state
        log.begin("proof", state.step, state.epoch)
        deletes = any(edit.op == "delete" for edit in proposed.edits)

        trial = ProofInput(
            proposed.edits,
            proposed.variant,
            failures,
            witnesses=self._solved(state, failures)[:_WITNESSES] if deletes else (),
            copied={n: self._golds.copied(e.content, state.current.text) for n, e in enumerate(proposed.edits)},
        )
        proved = await prove(bench.rollout, trial, self._config.gate, state.step)
        log.write(f"{place}/proof.json", proved.proof)
        log.end("proof", state.step, proved.proof.reason)
        candidate = proposed.candidate(proved.kept, proved.proof.edits)
        log.made(place, state, candidate, "")
        state = after_proof(state, proved.proof, proved.attempts)
        if proved.proof.accepted:
            state = state.model_copy(update={"current": candidate.skill, "best": candidate.skill})
        verdict = Verdict(accepted=proved.proof.accepted, reason=proved.proof.reason, tasks=proved.tasks)
        log.changes.tried(proved.tried, proved.proof)
        log.decided(place, (before, state), candidate, GateResult(verdict=verdict), "")
        return state

    def _skip(self, state: TrainState, place: str, why: str, origin: Origin = "step") -> TrainState:
        """There is nothing to test."""
        candidate = Candidate(skill=state.current, origin=origin)
        self.log.made(place, state, candidate, why)
        after = state.model_copy(update={"skipped": state.skipped + 1})
        self.log.decided(place, (state, after), candidate, None, why)
        return after

    def _solved(self, state: TrainState, failures: Sequence[Attempt]) -> list[Attempt]:
        """Attempts that solved their task when it was last attempted, in random order."""
        failed = {attempt.task.id for attempt in failures}
        solved = [a for name, a in sorted(state.earlier.items()) if a.solved and name not in failed]
        random.Random(self._config.train.seed + state.step).shuffle(solved)
        return solved

    def _trial(self, state: TrainState) -> int:
        return state.epoch - 1 if self._config.train.fresh_attempts else 0


def _failed(attempt: Attempt) -> bool:
    return attempt.score is not None and not attempt.solved


def _revised(skill: Skill, edits: Sequence[Edit]) -> Skill:
    return skill.with_text(apply_edits(skill.text, edits)[0])
