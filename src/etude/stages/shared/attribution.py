"""Which of several edits a task needs that passes with all of them.

Parts of the edits are left out, one in each attempt, and halved where the task fails without it, until nothing is
left that could go. What an attempt says is weighed, since in noise a task fails now and then with all that it needs.
What is found is a guess all the same, to be shown in attempts of its own.
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from math import log

from etude.stages.shared.noise import Outcomes, PassSpread

_LEFT = 0.1
"""What is left of how often a task passes without an edit that it needs: mostly what passes by luck."""
_SURE = log(9)
"""Odds from which on a part is taken to be needed, or not to be. One pass without it is enough for the latter."""
_NEEDED = log(79)
"""The same for a single edit to be needed. Where tasks need three edits at once and pass with .5 then, 7 of 120
others enter beside these; with log 39, 13 (simulated)."""
_EACH = 12
"""Attempts without a part, at most: then it is what is likelier."""
MOST, _UNSURE = 160, 40
"""Attempts at a task after which it is given up, and where it is not shown that edits help at all. With 40 for both,
three of six runs in which all tasks need three rules that are each followed with .8 found nothing."""
_AT_ONCE = 2
"""Attempts without a part before the odds are looked at: most parts are settled by one or two."""
_SPREAD = PassSpread()
"""Before anything is seen: what the run has measured is how tasks pass that lack these edits."""

Ask = Callable[[Sequence[Sequence[int]], Sequence[str]], Awaitable[list[bool | None]]]
"""Whether tasks pass with edits, a group of numbers for each task; None without a score."""


async def needed_sets(
    tasks: Sequence[str], edits: Sequence[int], ask: Ask, again: Callable[[str], bool], *, sure: bool
) -> dict[tuple[int, ...], list[str]]:
    """Sets of edits, and the tasks that pass with each: the smallest first, then those of most tasks. Tasks that pass
    without any are left out.

    Args:
        again: whether another attempt at a task tells anything new. Where none does, sets of several may be luck.
        sure: it is shown that tasks do better with all edits; else those that fail with them again are left out.
    """
    passed = await ask([edits] * len(tasks) + [()] * len(tasks), [*tasks, *tasks])
    both = zip(tasks, passed, passed[len(tasks) :], strict=False)
    searched = {
        task: _TaskNeeds(edits, Outcomes(1).plus(bool(whole)), again(task), MOST if sure else _UNSURE)
        for task, whole, none in both
        if none is False and (whole or (whole is False and sure))
    }
    while left := [one for one in searched.items() if one[1].parts]:
        turns = [(task, fewer) for task, one in left for fewer in one.turn]
        passed = iter(await ask([fewer for _, fewer in turns], [task for task, _ in turns]))
        for _, one in left:
            one.told(list(islice(passed, len(one.turn))))
    found: dict[tuple[int, ...], list[str]] = {}
    for task, one in searched.items():
        if sure or again(task) or len(one.needed) == 1:
            found.setdefault(tuple(sorted(one.needed)), []).append(task)
    found.pop((), None)
    return dict(sorted(found.items(), key=lambda one: (len(one[0]), -len(one[1]))))


class _TaskNeeds:
    """The edits that one task needs, as far as is known."""

    def __init__(self, edits: Sequence[int], seen: Outcomes, again: bool, most: int) -> None:
        self.needed, self._seen, self._again, self._left = list(edits), seen, again, most
        self._times = _AT_ONCE if again else 1
        self.parts: dict[tuple[int, ...], Outcomes] = {}
        """What may still go, and what came of the task without it."""
        self._halve(tuple(edits))

    @property
    def turn(self) -> list[list[int]]:
        """What the task is attempted with next."""
        fewer = [[each for each in self.needed if each not in part] for part in self.parts]
        return [each for each in fewer for _ in range(self._times)][: max(1, self._left)]

    def told(self, passed: Sequence[bool | None]) -> None:
        """What came of it."""
        for part, each in zip([part for part in self.parts for _ in range(self._times)], passed, strict=False):
            if each is not None:
                self.parts[part] = self.parts[part].plus(each)
        self._left -= len(passed)
        # What goes first shows how often the task passes, by which the others are weighed.
        while odds := {part: odds for part in self.parts if (odds := self._settled(part)) is not None}:
            part = min(odds, key=odds.__getitem__)
            without = self.parts.pop(part)
            if odds[part] >= 0:
                self._halve(part)
                continue
            self.needed = [each for each in self.needed if each not in part]
            self._seen = self._seen.joined(without)
            # Others may go, too, but perhaps not with it: what the one does the other may do. They are one part now.
            others = tuple(edit for other in self.parts if odds.get(other, 0) < 0 for edit in other)
            self.parts = {other: seen for other, seen in self.parts.items() if odds.get(other, 0) >= 0}
            self.parts |= {others: Outcomes()} if others else {}
        if self.parts and self._left <= 0:
            self.needed, self.parts = [], {}

    def _settled(self, part: tuple[int, ...]) -> float | None:
        """The log odds that the task needs some of a part; None while that is open."""
        without = self.parts[part]
        both = self._seen.joined(without)
        odds = log(_SPREAD.two_kinds(self._seen, without, _LEFT) / _SPREAD.two_kinds(both, Outcomes(), 1))
        sure = _NEEDED if odds > 0 and len(part) == 1 else _SURE
        return odds if abs(odds) >= sure or sum(without) >= (_EACH if self._again else 1) else None

    def _halve(self, part: tuple[int, ...]) -> None:
        if half := len(part) // 2:
            self.parts |= {part[:half]: Outcomes(), part[half:]: Outcomes()}
