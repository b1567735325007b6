"""Fresh attempts at the held-out tasks of a night, under the old document and under a candidate that passed the gate.
They decide: the candidate was selected on these tasks, so its own score says little."""

import asyncio
import math
from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from etude.config import TrainConfig
from etude.intervals import Arms, permutation
from etude.measure.compare import acompare_skills
from etude.models import answered_by_hand
from etude.records import Record, Skill
from etude.records.summary import Comparison, Tried
from etude.sleep.config import SleepConfig
from etude.workbench import Given

ALPHA = 0.05
"""Highest p with which a candidate is proposed, so that one that changes nothing is proposed in at most 5% of nights.
A constant: a user who wants more certainty raises `sleep.confirm_trials`, which also finds more of the real gains."""

Verdict = Literal["accepted", "rejected", "inconclusive"]


class Fresh(Record):
    """What fresh attempts at the held-out tasks show."""

    p: float
    """How often luck alone does as well: the exact p of `etude.intervals.permutation`."""
    tasks: int
    varied: int | None
    """Noise floor: tasks whose attempts under the old document differ among themselves; None with one each."""

    @property
    def settled(self) -> bool:
        """Whether luck alone is ruled out."""
        return self.p <= ALPHA

    @property
    def text(self) -> str:
        """For people."""
        found = f"p = {self.p:.2g}, {'not above' if self.settled else 'above'} the significance level {ALPHA:g}"
        if self.varied is None:
            return found
        return f"{found}; noise floor: {self.varied} of {self.tasks} held-out tasks vary under the same old document"


def trials_of(config: SleepConfig, given: Given) -> int:
    """Fresh attempts at each task under each document. A person who answers by hand would give the same answer
    twice, so there are none then."""
    target = given.get("target")
    by_hand = answered_by_hand(config.target) if target is None else target.answered_by_hand
    return 0 if by_hand else config.sleep.confirm_trials


async def confirmed(
    config: TrainConfig, before: Skill, after: Skill, trials: int, parts: Given
) -> tuple[Verdict, str, Comparison, Fresh]:
    """Make fresh attempts under both documents and decide; also what to add to the reason, and on what it rests."""
    found = await acompare_skills(config, before, after, "val", trials, **parts)
    fresh = await asyncio.to_thread(_fresh_of, found.tried)
    lost = lost_in(found.tried) if config.gate.no_regression else ()
    if math.fsum(fmean(one.b) - fmean(one.a) for one in found.tried) <= 0:
        return "rejected", ", but fresh attempts show no gain", found, fresh
    if lost:
        return "rejected", f", but {lost[0]!r} does worse in fresh attempts", found, fresh
    if fresh.settled:
        return "accepted", "", found, fresh
    return "inconclusive", ", but the gain in fresh attempts may be luck", found, fresh


def _fresh_of(tried: Sequence[Tried]) -> Fresh:
    """What attempts show."""
    several = [one for one in tried if len(one.a) > 1]
    return Fresh(
        p=permutation([Arms(one.a, one.b) for one in tried]),
        tasks=len(tried),
        varied=sum(len(set(one.a)) > 1 for one in several) if several else None,
    )


def lost_in(tried: Sequence[Tried]) -> tuple[str, ...]:
    """Tasks at which every attempt under the candidate came out worse than every one under the old document. A lower
    mean alone says little: with three attempts at each of ten tasks luck gives some of them one."""
    return tuple(one.task for one in tried if max(one.b) < min(one.a))
