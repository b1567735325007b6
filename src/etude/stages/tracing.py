"""Which edits break tasks: some are left out of the skill, and, where a task passes without them, half of these.

It is asked of tasks that passed before, and of tasks that keep failing, since an edit that entered early breaks tasks
before any of them has passed. What it finds is a suspicion: the tasks were chosen by how they failed.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from etude.records import Attempt, Task
from etude.stages.shared.jury import TURNS, Jury, Removal, Suspect
from etude.stages.shared.rollout import PlannedAttempt

_FAILING = 24
"""Tasks that keep failing which are attempted with edits left out."""
_PARTS = 3
"""One of so many edits is left out of them at a time: a task needs some of the others."""
_VOTES = 2
"""Tasks that have to lead to the same edit: one alone may have passed by chance."""


class TraceResult(NamedTuple):
    """Where tasks led."""

    votes: Mapping[str, str]
    """For each task that led somewhere, the id of the edit without which it passes."""
    attempts: tuple[Attempt, ...] = ()


def named(jury: Jury) -> list[Suspect]:
    """The edits that several tasks have led to, the one of most tasks first."""
    found: dict[str, list[Task]] = {}
    for name, edit in sorted(_votes(jury).items()):
        found.setdefault(edit, []).append(jury.tasks[name])
    edits = {one.edit.id: one.edit for one in jury.removals}
    suspects = [Suspect(edits[edit], tuple(tasks)) for edit, tasks in found.items() if len(tasks) >= _VOTES]
    return sorted(suspects, key=lambda suspect: -len(suspect.tasks))


def _votes(jury: Jury) -> dict[str, str]:
    """Where tasks led whose edit still stands in the skill."""
    standing = {one.edit.id for one in jury.removals}
    return {task: edit for task, edit in jury.state.traced.items() if edit in standing}


async def traced_back(jury: Jury, tasks: Sequence[Task]) -> TraceResult:
    """Where tasks lead that passed before: to what entered between the last time that they did and the last time that
    they failed.

    Raises:
        VoidStop: too many attempts errored.
    """
    since: dict[str, list[Removal]] = {}
    known = _votes(jury)
    for task in tasks:
        seen = jury.state.history[task.id].seen
        last = max(step for step, passed in seen if passed)
        since[task.id] = [one for one in jury.removals if last < one.entered <= seen[-1][0]]
    since = {name: edits for name, edits in since.items() if edits and name not in known}
    if all(len(edits) == 1 for edits in since.values()):
        return TraceResult({name: edit.edit.id for name, (edit,) in since.items()})
    freed, made = await _without(jury, since, 0)
    return await _halved(jury, {name: since[name] for name in freed}, made)


async def traced_at_random(jury: Jury, tasks: Sequence[Task]) -> TraceResult:
    """Where tasks lead that keep failing: different edits are left out of each, a few times.

    Raises:
        VoidStop: too many attempts errored.
    """
    removals, freed, made = jury.removals, dict[str, list[Removal]](), list[Attempt]()
    for turn in range(TURNS):
        drawn = {task.id: _drawn(removals, task.id, turn) for task in tasks if task.id not in freed}
        passed, attempts = await _without(jury, drawn, turn)
        made += attempts
        freed |= {name: drawn[name] for name in passed}
        if not freed:  # there is hardly anything to find
            break
    return await _halved(jury, freed, made)


def keep_failing(jury: Jury) -> list[Task]:
    """Tasks that failed when last attempted, and the time before: those that did so last, since what failed before an
    edit entered may have been mended by it. None where so few edits stand in the skill that a task hardly needs one
    of the others, and none that led to an edit which still stands."""
    found: list[tuple[int, str]] = []
    led = _votes(jury)
    for name, known in sorted(jury.state.history.items()):
        last = [passed for _, passed in known.seen[-2:]]
        if name in jury.tasks and name not in led and len(last) == 2 and not any(last):
            found.append((-known.seen[-1][0], name))
    enough = len(jury.removals) >= _PARTS and len(found) > _VOTES
    return [jury.tasks[name] for _, name in sorted(found)][:_FAILING] if enough else []


def _drawn(removals: Sequence[Removal], name: str, turn: int) -> list[Removal]:
    """The edits that are left out."""
    return random.Random(f"{name}/{turn}").sample(removals, max(1, len(removals) // _PARTS))


async def _halved(jury: Jury, freed: Mapping[str, Sequence[Removal]], made: Sequence[Attempt]) -> TraceResult:
    """Where tasks lead that pass without these edits. Of two halves the second is believed in where the first is not
    it, until one edit is left, which has to be left out itself."""
    attempts, left, shown = list(made), dict(freed), set(freed)
    while wide := {name: edits for name, edits in left.items() if len(edits) > 1 or name not in shown}:
        halves = {name: edits[: (len(edits) + 1) // 2] for name, edits in wide.items()}
        passed, more = await _without(jury, halves, 0)
        attempts += more
        shown = shown - set(wide) | set(passed)
        gone = {name for name, edits in wide.items() if len(edits) == 1 and name not in passed}
        left |= {name: halves[name] if name in passed else edits[len(halves[name]) :] for name, edits in wide.items()}
        left = {name: edits for name, edits in left.items() if name not in gone}
    return TraceResult({name: edit.edit.id for name, (edit,) in left.items()}, tuple(attempts))


async def _without(
    jury: Jury, left_out: Mapping[str, Sequence[Removal]], turn: int
) -> tuple[list[str], tuple[Attempt, ...]]:
    """The tasks that pass without these edits, and what was attempted."""
    planned = [
        PlannedAttempt(jury.tasks[name], jury.without([one.edit for one in edits]), jury.apart + turn)
        for name, edits in left_out.items()
    ]
    made = await jury.attempt(planned)
    first = {name: jury.state.history[name].first or 0.0 for name in left_out}
    scored = [one for one in made if one.score is not None]
    return [one.task.id for one in scored if jury.measure.better(one, first[one.task.id])], made
