"""Taking back edits by which tasks fail that passed before: during a search, where it is stuck, and at its end."""

from collections.abc import Sequence
from functools import partial

from etude.config import another_trial_tells
from etude.records import Attempt, Candidate, Edit, GateResult, Task, TrainState, Verdict
from etude.run_log import RunLog, counted
from etude.skill import apply_edits
from etude.stages.evaluation import shuffled
from etude.stages.harm import ACCUSERS, judged, suspected
from etude.stages.shared.contest import REMOVAL
from etude.stages.shared.history import measured, noted, seen_as_well
from etude.stages.shared.jury import Jury
from etude.stages.shared.nearest import nearest_first
from etude.stages.shared.rollout import PlannedAttempt
from etude.stages.state import after_verdict, moved_on
from etude.stages.tracing import FAILING, TraceResult, failing_now, keep_failing, named, traced_back, traced_hidden
from etude.workbench import Workbench

_AUDITED = 40
"""Solved tasks that an audit attempts: a line that breaks a tenth of them breaks two or more of these in 92 of 100
cases."""
_TURNS = 3
"""Times that harm is looked for in an audit: what covers for each other is found one after the other."""
_LOOKED_BACK, _ABOUT = 4, 3
"""Solved tasks with which the step after a new skill begins, and how many of them are chosen by its new lines. In
noisy worlds six, beside twice the revisits, took a tenth more attempts and left harm as often. With all of them drawn
by chance, four of 32 skills ended with a line that does harm, such as one that contradicts another; so, one of 32
(edits that break others and one label for all, seeds 1 to 16)."""


def most_undone(steps: int, epochs: int, edits: int, targets: int) -> int:
    """The most attempts that all of this takes, with so many edits in a step."""
    looks = steps + 2 * _TURNS * epochs + _TURNS
    judged = looks * 4 * (3 if targets > 1 else 2) * REMOVAL.most  # one edit, then several; with them and without
    halvings, hidden = (steps * edits).bit_length(), epochs * FAILING
    traced = looks * _LOOKED_BACK + hidden + (looks * ACCUSERS + hidden) * (halvings + 5)
    return judged + traced + 2 * (epochs + 1) * _AUDITED


def looking_back(bench: Workbench, state: TrainState, left: Sequence[Task]) -> list[Task]:
    """The tasks that are left of an epoch, if any, after some solved ones: those that the new lines of the skill are
    most likely about, and others."""
    lines = [one.edit.target or one.edit.content for one in _jury(bench, state).removals if one.entered == state.step]
    solved = _solved_before(state, f"{bench.config.train.seed}/{state.step}")
    first = nearest_first(solved, lines[:_ABOUT])[:_LOOKED_BACK] if left else []
    return [*first, *(task for task in left if task not in first)]


async def without_harm(bench: Workbench, log: RunLog, state: TrainState) -> TrainState:
    """The state with the edits taken back that are found to do harm, as a step of its own where there are some.

    Raises:
        VoidStop: too many attempts errored.
    """
    jury = _jury(bench, state)
    suspect = suspected(jury)
    if suspect is None:
        return await _condemned(bench, log, state)
    log.begin("tidy", state.step, state.epoch)
    state = state.model_copy(update={"suspected": state.suspected | {suspect.edit.id}})
    return await _traced(bench, log, state, await traced_back(jury, suspect.tasks))


async def audited(bench: Workbench, log: RunLog, state: TrainState) -> TrainState:
    """Where the search finds nothing more, solved tasks are attempted with the skill, and those that fail once more;
    then harm is looked for.

    Raises:
        VoidStop: too many attempts errored.
    """
    if state.current.hash in (bench.skill.hash, state.audited):
        return state
    tasks = _solved_before(state, bench.config.train.seed)[:_AUDITED]
    log.begin("tidy", state.step, state.epoch, len(tasks))
    state = await _twice(bench, state, tasks)
    known = [state.history[task.id] for task in tasks]
    lost = sum(each.trials > 1 or not each.passed for each in known)
    log.end("tidy", state.step, f"{lost} of {len(tasks)} solved tasks failed", idle=not lost)
    state = state.model_copy(update={"suspected": frozenset[str](), "settled": frozenset[str]()})
    for _ in range(_TURNS):
        state = await without_harm(bench, log, state)
    return state.model_copy(update={"audited": state.current.hash})


async def without_hidden_harm(bench: Workbench, log: RunLog, state: TrainState) -> TrainState:
    """The same for harm that hides: tasks that keep failing are attempted with edits left out, once for the same
    edits where no task leads anywhere.

    Raises:
        VoidStop: too many attempts errored.
    """
    jury = _jury(bench, state)
    tasks, everything = keep_failing(jury), _together([one.edit for one in jury.removals])
    if not tasks or everything in state.settled:
        return state
    log.begin("tidy", state.step, state.epoch)
    state = await _twice(bench, state, tasks)
    tasks = failing_now(state, tasks)
    found = await traced_hidden(_jury(bench, state), tasks)
    after = await _traced(bench, log, state, found)
    settled = {everything} if tasks and not found.votes else set[str]()
    return after.model_copy(update={"settled": after.settled | settled})


async def _traced(bench: Workbench, log: RunLog, state: TrainState, found: TraceResult) -> TrainState:
    """The state with edits taken back that are found to do harm, of those that tasks led to."""
    state = state.voided(found.attempts).model_copy(update={"traced": {**state.traced, **found.votes}})
    led = counted(len(found.votes), "failed task") + (" passes" if len(found.votes) == 1 else " pass")
    log.end("tidy", state.step, f"{led} without one of the edits", idle=not found.votes)
    return await _condemned(bench, log, state)


async def _condemned(bench: Workbench, log: RunLog, state: TrainState) -> TrainState:
    """The state with the edit taken back that most tasks led to, or, since edits may break the same tasks, with all
    that tasks led to. Not all where tasks are attempted once only: of many, some pass by luck with any change."""
    begun, suspects = state.step, named(_jury(bench, state))
    unjudged = [suspect for suspect in suspects if suspect.edit.id not in state.settled]
    if unjudged:
        state = await _judged(bench, log, state, [unjudged[0].edit], unjudged[0].tasks)
    edits = [one.edit for one in suspects]
    tasks = list({task.id: task for one in suspects for task in one.tasks}.values())
    once = not all(another_trial_tells(bench.config, task) for task in tasks)
    if len(edits) < 2 or once or _together(edits) in state.settled or state.step > begun:
        return state
    return await _judged(bench, log, state, edits, tasks)


def _together(edits: Sequence[Edit]) -> str:
    """The name of edits that are judged together."""
    return " ".join(sorted(edit.id for edit in edits))


def _jury(bench: Workbench, state: TrainState) -> Jury:
    tasks = {task.id: task for task in bench.tasks["train"]}
    measure = measured(state, bench.config.gate)
    return Jury(bench.rollout, state, measure, tasks, partial(another_trial_tells, bench.config))


async def _judged(
    bench: Workbench, log: RunLog, state: TrainState, edits: Sequence[Edit], accusers: Sequence[Task]
) -> TrainState:
    jury = _jury(bench, state)
    log.begin("tidy", state.step, state.epoch)
    harm = await judged(jury, edits, accusers)
    kept = "kept an edit" if len(edits) == 1 else f"kept {len(edits)} edits"
    log.end("tidy", state.step, harm.reason if harm.proved else f"{kept}: {harm.reason}")
    state = state.voided(harm.attempts).model_copy(update={"races": state.races + 1})
    if not harm.proved:
        state = state.model_copy(update={"settled": state.settled | {_together(edits)}})
        with_it = [one for one in harm.attempts if one.skill_hash == state.current.hash]
        return noted(state, with_it, jury.measure, state.step)
    log.changes.tried(harm.attempts)
    after = _taken_back(bench, log, state, edits, harm.reason)
    without = [one for one in harm.attempts if one.skill_hash == after.current.hash]
    return seen_as_well(after, without, jury.measure, after.step)


def _taken_back(bench: Workbench, log: RunLog, state: TrainState, edits: Sequence[Edit], reason: str) -> TrainState:
    """A step of its own."""
    before = state.model_copy(update={"step": state.step + 1})
    text, fates = apply_edits(state.current.text, edits)
    skill = state.current.with_text(text)
    applied = tuple(one.model_copy(update={"detail": reason}) if one.fate == "applied" else one for one in fates)
    candidate = Candidate(skill=skill, origin="tidy", edits=applied)
    place, verdict = f"steps/{before.step:04d}", Verdict(accepted=True, reason=reason)
    log.made(place, before, candidate, "")
    after = moved_on(after_verdict(before, candidate, verdict), skill)
    log.decided(place, (before, after), candidate, GateResult(verdict=verdict), "")
    return after


def _solved_before(state: TrainState, seed: int | str) -> list[Task]:
    """Solved tasks that were not attempted with the current skill, in random order."""
    solved = shuffled([one.task for _, one in sorted(state.earlier.items()) if one.solved], seed)
    return [task for task in solved if state.history[task.id].skill != state.current.hash]


async def _twice(bench: Workbench, state: TrainState, tasks: Sequence[Task]) -> TrainState:
    """With an attempt at each task with the skill, and one more at those that fail: most of these pass again where
    the first one was bad luck."""
    new = [task for task in tasks if state.history[task.id].skill != state.current.hash]
    state = await _attempted(bench, state, new)
    failed = [task for task in failing_now(state, tasks) if another_trial_tells(bench.config, task)]
    return await _attempted(bench, state, [task for task in failed if state.history[task.id].trials == 1])


async def _attempted(bench: Workbench, state: TrainState, tasks: Sequence[Task]) -> TrainState:
    state, made = await attempted_again(bench, state, tasks, state.step)
    scored = {one.task.id: one for one in made if one.score is not None}
    return state.model_copy(update={"earlier": state.earlier | scored})


async def attempted_again(
    bench: Workbench, state: TrainState, tasks: Sequence[Task], step: int
) -> tuple[TrainState, tuple[Attempt, ...]]:
    """With the next trial of each task with the skill, and these attempts. `step` is as in `noted`."""
    known, gate = [state.history[task.id] for task in tasks], bench.config.gate
    trials = [each.trials if each.skill == state.current.hash else 0 for each in known]
    planned = [PlannedAttempt(task, state.current, trial) for task, trial in zip(tasks, trials, strict=True)]
    made = await bench.rollout.tried("again", state.step, planned)
    # How far scores waver is known from these attempts, too, so it is measured before they are judged by it.
    measure = measured(noted(state, made, measured(state, gate), step), gate)
    return noted(state.voided(made), made, measure, step), made
