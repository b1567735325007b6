"""What a run under `evidence` comes to, before anything is sent."""

from etude.records.summary import Span
from etude.searches.forecast import NOTHING, Known, StageWork, attempted, between_epochs, final_test

_LEAST_READ = 0.15
"""Share of the tasks that fail at first that a search reads which learns quickly: one edit fixes many of them."""
_AGAIN, _WAVERING = 0.7, 0.3
"""Shares of unsolved tasks that fail when visited again and of solved ones that do, where attempts are noisy."""
_EACH = 1.5
"""Attempts of a proof for each failure of a step where edits are right: all together once, then one or two each."""
_EACH_NOISY = 5
"""The same where attempts are noisy, or edits do nothing."""
_HARM = 300
"""Attempts that look for harm, at most: the audit and two comparisons."""
_IDLE = 12
"""Steps without a change that end the search."""


def evidence_forecast(known: Known, wanted: int, again: int) -> tuple[StageWork, ...]:
    """The low ends are those of a search that learns quickly, the high ones those of one that learns slowly until
    the last epoch, in noise.

    Args:
        wanted: failures of a step.
        again: solved tasks that each later epoch attempts again.
    """
    config, tasks, val = known.config, known.tasks["train"], known.tasks["val"]
    epochs, failing = config.train.epochs, known.failing_span
    turns = min(max(1, len(config.targets)), epochs)
    most_failed = failing.high * tasks
    visits, failures = turns * tasks, turns * most_failed
    for _ in range(epochs - turns):
        solved = min(again, tasks)
        visits += min(tasks, most_failed + solved)
        failures += min(tasks, _AGAIN * most_failed + _WAVERING * solved)
    read = Span(low=min(_LEAST_READ * failing.low * tasks, _IDLE * wanted), high=failures)
    steps = Span(low=min(1.0, read.low) + read.low / (2 * wanted), high=epochs + visits / wanted)
    least = 2 if read.low else 0
    calls = Span(low=max(least, int(read.low / wanted)), high=int(2 * steps.high))
    first = min(tasks, _IDLE * wanted)
    return (
        attempted(
            known, "rollout", Span(low=first, high=visits + failures), Span(low=steps.low, high=3 * steps.high)
        ),
        StageWork(
            "failure analyses", NOTHING, calls, call_waits=Span(low=min(calls.low, steps.low), high=steps.high)
        ),
        attempted(
            known,
            "proof",
            Span(low=int(_EACH * read.low), high=_EACH_NOISY * failures),
            Span(low=steps.low, high=12 * steps.high),
        ),
        attempted(known, "tidy", Span(low=0, high=_HARM), Span(low=0, high=20)),
        attempted(known, "validation", Span(low=min(val, 16), high=2 * val), Span(low=1, high=max(1, val / 8))),
        *between_epochs(known),
        final_test(known),
    )
