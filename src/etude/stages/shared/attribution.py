"""Which of several edits a task needs that passes with all of them.

With the first edits a task fails up to some number, which halving finds: the edit of that number is needed. The same
is asked of those before it, until the task passes with what was found. It takes some log n attempts for each edit of
those that are needed. In noise the answer is a guess, to be shown in attempts of its own.
"""

from collections.abc import Awaitable, Callable, Sequence

MOST = 4
"""Edits that a task may need, at most: in noise, what more would explain is mostly luck."""
_LEFT_OUT = 2
"""Attempts without each edit of a set: one that fails by bad luck would keep an edit that others make needless."""

Ask = Callable[[Sequence[Sequence[int]], Sequence[str]], Awaitable[list[bool | None]]]
"""Whether tasks pass with edits, a group of numbers for each task; None without a score."""


async def needed_sets(
    tasks: Sequence[str], edits: Sequence[int], ask: Ask, most: int = MOST
) -> dict[tuple[int, ...], list[str]]:
    """Sets of at most so many edits, and the tasks that pass with each: the smallest first, then those of most tasks.
    Tasks that do not pass with all edits again, or that pass without any, are left out."""
    if not tasks or not edits:
        return {}
    passed = await ask([edits] * len(tasks) + [()] * len(tasks), [*tasks, *tasks])
    both = zip(tasks, passed, passed[len(tasks) :], strict=False)
    needs = {task: tuple[int, ...]() for task, whole, none in both if whole and none is False}
    among = dict.fromkeys(needs, edits)
    """Of tasks that need more than was found: the edits among which the next one is looked for."""
    given_up = set[str]()
    for _ in range(most):
        if not among:
            break
        last = await _last_needed(among, needs, ask)
        needs |= {task: (among[task][number], *needs[task]) for task, number in last.items()}
        among = {task: among[task][:number] for task, number in last.items()}
        passed = await ask([needs[task] for task in among], list(among))
        among = {task: some for (task, some), enough in zip(among.items(), passed, strict=True) if not enough}
        given_up |= {task for task, some in among.items() if not some}
        among = {task: some for task, some in among.items() if some}
    found: dict[tuple[int, ...], list[str]] = {}
    for task in needs:
        if task not in among and task not in given_up:
            found.setdefault(tuple(sorted(needs[task])), []).append(task)
    return dict(sorted(found.items(), key=lambda one: (len(one[0]), -len(one[1]))))


async def _last_needed(
    among: dict[str, Sequence[int]], needs: dict[str, tuple[int, ...]], ask: Ask
) -> dict[str, int]:
    """For each task the place of the last edit that it needs beside those that were found."""
    fails, passes = dict.fromkeys(among, 0), {task: len(some) for task, some in among.items()}
    while between := {task: (fails[task] + passes[task]) // 2 for task in fails if passes[task] - fails[task] > 1}:
        groups = [(*among[task][:first], *needs[task]) for task, first in between.items()]
        for task, better in zip(between, await ask(groups, list(between)), strict=True):
            (passes if better else fails)[task] = between[task]
    return {task: number - 1 for task, number in passes.items()}


async def narrowed(edits: Sequence[int], task: str, ask: Ask) -> list[int]:
    """Edits with which a task passes, without those that it passes without."""
    group = spare = list(edits)
    while len(group) > 1 and spare:
        fewer = [[each for each in group if each != number] for number in spare]
        passed = await ask(fewer * _LEFT_OUT, [task] * len(fewer) * _LEFT_OUT)
        spare = [number for place, number in enumerate(spare) if any(passed[place :: len(fewer)])]
        group, spare = [each for each in group if each not in spare[-1:]], spare[:-1]
    return group
