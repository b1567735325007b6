"""Which edit breaks a task: those that may do so are left out and brought back in the order in which they entered,
until the task fails again.

It is asked of tasks that passed before, and of tasks that keep failing, since an edit that entered early breaks tasks
before any of them has passed. What it finds is a suspicion: the tasks were chosen by how they failed.

Where some line has four in ten tasks answered alike, two of three runs end at .15 and .17 of the best score without
the tasks that keep failing, and at 1.00 and .89 with them; elsewhere they are worth little, and a tenth of the calls
(simulated, compliance .95, seeds 1 to 3).
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from etude.records import Attempt, Task, TrainState
from etude.stages.shared.jury import Jury, Removal, Suspect
from etude.stages.shared.rollout import PlannedAttempt

FAILING = 24
"""Tasks that keep failing which are attempted with edits left out."""
_FIRST = 8
"""Of these, so many come first: where no more of them pass than luck explains, the others are not asked."""
_DRAWS = 1
"""Times that edits are left out of such a task by chance. Twice took 6% more attempts of a run (compliance .80, seeds
1 to 6)."""
_PARTS = 3
"""One of so many edits is left out then: a task needs some of the others."""
_VOTES = 2
"""Tasks that have to lead to the same edit: one alone may have passed by chance."""


class TraceResult(NamedTuple):
    """Where tasks led."""

    votes: Mapping[str, str]
    """For each task that led somewhere, the id of the edit that breaks it."""
    attempts: tuple[Attempt, ...] = ()


def named(jury: Jury) -> list[Suspect]:
    """The edits that several tasks have led to, the one of most tasks first."""
    found: dict[str, list[Task]] = {}
    for name, edit in sorted(jury.led.items()):
        found.setdefault(edit, []).append(jury.tasks[name])
    edits = {one.edit.id: one.edit for one in jury.removals}
    suspects = [Suspect(edits[edit], tuple(tasks)) for edit, tasks in found.items() if len(tasks) >= _VOTES]
    return sorted(suspects, key=lambda suspect: -len(suspect.tasks))


async def traced_back(jury: Jury, tasks: Sequence[Task]) -> TraceResult:
    """Where tasks lead that passed before: to what entered between the last time that they did and the last time that
    they failed.

    Raises:
        VoidStop: too many attempts errored.
    """
    since: dict[str, list[Removal]] = {}
    known = jury.led
    for task in tasks:
        seen = jury.state.history[task.id].seen
        last = max(step for step, passed in seen if passed)
        since[task.id] = [one for one in jury.removals if last < one.entered <= seen[-1][0]]
    since = {name: edits for name, edits in since.items() if edits and name not in known}
    if all(len(edits) == 1 for edits in since.values()):
        return TraceResult({name: edit.edit.id for name, (edit,) in since.items()})
    freed, made = await _without(jury, since)
    return await _brought_back(jury, {name: since[name] for name in freed}, made)


async def traced_hidden(jury: Jury, tasks: Sequence[Task]) -> TraceResult:
    """Where tasks lead that keep failing. First all is left out but what is about the task, which shows harm also
    where several edits break it; then a third of the edits.

    Raises:
        VoidStop: too many attempts errored.
    """
    freed, made = dict[str, list[Removal]](), list[Attempt]()
    for some in (tasks[:_FIRST], tasks[_FIRST:]):
        for draw in range(1 + _DRAWS):
            left_out = {task.id: _left_out(jury, task, draw) for task in some if task.id not in freed}
            left_out = {name: edits for name, edits in left_out.items() if edits}
            passed, attempts = await _without(jury, left_out)
            made += attempts
            freed |= {name: left_out[name] for name in passed}
        # Where luck explains what passed there is hardly anything to find.
        if len(freed) <= jury.measure.noise.regained * sum(one.score is not None for one in made):
            return TraceResult({}, tuple(made))
    return await _brought_back(jury, freed, made)


def _left_out(jury: Jury, task: Task, draw: int) -> list[Removal]:
    if draw == 0:
        return jury.others(task)
    places = range(len(jury.removals))
    drawn = random.Random(f"{task.id}/{draw}").sample(places, max(1, len(places) // _PARTS))
    return [jury.removals[place] for place in sorted(drawn)]


def keep_failing(jury: Jury) -> list[Task]:
    """Tasks that failed when last attempted, and the time before: those that did so last, since what failed before an
    edit entered may have been mended by it. None where so few edits stand in the skill that a task hardly needs one
    of the others, none that led to an edit which still stands, and none that passes for another target, which needs
    what it may be broken by."""
    found: list[tuple[int, str]] = []
    history, led = {name: known for name, known in jury.state.history.items() if name in jury.tasks}, jury.led
    passed = {jury.tasks[name].own_id for name, known in history.items() if known.seen and known.seen[-1][1]}
    for name, known in sorted(history.items()):
        last = [each for _, each in known.seen[-2:]]
        if name not in led and jury.tasks[name].own_id not in passed and len(last) == 2 and not any(last):
            found.append((-known.seen[-1][0], name))
    enough = len(jury.removals) >= _PARTS and len(found) > _VOTES
    return [jury.tasks[name] for _, name in sorted(found)][:FAILING] if enough else []


def failing_now(state: TrainState, tasks: Sequence[Task]) -> list[Task]:
    """Those that fail with the current skill: of tasks that were not attempted with it, some pass with anything."""
    known = [(task, state.history[task.id]) for task in tasks]
    return [task for task, each in known if each.skill == state.current.hash and not each.passed]


async def _brought_back(jury: Jury, freed: Mapping[str, Sequence[Removal]], made: Sequence[Attempt]) -> TraceResult:
    """Where tasks lead that pass without these edits. With the first of them a task passes up to some number, which
    halving finds: so it does not matter how many of them break it. On both sides of it the task is attempted again,
    where that tells anything new."""
    attempts = list(made)

    async def passing(brought: Mapping[str, int], turn: int = 0) -> list[str]:
        """The tasks that pass with so many of the edits brought back."""
        passed, more = await _without(jury, {name: freed[name][first:] for name, first in brought.items()}, turn)
        attempts.extend(more)
        return passed

    passes, fails = dict.fromkeys(freed, 0), {name: len(edits) for name, edits in freed.items()}
    while between := {name: (passes[name] + fails[name]) // 2 for name in freed if fails[name] - passes[name] > 1}:
        passed = await passing(between)
        passes |= {name: between[name] for name in passed}
        fails |= {name: number for name, number in between.items() if name not in passed}
    again = [name for name in freed if jury.repeats(jury.tasks[name])]
    # With all of them a task has only failed without what it may have missed.
    unseen = [name for name in freed if name not in again and jury.misses(jury.tasks[name])]
    refuted = set(await passing({name: len(freed[name]) for name in unseen}))
    refuted |= set(again) - set(await passing({name: passes[name] for name in again}, 1))
    refuted |= set(await passing({name: fails[name] for name in again if name not in refuted}, 1))
    votes = {name: edits[passes[name]].edit.id for name, edits in freed.items() if name not in refuted}
    return TraceResult(votes, tuple(attempts))


async def _without(
    jury: Jury, left_out: Mapping[str, Sequence[Removal]], turn: int = 0
) -> tuple[list[str], tuple[Attempt, ...]]:
    """The tasks that pass without these edits, and what was attempted."""
    edits = {name: [one.edit for one in removals] for name, removals in left_out.items()}
    planned = [
        PlannedAttempt(jury.tasks[name], jury.without(undo, jury.tasks[name]), jury.trace + turn)
        for name, undo in edits.items()
    ]
    made = await jury.attempt(planned)
    first = {name: jury.state.history[name].best_failed or 0.0 for name in left_out}
    scored = [one for one in made if one.score is not None]
    return [one.task.id for one in scored if jury.measure.better(one, first[one.task.id])], made
