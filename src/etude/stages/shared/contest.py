"""Contests: which of two skills is better, by as few attempts as settle it. Every rule of decision is here, but for
the published gate's.

There are six kinds, by what the claim is about and who chose the tasks.

| kind | question | who has to show what | wrong by chance |
|---|---|---|---|
| account | entry, replacement | the edit, on the tasks that it cites: `ADDITION` or `TRUST` | the same |
| bets | removal | that tasks which accuse edits do better without them: `REMOVAL` | `ERROR` |
| bets | the same | that other tasks do better with them, to keep them all the same: `VETO` | one in nine, or three |
| race | hand-out, recheck | the skill, that it is better on tasks like these, drawn by chance | `ERROR` |
| elimination | hand-out, of skills of a run | an earlier one, that it scores more than the last one | one in two |
| exchange | a night, hand-out | the document, that it is better on these very tasks | `ERROR` |
| fixed sample | the test, `compare` | the second skill, that it is better on tasks like these | `ERROR` |
| fixed sample | the loss of a target | the target, that it loses: to reject a candidate | `SUSPECTED` |
| fixed sample | the same | the same: to withhold a skill, to say `do not ship` | `ERROR` |

Over a table of skills (`etude.measure.several`) races and exchanges share one error: that of their discoveries.
What a task needs of a skill that stands (`etude prune`) is no contest of two skills but a search over hypotheses,
with bars of its own (`measure.pruning.sieve`); the comparison at its end is a fixed sample.

The first three look after each attempt, stop as soon as it is clear, and give the verdict of the shortest deciding
prefix of a fixed order. An elimination is between skills of which training tasks say that an earlier one may be
better; equal ones may change places, which costs nothing. An exchange looks once before its end. A fixed sample is
attempted whole. Where the race of the hand-out has not decided, an exchange of fresh attempts follows: each has half
of `ERROR`. A removal may be of several edits at once, and is then sure of all of them together only.
"""

import math
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from math import fsum, log
from operator import mul
from statistics import fmean
from typing import NamedTuple, TypeVar

from etude.intervals import Arms, difference_interval, permutation
from etude.records import Task
from etude.records.summary import ComparedTask, Interval, ShipVerdict
from etude.stages.shared.noise import Outcomes, PassSpread

ERROR = 0.05
"""How often a verdict may say by chance that a skill is better, or that it is worse, over all targets together. A
constant: who wants more certainty takes more tasks or more trials, which also show more of the real gains."""
SUSPECTED = 0.25
"""How often one of several targets may be suspected by chance to lose. That is enough to reject a candidate, since
another one comes, and to look again before a skill is handed out."""
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


ADDITION = Bar(log(1 / ERROR - 1), -log(2), 10)
"""A new line costs tokens at every attempt from now on: it has to be shown to help, with odds of 19 to 1. They count
how many of the optimizer's edits help (`helpful`)."""
TRUST = Bar(log(2), -log(2), 10)
"""For what is trusted on less: replaced and deleted lines, which cost nothing, and all where another trial tells
nothing new, as at temperature 0: evidence comes from more tasks then, and most edits cite few. One task that passes
is enough where attempts are hardly noisy, else two. With the bar of additions, noisy worlds end .02 lower; with log
.7, an optimizer that spoils right lines ended at .67, not at .79 of .91 (five seeds)."""
REMOVAL = Bar(log(1 / ERROR), log(0.25), 32)
"""That tasks which accuse a line do better without it. Where tasks pass with .75 and, if a line breaks them, with
.11, 32 pairs find one that breaks half of those that accuse it in 49 of 100 cases, three quarters of them in 84; one
that does nothing goes in 1 (simulated)."""
VETO = REMOVAL._replace(won=log(9))
"""That other tasks do better with it, to keep it all the same: it need not be as sure, since what breaks five tasks
and fixes eight is worth more than nothing. Half of it for several edits, most of which are right: that 16 of 32 tasks
are lost without them and 6 gained has to be enough."""
_STAKES = tuple(share / 10 * 0.95 for share in range(1, 11))
"""Shares of the capital that are bet on each task, side by side: which is best depends on the unknown gain. None bets
all of it, so that one lost task does not end the race."""
WAVE = 8
"""Tasks of a race that are attempted at once: seven clear gains end it, and one task may show none."""

_T = TypeVar("_T")


class PairedOutcomes(NamedTuple):
    """What came of a task with a change, and without it."""

    with_it: Outcomes
    without: Outcomes


def account(tasks: Iterable[PairedOutcomes], noise: PassSpread) -> float:
    """Log likelihood ratio of tasks: with the change they pass more often than without it, against as often. 0 where
    nothing was attempted."""
    return fsum(
        log(1 - _CONCERNED + _CONCERNED * noise.raised(one.with_it, one.without)) for one in tasks if sum(one.with_it)
    )


def wealth(gains: Sequence[float], above: float = 0.0) -> list[float]:
    """What 1 has come to after each gain in [-1, 1], by bets that they are above this mean on average. Were they not,
    it would ever reach x in at most one of x cases (Waudby-Smith and Ramdas 2024, Journal of the Royal Statistical
    Society B 86:1, section 4)."""
    if above <= -1:
        return [math.inf] * len(gains)
    stakes = [stake / (1 + above) for stake in _STAKES]
    courses = [accumulate([1 + stake * (gain - above) for gain in gains], mul) for stake in stakes]
    return [fsum(capital) / len(stakes) for capital in zip(*courses, strict=True)]


def bounds(gains: Sequence[float]) -> tuple[float, float]:
    """Between which means the true one of gains in [-1, 1] lies that arrive in random order. Each is the last mean
    that bets rule out, and wrong with probability `ERROR` at most, whenever one stops (section 5 there)."""
    return _at_least(gains), 0.0 - _at_least([-gain for gain in gains])


def _at_least(gains: Sequence[float]) -> float:
    grid = [step / 100 for step in range(-100, 101)]
    possible = bisect_left(grid, True, key=lambda mean: not _first(wealth(gains, mean)))
    return grid[max(possible - 1, 0)]


class Claim(NamedTuple):
    """What a race has to show."""

    margin: float = 0.0
    """Not to ship: that gains are not above this on average. To ship: that they are above 0."""
    error: float = ERROR
    """How often each of them may be shown by chance."""


def raced(gains: Sequence[float], claim: Claim = Claim()) -> tuple[ShipVerdict, int]:
    """What gains that arrive in random order show, whichever is clear first, and how many of them it takes."""
    better = _first(wealth(gains), claim.error)
    worse = _first(wealth([-gain for gain in gains], -claim.margin), claim.error)
    if better and (not worse or better <= worse):
        return "ship", better
    return ("do not ship", worse) if worse else ("inconclusive", len(gains))


def _first(capital: Sequence[float], error: float = ERROR) -> int:
    """After how many bets it is clear; 0 where it is not."""
    return next((number for number, each in enumerate(capital, 1) if each >= 1 / error), 0)


class RaceEnd(NamedTuple):
    """How a race ended."""

    verdict: ShipVerdict
    tried: int
    """Length of the shortest prefix that decides; all that there is where none does."""
    values: Sequence[tuple[float, float]]
    """What was scored in that prefix under both skills."""


async def race(
    order: Sequence[_T],
    attempt: Callable[[Sequence[_T]], Awaitable[Sequence[tuple[float, float] | None]]],
    claim: Claim = Claim(),
) -> RaceEnd:
    """Attempt what stands in a random order under both skills, a few at a time, until the gains decide.

    Args:
        order: tasks, or pairs of task and trial.
        attempt: makes the attempts and gives what they score under both; None where one has no score.
    """
    made: list[tuple[float, float] | None] = []
    ended = RaceEnd("inconclusive", 0, ())
    while ended.verdict == "inconclusive" and len(made) < len(order):
        made += await attempt(order[len(made) : len(made) + WAVE])
        scored = [(number, both) for number, both in enumerate(made, 1) if both is not None]
        verdict, end = raced([after - before for _, (before, after) in scored], claim)
        tried = len(made) if verdict == "inconclusive" else scored[end - 1][0]
        ended = RaceEnd(verdict, tried, [both for _, both in scored[:end]])
    return ended


def in_the_race(values: Sequence[Mapping[str, float]]) -> list[int]:
    """Which of several skills are not behind the best one by more than one spread, by the values of the same tasks:
    the root of the sum of the squared differences, as if each had come out either way. That is little, but all are of
    one run, and of equals one is as good as the other."""
    best = max(values, key=lambda one: fsum(one.values()))

    def behind(own: Mapping[str, float]) -> bool:
        gaps = [best[task] - own[task] for task in best if task in own]
        return fsum(gaps) > math.sqrt(fsum(gap * gap for gap in gaps))

    return [number for number, own in enumerate(values) if not behind(own)]


class PermutationVerdict(NamedTuple):
    """What attempts say of these very tasks."""

    verdict: ShipVerdict
    why: str
    """Empty with `ship`."""
    p: float
    """How often luck alone does as well: the exact p of `etude.intervals.permutation`."""


def behind(tried: Sequence[ComparedTask]) -> bool:
    """Whether the second skill scores less. One that does in the first trial need not be attempted further: in
    simulated nights one of a hundred at most that would be shown to be better begins like that, and a quarter of the
    attempts at documents that change nothing are saved."""
    return _gain(tried) < 0


def exchanged(tried: Sequence[ComparedTask], *, strict: bool, error: float = ERROR) -> PermutationVerdict:
    """Whether the second skill is better on these very tasks: whether their scores would hardly be as high if its
    attempts were exchanged with those of the first. It takes fewer attempts than bets: three tasks with three trials
    show in 74 of 100 cases that they are solved with probability .8 in place of .2, where bets do in 28.

    Args:
        strict: a task is not to be lost. It is where each attempt came out worse than each one under the first skill:
            a lower mean alone says little, with three attempts at each of ten tasks luck gives some of them one.
    """
    p = permutation([Arms(one.a, one.b) for one in tried])
    lost = [one.task for one in tried if max(one.b) < min(one.a)] if strict else []
    if _gain(tried) <= 0:
        return PermutationVerdict("do not ship", "fresh attempts show no gain", p)
    if lost:
        return PermutationVerdict("do not ship", f"{lost[0]!r} does worse in fresh attempts", p)
    if p > error:
        return PermutationVerdict("inconclusive", "the gain in fresh attempts may be luck", p)
    return PermutationVerdict("ship", "", p)


def _gain(tried: Sequence[ComparedTask]) -> float:
    return fsum(fmean(one.b) - fmean(one.a) for one in tried)


class PairedVerdict(NamedTuple):
    """What a paired difference comes to."""

    verdict: ShipVerdict
    difference: Interval
    """With its 95% interval."""
    at_least: float
    """One-sided 95% bound of the true difference."""
    at_most: float
    """The same from above."""


def decide(
    before: Sequence[float], after: Sequence[float], margin: float = 0.0, error: float = ERROR
) -> PairedVerdict:
    """Ship or not, from the values of the same tasks under both skills: `do not ship` when the difference is at most
    `margin`, `ship` when it is above 0, or above a `margin` that is a loss, each with 95% confidence (one-sided),
    or so that it is wrong with probability `error`.
    Raises ValueError: no values, or not as many of one as of the other."""
    ends = difference_interval(before, after, 1 - 2 * error)
    verdict: ShipVerdict = (
        "do not ship" if ends.high <= margin else "ship" if ends.low > min(margin, 0) else "inconclusive"
    )
    return PairedVerdict(verdict, difference_interval(before, after), ends.low, ends.high)


class Loss(NamedTuple):
    """A target that loses, and what its tasks score under both skills."""

    target: str
    before: Sequence[float]
    after: Sequence[float]


def losing(
    tasks: Sequence[Task],
    before: Mapping[str, float],
    after: Mapping[str, float],
    allowed: float,
    error: float = ERROR,
) -> Loss | None:
    """Of several targets the first that loses more than is allowed, over the tasks that have both values. Where none
    does, one is named with probability `error` at most, however many there are."""
    theirs: dict[str, list[str]] = {}
    for task in tasks:
        if task.target and task.id in before and task.id in after:
            theirs.setdefault(task.target, []).append(task.id)
    for target, names in theirs.items():
        values = [before[name] for name in names], [after[name] for name in names]
        if decide(*values, -allowed, error / len(theirs)).verdict == "do not ship":
            return Loss(target, *values)
    return None
