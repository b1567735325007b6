"""Several targets in a search: what tells whether one of them loses by edits that help another."""

import random
from collections.abc import Iterator, Sequence

from etude.records import Edit, Task, TrainState
from etude.run_log import RunLog
from etude.searches.ending import shared
from etude.searches.forecast import Known
from etude.stages.state import after_rollout
from etude.workbench import Workbench

_FIRST = 20
"""Tasks that each target attempts before the first step."""
_GUARDS = 6
"""Tasks that a target has solved, which tell whether it loses by edits."""


async def first_attempts(bench: Workbench, log: RunLog, state: TrainState, trial: int) -> TrainState:
    """Attempt some tasks with each target before the first step: one that has solved none is not seen to lose.

    Raises:
        VoidStop: too many attempts errored.
    """
    order = random.Random(bench.config.train.seed)
    tasks = [task for theirs in _several(bench) for task in order.sample(theirs, min(_FIRST, len(theirs)))]
    log.begin("baseline", 0, state.epoch, len(tasks))
    found = await bench.rollout.batch(tasks, state.current, "train", trial=trial)
    log.end("baseline", 0, f"{sum(attempt.solved for attempt in found)} of {len(found)} solved")
    return after_rollout(state, found)


def guards(bench: Workbench, state: TrainState, edits: Sequence[Edit]) -> list[Task]:
    """Of several targets, the tasks that each has solved and that are most like the edits and what they cite."""
    cited = {cite for edit in edits for cite in edit.cites}
    types = {attempt.task.type for attempt in state.earlier.values() if attempt.id in cited}
    said, found = " ".join(edit.content for edit in edits), list[Task]()
    for theirs in _several(bench):
        solved = [task for task in theirs if task.id in state.earlier and state.earlier[task.id].solved]
        words = {task.id: count(task) for count in [shared(said, theirs)] for task in solved}
        found += sorted(solved, key=lambda task: (task.type not in types, -words[task.id]))[:_GUARDS]
    return found


def most_added(known: Known, steps: float) -> float:
    """For the forecast: attempts that several targets add to so many steps, with each set of guards tried twice."""
    return len(known.config.targets) * (min(_FIRST, known.tasks["train"]) + 2 * _GUARDS * steps)


def _several(bench: Workbench) -> Iterator[list[Task]]:
    """The training tasks of each of several targets."""
    several = len(bench.config.targets)
    return (list(bench.tasks["train"][first::several]) for first in range(several))
