"""Harm: which edits that entered a skill break tasks.

All attempts tell that the search makes anyway: a task that passed before an edit and fails since speaks against it,
one that passes again speaks for it. Tasks that keep failing are attempted with some of the lines left out, since an
edit that entered early breaks tasks before any of them has passed. The edit that either way speaks most against has
to show itself, with it against without it: on the tasks that accuse it, then on all others.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import NamedTuple

from etude.concurrency import together
from etude.records import Attempt, Edit, Skill, Task, TaskHistory, TrainState, digest
from etude.skill import apply_edits
from etude.stages.shared.contest import REMOVAL, VETO, Bar, wealth
from etude.stages.shared.history import Measure
from etude.stages.shared.noise import Noise, Outcomes
from etude.stages.shared.rollout import PlannedAttempt, Rollout

_BROKEN = 0.15
"""Share of the tasks that a harmful edit breaks. Of tasks that say nothing none speaks for an edit by more than
log .85, so this need not be known well."""
_SUSPECTED = log(9)
"""Log odds from which an edit has to show itself. Where the target follows a rule in .88 of attempts, all of six runs
with a line that breaks a sixth of the tasks came above it, and three of six others."""
_LEAST, _MOST = 3, 8
"""Tasks that accuse an edit: fewer are mostly noise, and more are not needed where most of them are right."""
_AT_ONCE = 4
"""Tasks that are attempted in one round, with an edit and without."""
_APART = 500_000
"""First trial without an edit: an earlier skill may have been just that, and its first trials chose the tasks. Those
of a later step are others."""
_FAILING, _TURNS = 24, 3
"""Tasks that keep failing which are attempted with lines left out, and how often each. Of 24 lines, one that breaks
all of these tasks is found in 79 of 100 cases, half of them in 23 (simulated, each task needs two other lines)."""
BREAKS = "it breaks tasks"
"""The reason of each edit that takes another one back."""
PARTS = 3
"""One of so many lines is left out at a time: a task needs some of the others."""
_BLAMED = 2
"""Edits that are looked at then: by chance a task may pass without a line that it does not need."""
_FREED = 0.5
"""How often a task that an edit breaks passes without that and other lines."""


class Removal(NamedTuple):
    """What takes an edit back that entered earlier."""

    edit: Edit
    entered: int
    """The step in which it entered."""


class Suspect(NamedTuple):
    """An edit that may break tasks."""

    edit: Edit
    """What takes it back."""
    tasks: tuple[Task, ...]
    """Those that accuse it."""


class Harm(NamedTuple):
    """What came of a suspicion."""

    proved: bool
    attempts: tuple[Attempt, ...]
    reason: str


def added(state: TrainState) -> list[Removal]:
    """What takes back each of the edits that entered and still stand in the skill, in their order."""
    found: dict[str, Removal] = {}
    for entry in state.ledger:
        edit = entry.edit
        if edit.reason == BREAKS:  # takes back what entered, and brings nothing
            continue
        standing = edit.content.strip() and edit.op != "rewrite" and _stands(edit, state.current.text)
        if not entry.accepted or not standing:
            continue
        op, back = ("replace", edit.target) if edit.op == "replace" and edit.target else ("delete", "")
        undo = Edit(op=op, target=edit.content, content=back, reason=BREAKS)
        if apply_edits(state.current.text, [undo])[0] != state.current.text:
            found.pop(undo.id, None)  # where it came back, it counts from then on
            found[undo.id] = Removal(undo, entry.step)
    return list(found.values())


def _stands(edit: Edit, text: str) -> bool:
    """Whether an edit is still in the skill: its lines, whatever their ends are, or the phrase it put into one."""
    lines, own = ([" ".join(line.split()) for line in each.splitlines()] for each in (text, edit.content.strip()))
    whole = any(lines[start : start + len(own)] == own for start in range(len(lines)))
    return whole or (edit.op == "replace" and edit.content.strip() in text)


class Jury(NamedTuple):
    """What suspicions are judged by."""

    rollout: Rollout
    state: TrainState
    measure: Measure
    tasks: Mapping[str, Task]
    """All training tasks, by id."""
    repeats: Callable[[Task], bool]
    """Whether a further trial of a task tells anything new."""

    @property
    def removals(self) -> list[Removal]:
        """Those of the edits that are not settled."""
        return [one for one in added(self.state) if one.edit.id not in self.state.settled]

    @property
    def apart(self) -> int:
        """First trial of this step with a skill that is not the current one."""
        return _APART + (REMOVAL.most + _TURNS) * self.state.step

    def without(self, edits: Sequence[Edit]) -> Skill:
        """The current skill with these taken back."""
        return self.state.current.with_text(apply_edits(self.state.current.text, edits)[0])

    async def attempt(self, planned: Sequence[PlannedAttempt]) -> tuple[Attempt, ...]:
        """Make attempts.

        Raises:
            VoidStop: too many of them errored.
        """
        tries = digest([[each.task.id, each.skill.hash, each.trial] for each in planned])
        key = {"stage": "harm", "step": self.state.step, "tries": tries}
        return await self.rollout.settle(planned, "train", key) if planned else ()


def suspected(jury: Jury) -> Suspect | None:
    """The edit that the history speaks most against, of those where this is clear and tasks can be named."""
    for removal in _by_suspicion(jury, jury.removals):
        found: list[tuple[int, str]] = []
        for name, known in sorted(jury.state.history.items()):
            before, since = known.split(removal.entered)
            often = len(since) > 1 or (since and name in jury.tasks and not jury.repeats(jury.tasks[name]))
            if name in jury.tasks and any(before) and often and not any(since):
                found.append((-len(since), name))
        if len(found) >= _LEAST:
            return Suspect(removal.edit, tuple(jury.tasks[name] for _, name in sorted(found)[:_MOST]))
    return None


def since_harm(jury: Jury) -> list[Edit]:
    """What takes back all that entered since it did against which the history speaks most, the last first; empty
    where it does not speak clearly."""
    removals = added(jury.state)
    worst = _by_suspicion(jury, removals)[:1]
    return [one.edit for one in reversed(removals) if worst and one.entered >= worst[0].entered]


def _by_suspicion(jury: Jury, removals: Sequence[Removal]) -> list[Removal]:
    """Those that are suspected, the most suspected first."""
    scores = {one.entered: suspicion(one.entered, jury.state.history, jury.measure.noise) for one in removals}
    found = [one for one in removals if scores[one.entered] >= _SUSPECTED]
    return sorted(found, key=lambda one: (-scores[one.entered], -one.entered))


def suspicion(entered: int, history: Mapping[str, TaskHistory], noise: Noise) -> float:
    """Log odds that what entered in this step breaks tasks: those that passed before do since what a task does that
    failed twice, against what one does that passed once."""
    total = 0.0
    for known in history.values():
        before, since = known.split(entered)
        if any(before) and since:
            outcomes = Outcomes(sum(since), len(since) - sum(since))
            same, broken = noise.likelihood(outcomes, Outcomes(1, 0)), noise.likelihood(outcomes, Outcomes(0, 2))
            total += log(1 - _BROKEN + _BROKEN * broken / same)
    return total


async def blamed(jury: Jury) -> tuple[list[Suspect], tuple[Attempt, ...]]:
    """The edits without which tasks pass that keep failing, two at most; and what was attempted."""
    removals, history = jury.removals, jury.state.history
    failing = [task.id for task in keep_failing(jury) if not history[task.id].passed]
    failing = [name for name in failing if history[name].skill == jury.state.current.hash]
    if len(failing) < _LEAST or len(removals) < PARTS:
        return [], ()
    made: list[tuple[str, set[int], bool]] = []
    attempts: list[Attempt] = []
    for turn in range(_TURNS):
        left_out = [_drawn(len(removals), name, turn) for name in failing]
        planned = [
            PlannedAttempt(jury.tasks[name], jury.without([removals[n].edit for n in numbers]), jury.apart + turn)
            for name, numbers in zip(failing, left_out, strict=True)
        ]
        for name, numbers, one in zip(failing, left_out, await jury.attempt(planned), strict=True):
            attempts.append(one)
            if one.score is not None:
                made.append((name, set(numbers), jury.measure.better(one, history[name].first or 0.0)))
        if not any(passed for *_, passed in made):
            return [], tuple(attempts)
    suspects: list[Suspect] = []
    scores = [_freed(number, made) for number in range(len(removals))]
    for number in sorted(range(len(removals)), key=lambda number: -scores[number])[:_BLAMED]:
        if scores[number] >= _SUSPECTED:
            first = dict.fromkeys(name for name, numbers, passed in made if passed and number in numbers)
            tasks = tuple(jury.tasks[name] for name in dict.fromkeys([*first, *failing]))
            suspects.append(Suspect(removals[number].edit, tasks[:_MOST]))
    return suspects, tuple(attempts)


def _freed(number: int, made: Sequence[tuple[str, set[int], bool]]) -> float:
    """Log odds that tasks pass for want of this line, against that they pass as they do where it is kept."""
    kept = [passed for _, numbers, passed in made if number not in numbers]
    luck = (1 + sum(kept)) / (2 + len(kept))
    chance = max(luck, _FREED)
    gone = [passed for _, numbers, passed in made if number in numbers]
    return sum(log(chance / luck) if passed else log((1 - chance) / (1 - luck)) for passed in gone)


def keep_failing(jury: Jury) -> list[Task]:
    """Tasks that failed when last attempted, and the time before: those that did so last, since what failed before an
    edit entered may have been mended by it."""
    found: list[tuple[int, str]] = []
    for name, known in sorted(jury.state.history.items()):
        last = [passed for _, passed in known.seen[-2:]]
        if name in jury.tasks and len(last) == 2 and not any(last):
            found.append((-known.seen[-1][0], name))
    return [jury.tasks[name] for _, name in sorted(found)][:_FAILING]


def _drawn(count: int, name: str, turn: int) -> list[int]:
    """The lines that are left out."""
    return random.Random(f"{name}/{turn}").sample(range(count), max(1, count // PARTS))


async def judged(jury: Jury, suspect: Suspect) -> Harm:
    """Whether tasks that accuse an edit do better without it, and other tasks not clearly worse."""
    race = _Race(jury, suspect.edit)
    worse = await race.won(suspect.tasks, REMOVAL)
    told = race.told
    if worse:
        scored = [name for name, known in jury.state.history.items() if known.seen or known.first is not None]
        others = [jury.tasks[name] for name in sorted(scored) if name in jury.tasks]
        others = [task for task in others if task not in suspect.tasks]
        random.Random(suspect.edit.id).shuffle(others)
        worse = not await race.won(others, VETO, -1)
        told = f"{told}; {race.told}"
    return Harm(worse, tuple(race.attempts), f"an edit breaks tasks: {told}")


class _Race:
    """The skill without an edit against the skill with it."""

    def __init__(self, jury: Jury, edit: Edit) -> None:
        self.jury, self.without = jury, jury.without([edit])
        self.attempts: list[Attempt] = []
        self.gains: list[float] = []

    @property
    def told(self) -> str:
        """For people."""
        return f"{len(self.gains)} attempts score {sum(self.gains):+g} without it"

    async def won(self, tasks: Sequence[Task], bar: Bar, sign: int = 1) -> bool:
        """Whether tasks do better without the edit, or, for -1, with it; false as soon as that is unlikely."""
        self.gains = []
        pairs = [(task, turn) for turn in range(bar.most) for task in tasks if not turn or self.jury.repeats(task)]
        pairs = pairs[: bar.most]
        for start in range(0, len(pairs), _AT_ONCE):
            await self._attempted(pairs[start : start + _AT_ONCE])
            bets = log(wealth([sign * gain for gain in self.gains])[-1]) if self.gains else 0.0
            if bets >= bar.won:
                return True
            behind = start >= bar.most / 2 and sign * sum(self.gains) <= 0  # it would hardly be won any more
            if bets <= bar.lost or behind:
                return False
        return False

    async def _attempted(self, pairs: Sequence[tuple[Task, int]]) -> None:
        jury, state = self.jury, self.jury.state
        made = {name: known.trials for name, known in state.history.items() if known.skill == state.current.hash}
        planned = [
            PlannedAttempt(task, skill, first + turn if jury.repeats(task) else 0)
            for task, turn in pairs
            # The first trials of this step may have been those that named the edit.
            for skill, first in ((state.current, made.get(task.id, 0)), (self.without, jury.apart + _TURNS))
        ]
        # Each side for itself: a task that has no score with either is one void of four, not two.
        arms = await together(jury.attempt(planned[side::2]) for side in (0, 1))
        self.attempts += [one for arm in arms for one in arm]
        for before, after in zip(*arms, strict=True):
            if before.score is not None and after.score is not None:
                self.gains.append(jury.measure.value(after) - jury.measure.value(before))
