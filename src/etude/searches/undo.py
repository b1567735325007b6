"""Taking back what does harm: edits by which tasks fail that passed before, during a search and at its end."""

import random

from etude.config import another_trial_tells
from etude.records import AppliedEdit, Attempt, Candidate, GateResult, TrainState, Verdict
from etude.run_log import RunLog, counted
from etude.skill import apply_edits
from etude.stages.harm import find_harm
from etude.stages.shared.history import measured, noted
from etude.stages.shared.rollout import PlannedAttempt
from etude.stages.state import after_verdict
from etude.workbench import Workbench

_AUDITED = 40
"""Solved tasks that are attempted with the finished skill: a line that breaks a tenth of them breaks two or more of
these in 92 of 100 cases."""
_TURNS = 3
"""Times that harm is looked for at the end: one edit at a time is found."""


async def without_harm(bench: Workbench, log: RunLog, state: TrainState) -> TrainState:
    """The state with the edits taken back that are found to do harm, as a step of its own where there are any.

    Raises:
        VoidStop: too many attempts errored.
    """
    measure = measured(state, bench.config.gate)
    tried = [task for task in bench.tasks["train"] if task.id in state.history]
    random.Random(bench.config.train.seed + state.step).shuffle(tried)
    harm = await find_harm(bench.rollout, state, bench.tasks["train"], measure, tried)
    voids = sum(attempt.score is None for attempt in harm.attempts)
    state = state.model_copy(update={"settled": state.settled | harm.settled, "voids": state.voids + voids})
    if not harm.edits:
        return state
    before = state.model_copy(update={"step": state.step + 1})
    skill = state.current.with_text(apply_edits(state.current.text, harm.edits)[0])
    edits = tuple(AppliedEdit(edit=edit, fate="applied", detail=harm.reason) for edit in harm.edits)
    candidate = Candidate(skill=skill, origin="tidy", edits=edits)
    place, verdict = f"steps/{before.step:04d}", Verdict(accepted=True, reason=harm.reason)
    log.begin("tidy", before.step, before.epoch)
    log.end("tidy", before.step, f"took back {counted(len(edits), 'edit')}")
    log.made(place, before, candidate, "")
    log.changes.tried(harm.attempts)
    after = after_verdict(before, candidate, verdict)
    after = after.model_copy(update={"current": skill, "best": skill})
    after = noted(after, [one for one in harm.attempts if one.skill_hash == skill.hash], measure, after.step)
    log.decided(place, (before, after), candidate, GateResult(verdict=verdict), "")
    return after


async def audited(bench: Workbench, log: RunLog, state: TrainState) -> TrainState:
    """At the end, solved tasks are attempted with the finished skill, and those that fail once more; then harm is
    looked for.

    Raises:
        VoidStop: too many attempts errored.
    """
    if state.current.hash == bench.skill.hash:
        return state
    solved = [one.task for _, one in sorted(state.earlier.items()) if one.solved]
    random.Random(bench.config.train.seed).shuffle(solved)
    tasks = [task for task in solved if state.history[task.id].skill != state.current.hash][:_AUDITED]
    log.begin("tidy", state.step, state.epoch, len(tasks))
    state = await _attempted(bench, state, [PlannedAttempt(task, state.current, 0) for task in tasks])
    lost = [task for task in tasks if not state.history[task.id].passed]
    again = [PlannedAttempt(task, state.current, 1) for task in lost if another_trial_tells(bench.config, task)]
    state = await _attempted(bench, state, again)
    log.end("tidy", state.step, f"{len(lost)} of {len(tasks)} solved tasks failed", idle=not lost)
    for _ in range(_TURNS):
        undone = await without_harm(bench, log, state)
        if undone.step == state.step:
            return undone
        state = undone
    return state


async def _attempted(bench: Workbench, state: TrainState, planned: list[PlannedAttempt]) -> TrainState:
    key = {"stage": "audit", "step": state.step, "tries": [[p.task.id, p.trial] for p in planned]}
    made: tuple[Attempt, ...] = await bench.rollout.settle(planned, "train", key) if planned else ()
    voids = sum(one.score is None for one in made)
    state = noted(state, made, measured(state, bench.config.gate), state.step)
    known = {one.task.id: one for one in made if one.score is not None}
    return state.model_copy(update={"earlier": state.earlier | known, "voids": state.voids + voids})
