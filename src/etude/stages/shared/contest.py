"""Contests: which of two skills is better, by as few attempts as settle it.

Every decision of a search is one, the published gate aside. There are two kinds. An *account* asks about tasks that
were chosen because they had failed: does a change do on them what solved tasks do here, or what failed ones do? A
*race* asks about tasks that were chosen by chance: which of two skills solves more of them? Both look after each
attempt, stop as soon as it is clear, and give the verdict of the shortest deciding prefix of a fixed order.
"""

from collections.abc import Iterable, Sequence
from math import fsum, log, prod
from typing import NamedTuple

from etude.stages.shared.noise import Noise, Outcomes

_CONCERNED = 0.7
"""Share of the tasks an edit cites that it really concerns, if it concerns any. An optimizer cites some wrongly, and
a task that needs two rules fails with one of them; so no task can speak against an edit by more than log .3."""


class Bar(NamedTuple):
    """What an account has to reach."""

    won: float
    """Log odds at which it is won. Where nothing has changed, an account ever reaches log x in at most one of x cases
    (Ville's inequality: it is a likelihood ratio, and so a martingale then)."""
    lost: float
    """At which it is lost: half as likely as before. A lower one spends attempts on edits that hardly ever come back;
    lost edits may be proposed again, with other failures."""
    most: int
    """Attempts after which it is lost, whatever it has: ten, within which an edit that takes its tasks from .1 to .8
    enters in four of five cases."""


ADDITION = Bar(log(19), -log(2), 10)
"""A new line costs tokens at every attempt from now on: it has to be shown to help, at 5%."""
ONCE = Bar(log(10), -log(2), 10)
"""The same where another trial tells nothing new, as at temperature 0: evidence comes from more tasks then, and most
edits cite few. Two that pass are enough for a line to be trusted."""
REPLACEMENT = Bar(log(0.7), -log(2), 10)
"""A replaced or deleted line costs nothing: it has to do no worse, in one attempt at least. A bar as high as that of
additions costs .02 of score in noisy worlds, since corrections of half-right lines gain little each."""
REMOVAL = Bar(log(9), -log(2), 8)
"""That lines break tasks: those accused are at once compared on random tasks, so this needs to be no stricter."""
HAND_OUT = 0.05
"""Error rate at which a skill is handed out that is no better than the initial one."""
_STAKES = tuple(share / 10 * 0.95 for share in range(1, 11))
"""Shares of the capital that are bet on each task, side by side: which is best depends on the unknown gain. None bets
all of it, so that one lost task does not end the race."""


class Seen(NamedTuple):
    """What came of a task with a change, and without it."""

    with_it: Outcomes
    without: Outcomes


def account(tasks: Iterable[Seen], noise: Noise) -> float:
    """Log likelihood ratio of tasks: with the change they do what a task does that passed once, against what the same
    task does without it. 0 where nothing was attempted."""
    return fsum(
        log(1 - _CONCERNED + _CONCERNED * noise.likelihood(one.with_it, Outcomes(passed=1)) / expected)
        for one in tasks
        if sum(one.with_it) and (expected := noise.likelihood(one.with_it, one.without)) > 0
    )


def wealth(gains: Sequence[float]) -> float:
    """What bets of 1 that gains in [-1, 1] are above 0 on average have come to. Were they not, it would ever reach x
    in at most one of x cases (Waudby-Smith and Ramdas 2024, Journal of the Royal Statistical Society B 86:1,
    section 4)."""
    return fsum(prod(1 + stake * gain for gain in gains) for stake in _STAKES) / len(_STAKES)
