"""Which of several edits a task needs that passes with all of them.

A part of the edits is left out, and halved where the task fails without it, until nothing is left that could go. What
an attempt says is weighed, since in noise a task fails now and then with all that it needs. What is found is a guess
all the same, to be shown in attempts of its own.
"""

from collections.abc import Awaitable, Callable, Sequence
from math import log

from etude.stages.shared.noise import Outcomes, PassSpread

_LEFT = 0.1
"""What is left of how often a task passes without an edit that it needs: mostly what passes by luck."""
_SURE = log(9)
"""Odds from which on a part is taken to be needed, or not to be. One pass without it is enough for the latter."""
_NEEDED = log(39)
"""The same for a single edit to be needed: with log 9, twice as many useless lines entered (seeds 20001 to 20008)."""
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
    while left := [task for task, one in searched.items() if one.parts]:
        turn = [task for task in left for _ in range(_AT_ONCE if again(task) else 1)]
        passed = await ask([searched[task].fewer for task in turn], turn)
        for task in left:
            searched[task].told([each for name, each in zip(turn, passed, strict=True) if name == task])
    found: dict[tuple[int, ...], list[str]] = {}
    for task, one in searched.items():
        if sure or again(task) or len(one.needed) == 1:
            found.setdefault(tuple(sorted(one.needed)), []).append(task)
    found.pop((), None)
    return dict(sorted(found.items(), key=lambda one: (len(one[0]), -len(one[1]))))


class _TaskNeeds:
    """The edits that one task needs, as far as is known."""

    def __init__(self, edits: Sequence[int], seen: Outcomes, again: bool, most: int) -> None:
        self.needed, self._seen, self._again, self._most = list(edits), seen, again, most
        self.parts: list[list[int]] = []
        """What may still go; the last one is left out next."""
        self._without, self._made = Outcomes(), 0
        self._halve(self.needed)

    @property
    def fewer(self) -> list[int]:
        """What the task is attempted with next."""
        return [each for each in self.needed if each not in self.parts[-1]]

    def told(self, passed: Sequence[bool | None]) -> None:
        """What came of it."""
        self._made += len(passed)
        self._without = self._without.joined(Outcomes(passed.count(True), passed.count(False)))
        both = self._seen.joined(self._without)
        odds = log(_SPREAD.two_kinds(self._seen, self._without, _LEFT) / _SPREAD.two_kinds(both, Outcomes(), 1))
        sure = _NEEDED if odds > 0 and len(self.parts[-1]) == 1 else _SURE
        if abs(odds) >= sure or sum(self._without) >= _EACH or not self._again:
            fewer, part = self.fewer, self.parts.pop()
            if odds < 0:
                self.needed, self._seen = fewer, both
            else:
                self._halve(part)
            self._without = Outcomes()
        if self.parts and self._made >= self._most:
            self.needed, self.parts = [], []

    def _halve(self, part: list[int]) -> None:
        if half := len(part) // 2:
            self.parts += [part[:half], part[half:]]
