"""How much work `evidence` will do.

Three searches are reckoned, epoch by epoch. The one that learns quickly makes the low ends. The high ends are those
of one that learns slowly and goes on to the last epoch, or of one that learns nothing, where that takes more.
"""

import math
from typing import NamedTuple

from etude.records.summary import Span
from etude.searches.forecast import (
    NOTHING,
    Known,
    Work,
    attempted,
    between_epochs,
    exactly,
    final_test,
    rounded,
)

__all__ = ["evidence_work"]

_QUICK, _SLOW = 25, 100
"""Failures after which a search that learns quickly, or slowly, solves all but 1/e of what failed before."""
_AGAIN = 0.7
"""Of the tasks that an epoch leaves unsolved, those that fail in the next one; others have been mended by the way."""
_WAVERING = 0.25
"""Of the solved tasks, those that fail when they are visited again."""
_UNMENDED = 0.75
"""Of the failures of an epoch, those that its edits do not mend."""
_LEFT_OUT = 0.7
"""Attempts with an edit left out, for each failure of the first epoch."""
_CHECKED = 0.5
"""Attempts with the edits that stay, likewise."""
_LATER = 0.4
"""So many times as often are these made in later epochs: fewer failures are mended."""

_DELETIONS = 0.25
"""Of the steps whose edits mend nothing, those that have a deletion to try on solved tasks."""


class _Epoch(NamedTuple):
    """One pass over the training tasks."""

    visits: float
    """Tasks that are attempted."""
    failures: float
    steps: float


def evidence_work(known: Known, patience: int) -> tuple[Work, ...]:
    """In each step training tasks in waves until enough have failed; readings of the failures; all edits on them, on
    demand each edit left out and what stays on the failures it mends, what stays on solved tasks; between epochs slow
    update and meta skill; at the end validation of the best skill, and the test.

    Args:
        patience: so many epochs that bring nothing end the search.
    """
    config = known.config
    failing, epochs = known.failing_span, config.train.epochs
    quick = _epochs(known, failing.low, 1, _QUICK)[0]
    idle = _epochs(known, failing.high, min(patience, epochs), None)
    slow = _epochs(known, failing.high, epochs, _SLOW)
    steps = max(_steps(idle), _steps(slow))
    return (
        attempted(known, "rollout", _rollouts(known, idle, slow), Span(low=quick.steps, high=3 * steps)),
        _readings(known, quick, (idle, slow), patience),
        attempted(
            known,
            "proof",
            rounded(Span(low=quick.failures, high=max(_tests(known, slow), _fruitless(known, idle)))),
            Span(low=min(quick.steps, quick.failures), high=6 * steps),
        ),
        attempted(known, "validation", _validations(known, patience), exactly(1)),
        *between_epochs(known, config.search.guard),
        final_test(known),
    )


def _validations(known: Known, patience: int) -> Span:
    """Once, or once more where it began too early: beside an epoch after an idle one that brought something still."""
    tasks = known.tasks["val"]
    again = patience > 1 and known.config.train.epochs >= patience
    return Span(low=tasks, high=2 * tasks if again else tasks)


def _epochs(known: Known, failing: float, count: int, learns: int | None) -> list[_Epoch]:
    """What a search comes to that starts with this share of failing tasks.

    Args:
        learns: the failures after which it solves all but 1/e of what failed; None when it learns nothing.
    """
    config, tasks = known.config, known.tasks["train"]
    size, search = config.train.batch_size * config.train.accumulation, config.search
    found: list[_Epoch] = []
    unsolved = failing * tasks
    for epoch in range(count):
        again = min(float(search.revisits), tasks - unsolved)
        visits = unsolved + again if epoch else float(tasks)
        failures = unsolved
        if learns is not None:
            # Each failure that is read makes the next ones rarer by the same factor.
            failures = _AGAIN * unsolved + _WAVERING * again if epoch else learns * math.log1p(unsolved / learns)
        failures = min(visits, failures)
        # The first wave of a step is twice as long as the failures it looks for.
        length = max(2.0 * search.failures, search.failures * visits / failures) if failures else size
        found.append(_Epoch(visits, failures, max(float(math.ceil(visits / size)), visits / length)))
        unsolved = failures if learns is None else _UNMENDED * failures
    return found


def _rollouts(known: Known, idle: list[_Epoch], slow: list[_Epoch]) -> Span:
    """An attempt that is known under the same skill is made again only where that is asked for."""
    low, high = float(known.tasks["train"]), sum(epoch.visits for epoch in slow)
    if known.config.train.fresh_attempts:
        if len(slow) > 1:
            low += min(low, known.config.search.revisits)
        high = max(high, sum(epoch.visits for epoch in idle))
    return rounded(Span(low=low, high=high))


def _tests(known: Known, epochs: list[_Epoch]) -> float:
    """All edits on every failure; on demand each edit left out, and what stays on what it mends; then the guard."""
    search = known.config.search
    total = 0.0
    for number, epoch in enumerate(epochs):
        more = search.guard * epoch.steps
        if search.leave_one_out:
            left_out = min(search.edits * epoch.steps, _LEFT_OUT * epoch.failures * search.readings)
            more += left_out + _CHECKED * epoch.failures
        total += epoch.failures + more * (_LATER if number else 1)
    return total


def _fruitless(known: Known, epochs: list[_Epoch]) -> float:
    """All edits on every failure, and some deletions on solved tasks, where nothing helps."""
    deletions = _DELETIONS * known.config.search.deletion_guard
    return sum(epoch.failures + deletions * epoch.steps for epoch in epochs)


def _readings(known: Known, quick: _Epoch, many: tuple[list[_Epoch], ...], patience: int) -> Work:
    """Groups of failures that are read together, in all steps."""
    search, later = known.config.search, min(patience, known.config.train.epochs - 1)
    least = quick.failures / search.failures * _kinds(known, search.failures)
    # The epochs in which nothing is found have failures too, unless there are hardly any.
    least += later * min(1.0, quick.failures / 5)
    most = max(sum(_groups(known, epoch) for epoch in epochs) for epochs in many)
    calls = rounded(Span(low=least * search.readings, high=most * search.readings))
    steps = Span(low=min(calls.low, quick.steps), high=max(_steps(epochs) for epochs in many))
    return Work("failure analyses", NOTHING, calls, NOTHING, steps)


def _groups(known: Known, epoch: _Epoch) -> float:
    if not epoch.failures:
        return 0.0
    each = epoch.failures / epoch.steps
    return epoch.steps * (_kinds(known, each) + 0.5 * each / known.config.reflect.minibatch_size)


def _kinds(known: Known, failures: float) -> float:
    """Of the types, those to be expected among so many failures; with deep reading each is read apart."""
    kinds = max(1, known.kinds) if known.config.reflect.mode == "deep" else 1
    return kinds * (1 - (1 - 1 / kinds) ** failures)


def _steps(epochs: list[_Epoch]) -> float:
    return sum(epoch.steps for epoch in epochs)
