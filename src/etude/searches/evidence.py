"""`evidence`: edits are tested on the failures they cite; validation is spent on the report only."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import ClassVar

from pydantic import Field

from etude.concurrency import together
from etude.config import another_trial_tells
from etude.records import AppliedEdit, Attempt, Candidate, Edit, GateResult, LeftOut, Task, TrainState, Verdict
from etude.searches.hand_out import MOST_MORE, RIVALS, validated
from etude.searches.search import Known, Most, Search, SearchOptions
from etude.searches.undo import attempted_again, audited, looking_back, most_undone, without_harm, without_hidden_harm
from etude.skill import apply_edit, revised, token_count
from etude.stages.proof import SET_TRIES, prove
from etude.stages.reflect import Context, Minibatches, Reflection, after_reflection, analyses, is_silent
from etude.stages.shared.attribution import MOST as ATTRIBUTED
from etude.stages.shared.contest import ADDITION
from etude.stages.shared.copies import Copies, names_one
from etude.stages.shared.history import measured, noted
from etude.stages.shared.jury import BREAKS
from etude.stages.shared.proof_data import ProofInput
from etude.stages.shared.proposals import unite
from etude.stages.state import after_rollout, after_verdict, moved_on
from etude.workbench import Workbench

_PROPOSED = 6
"""Most edits that one analysis may propose."""
_READINGS = 2
"""Analyses of the same failures, in another order each: what one misses the other finds. A second one is worth .01 to
.09 of score; a third hardly anything."""
_KNOWN_REPEATS, _STEADY, _SAMPLED = 16, 0.12, 2
"""Once so many tasks were repeated, and fewer than this share of failures pass then, a step repeats so many only."""
_PATIENCE = 12
"""Steps in a row that change nothing after which an audit follows and, where it takes nothing back, the end. After
eight, a noisy run sometimes ends at half of what it can reach; later ones find nothing more."""
_IDLE, _AT_FIRST = 4, 8
"""Steps in a row that change nothing before the search ends, unless none failed, and before anything has entered. On
few tasks an epoch is one step: after two, a third of the runs on four tasks had found half of the rules; after four,
half of the runs on tasks that need three rules at once nothing, by an optimizer half of whose edits do nothing."""
_FRESH = 1_000
"""With `train.fresh_attempts`, the trials of an epoch begin with so many for each epoch before."""


class EvidenceOptions(SearchOptions):
    """Options of `search.policy: evidence`."""

    failures: int = Field(default=8, ge=1)
    """Failed attempts that a step looks for. It begins with twice as many attempts at once."""
    edits: int = Field(default=12, ge=1)
    """Most edits tested in a step, the most cited ones."""
    revisits: int = Field(default=24, ge=0)
    """This many of the training tasks that were solved when last attempted are attempted again in each later epoch,
    in addition to all others. Of several targets each has its share of them."""


class EvidenceSearch(Search):
    """A step collects failures, has edits proposed for them, and keeps those that are shown to help."""

    options_type: ClassVar[type[SearchOptions]] = EvidenceOptions
    edits_files = True

    def __init__(self, bench: Workbench, options: EvidenceOptions) -> None:
        super().__init__(bench, options)
        self._options = options
        self._copies = Copies(bench.golds, bench.tasks["train"])

    @classmethod
    def most(cls, known: Known, options: EvidenceOptions) -> Most:
        """All tasks fail in each epoch and are repeated, and each edit has all its attempts."""
        tasks, val, epochs = known.tasks["train"], known.tasks["val"], known.config.train.epochs
        visits, steps = epochs * tasks, epochs * (tasks // options.failures + 1)
        # For each edit its contest, an attempt without it, and its part in a set; a set, with its edits and without.
        contests = steps * (options.edits * (ADDITION.most + 2) + ADDITION.most + 2 * SET_TRIES)
        # For each task the questions which edits it needs, and what these then show.
        needed = 2 + ATTRIBUTED + 2 * SET_TRIES
        proof = visits * (1 + options.edits + needed) + contests
        tidy = most_undone(steps, epochs, options.edits, len(known.config.targets))
        asked = 2 * _READINGS * steps  # each may be asked once more for citations
        return Most(2 * visits + proof + tidy + (6 + RIVALS) * val + MOST_MORE, asked)

    async def epoch(self, state: TrainState, epoch: int) -> AsyncGenerator[TrainState, None]:
        state, (shuffled, seed) = state.model_copy(update={"epoch": epoch}), self._shuffled(epoch)
        tasks = self._worth_a_visit(state, shuffled)
        while tasks and state.idle < _PATIENCE:
            if state.step in state.skills:
                tasks = looking_back(self._bench, state, tasks)
            begun = state.model_copy(update={"step": state.step + 1})
            attempts, tasks = await self._collect(begun, tasks)
            state = await self._step(after_rollout(begun, attempts), attempts, begun.earlier, seed)
            yield state
            undone = await without_harm(self._bench, self.log, state)
            if undone.step != state.step:
                yield undone
            state = undone
        state = await without_hidden_harm(self._bench, self.log, state)
        if state.idle >= _PATIENCE:
            state = await audited(self._bench, self.log, state)
        yield state

    def gives_up(self, state: TrainState, idle: int) -> bool:
        # One of several targets may want a rule by which another loses: a second epoch like this finds little more.
        if len(self._config.targets) > 1 and state.skills:
            return idle >= 1 and state.epoch >= len(self._config.targets)
        return idle >= 2 and not 0 < state.idle < (_IDLE if state.skills else _AT_FIRST)

    async def finish(self, state: TrainState) -> TrainState:
        return await validated(self._bench, self.log, await audited(self._bench, self.log, state))

    def _worth_a_visit(self, state: TrainState, tasks: Sequence[Task]) -> list[Task]:
        """What may fail: tasks that nobody has tried or that failed last time, and a sample of those that were
        solved, which tells when an edit has broken them."""
        solved = [task.id for task in tasks if task.id in state.earlier and state.earlier[task.id].solved]
        revisits = self._options.revisits // max(1, len(self._config.targets))  # a task is for one of them
        left_out = set(solved[revisits:])
        return [task for task in tasks if task.id not in left_out]

    async def _collect(self, state: TrainState, tasks: Sequence[Task]) -> tuple[list[Attempt], list[Task]]:
        """Attempt tasks in their order, in waves, until enough have failed. What is left of the tasks is for the
        next steps.

        A wave is as long as the failures that are missing make likely (one of two, before anything is seen), so that
        what is attempted depends on outcomes and not on the order in which they came."""
        wanted, left = self._options.failures, list(tasks)
        attempts: list[Attempt] = []
        failed = 0
        self.log.begin("rollout", state.step, state.epoch, min(len(tasks), 2 * wanted))
        while left and failed < wanted:
            rate = (1 + failed) / (2 + len(attempts))
            width = max(1, round((wanted - failed) / rate))
            wave, left = left[:width], left[width:]
            known = {task.id: attempt for task in wave if (attempt := self._known(state, task)) is not None}
            attempts += await self._bench.rollout.batch(
                wave, state.current, "train", trial=self._trial(state), step=state.step, known=known
            )
            failed = sum(map(_failed, attempts))
        self.log.attempted(state, attempts, f"{failed} of {len(attempts)} failed")
        return attempts, left

    def _known(self, state: TrainState, task: Task) -> Attempt | None:
        """The attempt at a task that would not be made again."""
        attempt = state.earlier.get(task.id)
        holds = attempt and attempt.skill_hash == state.current.hash and attempt.trial >= self._trial(state)
        return attempt if holds else None

    async def _step(
        self, state: TrainState, attempts: Sequence[Attempt], earlier: Mapping[str, Attempt], seed: int
    ) -> TrainState:
        """Learn from attempts; `earlier` are the ones before them, by task."""
        place = f"steps/{state.step:04d}"
        state = noted(state, attempts, measured(state, self._config.gate), state.step - 1)
        failures = [attempt for attempt in attempts if _failed(attempt)]
        if not failures:
            return self._skip(state, place, "no attempt failed")
        state = await self._repeated(state, failures)
        lapses = [one.id for one in failures if state.history[one.task.id].solved]
        failures = [one for one in failures if one.id not in lapses]
        if not failures:
            return self._skip(_idle(state), place, "what failed passed when it was tried again")
        read = [one for one in attempts if one.id not in lapses]
        reflections = await self._read(state, read, earlier, seed + 100 * state.step)
        edits, left_out = self._testable(state, reflections, failures)
        unusable = left_out[0].why if left_out and not edits and all(one.faulty for one in left_out) else ""
        state = after_reflection(state, reflections, unusable)
        self.log.write(f"{place}/selected.json", {"edits": edits, "left_out": left_out})
        if not edits:
            silent = "the optimizer gave no usable answer" if is_silent(reflections) else ""
            return self._skip(_idle(state), place, silent or (left_out[0].why if left_out else "no edit to test"))
        return await self._prove(state, place, edits, failures)

    async def _repeated(self, state: TrainState, failures: Sequence[Attempt]) -> TrainState:
        """Attempt failed tasks once more with the same skill: those that pass then need no edit, and how many do says
        how noisy attempts are. Once that is known to be little, two of a step are enough to notice a change."""
        once = [one for one in failures if state.history[one.task.id].trials == one.trial + 1]
        tell = [one for one in once if another_trial_tells(self._config, one.task)]
        repeated = sum(one.trials > 1 for one in state.history.values())
        if repeated >= _KNOWN_REPEATS and measured(state, self._config.gate).noise.regained < _STEADY:
            tell = tell[:_SAMPLED]
        state, made = await attempted_again(self._bench, state, [one.task for one in tell], state.step - 1)
        return state.model_copy(update={"earlier": state.earlier | {one.task.id: one for one in made if one.solved}})

    async def _read(
        self, state: TrainState, attempts: Sequence[Attempt], earlier: Mapping[str, Attempt], seed: int
    ) -> list[Reflection]:
        self.log.begin("reflect", state.step, state.epoch)
        size = max(1, sum(map(_failed, attempts)))  # one analysis sees all failures, so edits can cite several
        told, before = self._bench.told, state.tallies[:-1]
        context = Context(state.current, _PROPOSED, state.ledger, earlier, told=told, tallies=before)
        optimizer = self._bench.optimizer()
        readings = [
            analyses(optimizer, attempts, context, self._config.reflect, Minibatches(size, seed + number, True))
            for number in range(_READINGS)
        ]
        reflections = await together(analysis.reflection for reading in readings for analysis in reading)
        self.log.write(f"steps/{state.step:04d}/patches.json", reflections)
        self.log.reflected(state.step, reflections)
        return reflections

    def _testable(
        self, state: TrainState, reflections: Sequence[Reflection], failures: Sequence[Attempt]
    ) -> tuple[list[Edit], list[LeftOut]]:
        """The edits to test, the most cited ones, in the order in which they were proposed; and those that are left
        out with the reason."""
        skill = state.current
        # An edit is tested as it was proposed. No form tells a list of rules from the steps of an example or of a
        # procedure, which do nothing alone: whoever wrote it knows, and is asked for one thing in each edit.
        edits = unite([edit for reflection in reflections for edit in reflection.patch.edits])
        names = [name for attempt in failures for name in (attempt.id, attempt.task.own_id)]
        read = [reflection.attempts for reflection in reflections]
        kept: list[tuple[int, Edit]] = []
        left_out: list[LeftOut] = []
        for place, edit in sorted(enumerate(edits), key=lambda numbered: -numbered[1].support):
            _, applied = apply_edit(skill.text, edit)
            edit, copies = self._copies.spoken_for(edit, failures, read, skill.text)
            why = names_one(edit, names) or copies
            if applied.fate != "applied":
                why = f"{applied.fate}: {applied.detail}"
            limit = ""
            if any(one.edit.reason == BREAKS and one.edit.target == edit.content for one in state.ledger):
                limit = "it was taken back, since it broke tasks"
            elif len(kept) == self._options.edits:
                limit = f"more than search.edits = {self._options.edits}"
            elif token_count(revised(skill, [*(one for _, one in kept), edit]).text) > self._config.skill.max_tokens:
                limit = f"the skill would be longer than skill.max_tokens = {self._config.skill.max_tokens}"
            if why or limit:
                faulty = bool(why) and applied.fate != "no_change"
                left_out.append(LeftOut(edit=edit, why=why or limit, faulty=faulty))
            else:
                kept.append((place, edit))
        return [edit for _, edit in sorted(kept, key=lambda numbered: numbered[0])], left_out

    async def _prove(
        self, state: TrainState, place: str, edits: Sequence[Edit], failures: Sequence[Attempt]
    ) -> TrainState:
        """Keep the edits that are shown to help."""
        bench, log, before = self._bench, self.log, state
        log.begin("proof", state.step, state.epoch)
        measure = measured(state, self._config.gate)
        trial = ProofInput(
            state.current,
            edits,
            failures,
            state.history,
            measure,
            helpful=state.helpful,
            copied={n: self._copies.copied(e, state.current.text) for n, e in enumerate(edits)},
            repeats=partial(another_trial_tells, self._config),
        )
        proved = await prove(bench.rollout, trial, state.step)
        log.write(f"{place}/proof.json", proved.proof)
        log.end("proof", state.step, proved.proof.reason)
        # Where none stays the candidate is what was tested: all of them.
        candidate = Candidate(
            skill=trial.variant(proved.kept or range(len(edits))),
            origin="step",
            edits=tuple(
                AppliedEdit(edit=one.edit, fate="applied" if one.kept else "dropped", detail=one.why(one.kept))
                for one in proved.proof.edits
            ),
        )
        log.made(place, state, candidate, "")
        verdict = Verdict(accepted=proved.proof.accepted, reason=proved.proof.reason, tasks=proved.tasks)
        needed = {one.edit.id: one.needed for one in proved.proof.edits if one.kept}
        state = after_verdict(state, candidate, verdict, needed).voided(proved.tried)
        known = {attempt.task.id: attempt for attempt in proved.attempts if attempt.score is not None}
        state = state.model_copy(update={"earlier": state.earlier | known, "helpful": proved.helpful})
        state = moved_on(state, candidate.skill) if proved.proof.accepted else _idle(state)
        shown = proved.attempts or [one for one in proved.tried if one.skill_hash == state.current.hash]
        state = noted(state, sorted(shown, key=lambda attempt: attempt.trial), measure, state.step)
        log.changes.tried(proved.tried, proved.proof)
        log.decided(place, (before, state), candidate, GateResult(verdict=verdict), "")
        return state

    def _skip(self, state: TrainState, place: str, why: str) -> TrainState:
        """There is nothing to test."""
        candidate = Candidate(skill=state.current, origin="step")
        self.log.made(place, state, candidate, why)
        after = state.model_copy(update={"skipped": state.skipped + 1})
        self.log.decided(place, (state, after), candidate, None, why)
        return after

    def _trial(self, state: TrainState) -> int:
        return _FRESH * (state.epoch - 1) if self._config.train.fresh_attempts else 0


def _idle(state: TrainState) -> TrainState:
    return state.model_copy(update={"idle": state.idle + 1})


def _failed(attempt: Attempt) -> bool:
    return attempt.score is not None and not attempt.solved
