"""What a run under `evidence` comes to, before anything is sent."""

import math

from etude.records.summary import Span
from etude.searches.forecast import NOTHING, Known, StageWork, attempted, between_epochs, exactly, final_test, parts
from etude.stages.losses import MOST_COMPARED
from etude.stages.tidy import MOST_TRIES

_AGAIN, _WAVERING, _UNFIXED = 0.7, 0.25, 0.75
"""Shares of unsolved tasks that fail when visited again, of solved ones that do, and of failures
that an epoch's edits do not fix, where a search learns slowly."""
_QUICK, _ENOUGH = 0.6, 100
"""Share of the first failures that a search sees which learns quickly, and how many are enough for it."""
_CROWD, _MORE_PROOF, _MORE_READING = 4, 0.35, 0.15
"""Failures in a step above which its edits get in each other's way, and what each doubling of them adds to the
attempts of its proof and to its analyses, as shares."""
_SUPERFLUOUS = 3
"""Lines that the last pass tries to remove, at most."""
_HARMFUL = 4
"""Lines that it compares for each further target, at most."""


def evidence_forecast(known: Known, wanted: int, most: int, again: int, witnesses: int) -> tuple[StageWork, ...]:
    """The low ends are those of a search that learns quickly. The high ends are those of one that learns slowly
    until the last epoch, or of one that learns nothing, where that takes more.

    Args:
        wanted: failures of a step.
        most: failures that a step reads at most, until steps grow.
        again: solved tasks that each later epoch attempts again.
        witnesses: solved tasks that have to stay solved for a deletion.
    """
    config, tasks, val = known.config, known.tasks["train"], known.tasks["val"]
    epochs, failing = config.train.epochs, known.failing_span
    # In its first epochs each of several targets attempts tasks for the first time.
    turns, idle_epochs = min(max(1, len(config.targets)), epochs), 1 if len(config.targets) > 1 else 2
    patience, fresh = min(max(turns, idle_epochs), epochs), config.train.fresh_attempts
    few, first = min(_ENOUGH, _QUICK * failing.low * tasks), failing.high * tasks
    visits, slow = _slowly(known, most, again, first, turns)
    idle, least = patience * first, turns * tasks
    if fresh and epochs > turns:
        least += min(tasks, again)
        visits = max(visits, turns * tasks + (patience - turns) * min(tasks, first + again))
    with_failures = min(max(slow, idle) / wanted, visits / (2 * wanted))
    steps = Span(
        low=_fewest(max(parts(tasks, known.size), few / (2 * wanted))),
        high=epochs + max(visits / known.size, with_failures),
    )
    left_out = 1.2 * first + 0.5 * (slow - first)
    doublings = math.log2(max(1.0, min(wanted, first) / _CROWD))
    tested = max((slow + left_out) * (1 + _MORE_PROOF * doublings), idle + 0.25 * witnesses * steps.high)
    kinds = max(1, known.kinds) if config.reflect.mode == "deep" else 1
    read = [kinds * (1 - (1 - 1 / kinds) ** failures) for failures in (wanted, 1.5 * wanted)]
    # The epochs in which nothing is found have failures too, unless there are hardly any.
    least_read = min(few / wanted * read[0], 2 * read[0] + few / config.reflect.minibatch_size)
    least_read += min(idle_epochs, epochs - 1) * min(1.0, few / 5)
    most_read = math.ceil(
        (1 + with_failures) * (read[1] + wanted / config.reflect.minibatch_size) * (1 + _MORE_READING * doublings)
    )
    analyses = Span(low=int(least_read), high=most_read)
    return (
        attempted(known, "rollout", Span(low=least, high=visits), Span(low=steps.low, high=2 * steps.high)),
        StageWork(
            "failure analyses", NOTHING, analyses, call_waits=Span(low=min(analyses.low, steps.low), high=steps.high)
        ),
        attempted(known, "proof", Span(low=few, high=tested), Span(low=min(steps.low, few), high=4 * steps.high)),
        attempted(known, "tidy", Span(low=0, high=_tidied(len(config.targets))), Span(low=0, high=5))._replace(
            calls=Span(low=0, high=1), call_waits=Span(low=0, high=1)
        ),
        attempted(known, "validation", Span(low=val, high=2 * val), exactly(1)),
        *between_epochs(known),
        final_test(known),
    )


def _slowly(known: Known, most: int, revisits: int, first: float, turns: int) -> tuple[float, float]:
    """Visits and failures of a search that learns slowly, over all epochs. What failed in the first wave of an epoch,
    and its first step does not read, is visited once more."""
    tasks, slots = known.tasks["train"], known.config.limits.concurrency
    visits, failures, unsolved = 0.0, 0.0, first
    for epoch in range(known.config.train.epochs):
        again = min(revisits, tasks - unsolved)
        failed = first if epoch < turns else _AGAIN * unsolved + _WAVERING * again
        visited = tasks if epoch < turns else unsolved + again
        visits += visited + max(0.0, failed * min(1.0, slots / visited) - most)
        failures += failed
        unsolved = _UNFIXED * failed
    return visits, failures


def _tidied(targets: int) -> int:
    """Attempts of the last pass over the skill, at most."""
    return _SUPERFLUOUS * MOST_TRIES + _HARMFUL * MOST_COMPARED * max(0, targets - 1)


def _fewest(steps: float) -> float:
    """Steps that see as much as so many of the first size, where none changes the skill."""
    return steps if steps < 2 else 1 + math.log2(steps)
