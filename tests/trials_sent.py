"""Which trial a request of an attempt is, for targets of tests."""

from collections.abc import Iterable

from etude.records import ChatRequest, Task
from etude.stages.evaluation import FRESH

_TRIALS = (*range(30), *range(FRESH, FRESH + 30))


def trial_sent(request: ChatRequest, tasks: Iterable[Task]) -> int:
    """The number of the trial, by the seed: the first attempts at these tasks, or the first fresh ones."""
    return next(trial for task in tasks for trial in _TRIALS if task.seed(trial) == request.seed)
