"""Harm: which edits that entered a skill break tasks.

All attempts tell that the search makes anyway: a task that passed before an edit and fails since speaks against it,
one that passes again speaks for it. Where that is clear, the tasks are asked which edit it is (`tracing`), and that
one has to show itself, with it against without it: on the tasks that accuse it, then on all others.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from itertools import islice, takewhile
from math import log
from statistics import fmean
from typing import NamedTuple

from etude.concurrency import together
from etude.records import Attempt, Edit, Task, TaskHistory
from etude.records.tasks import once_each
from etude.stages.shared.contest import REMOVAL, VETO, Bar, wealth
from etude.stages.shared.jury import Jury, Removal, Suspect
from etude.stages.shared.noise import Outcomes, PassSpread
from etude.stages.shared.rollout import PlannedAttempt

_BROKEN = (0.05, 0.15)
"""Shares of the tasks that a harmful edit may break, of which the one counts that fits better. With .15 and one pass
before, a line by which a sixth passes half as often stayed in five of 20 runs, and so in one (other seeds)."""
_IN_A_ROW = 4
"""Times that a task is taken to have passed before, one after the other, at most: agents may change with time."""
_SUSPECTED = log(9)
"""Log odds from which an edit has to show itself. With .15 and one pass before, at compliance .88, all of six runs
with a line that breaks a sixth of the tasks came above it, and three of six others."""
_LEAST, ACCUSERS = 3, 8
"""Tasks that accuse an edit: fewer are mostly noise, and more are not needed where most of them are right."""
_AT_ONCE = 4
"""Tasks that are attempted in one round, with an edit and without."""


class Harm(NamedTuple):
    """What came of a suspicion."""

    proved: bool
    attempts: tuple[Attempt, ...]
    reason: str


def suspected(jury: Jury) -> Suspect | None:
    """The edit that the history speaks most against, of those where this is clear and tasks can be named."""
    for removal in _by_suspicion(jury):
        lost = _lost(jury, removal.entered).items()
        found = sorted((-since, name) for name, since in lost if since > 1 or not jury.repeats(jury.tasks[name]))
        if len(found) >= _LEAST:
            return Suspect(removal.edit, tuple(jury.tasks[name] for _, name in found[:ACCUSERS]))
    return None


def _lost(jury: Jury, entered: int) -> dict[str, int]:
    """Tasks that passed before this step and have only failed since, and how often."""
    found: dict[str, int] = {}
    for name, known in jury.history.items():
        before, since = known.split(entered)
        if name in jury.tasks and any(before) and since and not any(since):
            found[name] = len(since)
    return found


def _by_suspicion(jury: Jury) -> list[Removal]:
    """Those suspected that were not before, the worst first: by one of several targets, as others may gain by it."""
    noise, of_target = jury.measure.noise, defaultdict[str, dict[str, TaskHistory]](dict)
    for name, known in jury.history.items():
        of_target[jury.tasks[name].target if name in jury.tasks else ""][name] = known
    removals = [one for one in jury.removals if one.edit.id not in jury.state.suspected]
    steps = {one.entered for one in removals}
    scores = {step: max((suspicion(step, some, noise) for some in of_target.values()), default=0.0) for step in steps}
    found = [one for one in removals if scores[one.entered] >= _SUSPECTED]
    return sorted(found, key=lambda one: (-scores[one.entered], -one.entered))


def suspicion(entered: int, history: Mapping[str, TaskHistory], noise: PassSpread) -> float:
    """Log odds that what entered in this step breaks tasks: those that passed before do since what a task does that
    failed twice, against what one does that passed as often as it did last."""
    alike = Counter[tuple[Outcomes, int]]()
    for known in history.values():
        before, since = known.split(entered)
        if any(before) and since:
            row = max(1, len(list(takewhile(bool, reversed(before)))))
            alike[Outcomes(sum(since), len(since) - sum(since)), min(row, _IN_A_ROW)] += 1
    odds = [
        (noise.likelihood(outcomes, Outcomes(0, 2)) / noise.likelihood(outcomes, Outcomes(row)), tasks)
        for (outcomes, row), tasks in alike.items()
    ]
    return max(sum(tasks * log(1 - share + share * one) for one, tasks in odds) for share in _BROKEN)


async def judged(jury: Jury, edits: Sequence[Edit], accusers: Sequence[Task]) -> Harm:
    """Whether tasks that accuse edits do better without them, and other tasks not clearly worse. Of several targets
    all attempt a task, and what counts is their mean: what one loses by another may need."""
    race, veto = _Race(jury, edits), VETO._replace(won=VETO.won / min(2, len(edits)))
    every = {each[0].own_id: each for each in once_each(jury.tasks.values())}
    own = {task.own_id: every[task.own_id] for task in accusers}
    worse = await race.won(list(own.values()), REMOVAL)
    told = race.told
    if worse and (others := _others(jury, edits, own)):
        worse = not await race.won(others, veto, -1)
        told = f"{told}; {race.told}"
    what = "an edit breaks" if len(edits) == 1 else f"{len(edits)} edits break"
    return Harm(worse, tuple(race.attempts), f"{what} tasks: {told}" if worse else told)


def _others(jury: Jury, edits: Sequence[Edit], own: Container[str]) -> list[tuple[Task, ...]]:
    """All other tasks, in random order."""
    known = sorted(jury.state.history.items())
    scored = [name for name, each in known if each.seen or each.best_failed is not None]
    tasks = (jury.tasks[name] for name in scored if name in jury.tasks)
    left = [each for each in once_each(tasks) if each[0].own_id not in own]
    random.Random(edits[0].id).shuffle(left)
    return left


class _Race:
    """The skill without some edits against the skill with them."""

    def __init__(self, jury: Jury, edits: Sequence[Edit]) -> None:
        self.jury, self.edits = jury, edits
        self.attempts: list[Attempt] = []
        self.gains: list[float] = []

    @property
    def told(self) -> str:
        """For people."""
        return f"{len(self.gains)} pairs of attempts score {sum(self.gains):+g} without"

    async def won(self, tasks: Sequence[Sequence[Task]], bar: Bar, sign: int = 1) -> bool:
        """Whether tasks, each for some targets, do better without the edits, or, for -1, with them; false as soon as
        that is unlikely."""
        self.gains = []
        repeats = self.jury.repeats
        pairs = [(each, n) for n in range(bar.most) for each in tasks if not n or all(map(repeats, each))][: bar.most]
        for start in range(0, len(pairs), _AT_ONCE):
            await self._attempted(pairs[start : start + _AT_ONCE])
            bets = log(wealth([sign * gain for gain in self.gains])[-1]) if self.gains else 0.0
            if bets >= bar.won:
                return True
            made, gain = len(self.gains), sign * sum(self.gains)
            if sign > 0:  # tasks that led to an edit pass without it nearly always
                behind = gain <= 0 or (start >= bar.most / 4 and gain < made / 4)
            else:
                behind = gain <= 0 and start >= bar.most / 2
            if bets <= bar.lost or behind:  # it would hardly be won any more
                return False
        return False

    async def _attempted(self, pairs: Sequence[tuple[Sequence[Task], int]]) -> None:
        jury, state = self.jury, self.jury.state
        made = {name: known.trials for name, known in state.history.items() if known.skill == state.current.hash}
        planned: list[PlannedAttempt] = []
        for task, turn in ((task, turn) for each, turn in pairs for task in each):
            for skill in (jury.without([], task), jury.without(self.edits, task)):
                # Attempts with the current skill go on; those with another may have been what named the edits.
                first = made.get(task.id, 0) if skill.hash == state.current.hash else jury.race
                planned.append(PlannedAttempt(task, skill, first + turn if jury.repeats(task) else 0))
        # Each side for itself: a task that has no score with either is one void of four, not two.
        arms = await together(jury.attempt(planned[side::2]) for side in (0, 1))
        self.attempts += [one for arm in arms for one in arm]
        gains = iter([self._gain(before, after) for before, after in zip(*arms, strict=True)])
        scored = [[gain for gain in islice(gains, len(each)) if gain is not None] for each, _ in pairs]
        self.gains += map(fmean, filter(None, scored))

    def _gain(self, before: Attempt, after: Attempt) -> float | None:
        value = self.jury.measure.value
        return None if before.score is None or after.score is None else value(after) - value(before)
