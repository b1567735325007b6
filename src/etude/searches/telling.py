"""Which tasks tell what a line of a finished skill does: those it was written for, and those that resemble it."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from math import fsum

from etude.records import Edit, LedgerEntry, Task, TrainState
from etude.stages.losses import Doubt
from etude.stages.tidy import Removal, removing
from etude.workbench import Workbench

_WORD = re.compile(r"\w{4,}")
_WITNESSES = 6
"""Tasks of each kind that tell whether a line is missed."""


def removals(edits: Sequence[Edit], state: TrainState, seed: int) -> list[Removal]:
    """Deletions of lines, each with solved tasks that tell whether it is missed."""
    solved = [attempt.task for _, attempt in sorted(state.earlier.items()) if attempt.solved]
    return [Removal(edit, _witnesses(edit, state, solved, seed)) for edit in edits]


def doubts(bench: Workbench, state: TrainState) -> Iterator[Doubt]:
    """Of several targets, the lines of the best skill that a target was not seen to need, each with tasks of it."""
    several = len(bench.config.targets)
    given = {line.strip() for line in bench.skill.text.splitlines()}
    lines = [line for line in state.best.text.splitlines() if line.strip() and line.strip() not in given]
    solved = {name for name, attempt in state.earlier.items() if attempt.solved}
    for theirs in (bench.tasks["train"][first::several] for first in range(several)):
        own = {task.id for task in theirs}
        for line in lines:
            entries = _entries(line, state)
            if own.intersection(name for entry in entries for name in entry.needed):
                continue
            telling = _alike(line, entries, state, theirs)
            yield Doubt(
                removing(state.best.text, line, f"{theirs[0].target} does worse with it"),
                [task for task in telling if task.id in state.earlier and task.id not in solved],
                [task for task in telling if task.id in solved],
            )


def _entries(line: str, state: TrainState) -> list[LedgerEntry]:
    """The edits that brought a line; those that rewrote the whole skill say nothing of a single one."""
    said = line.strip().lstrip("-*+ ")  # an edit may have come without its bullet
    own = (entry for entry in state.ledger if entry.accepted and entry.edit.op != "rewrite")
    return [entry for entry in own if said in entry.edit.content]


def _alike(line: str, entries: Sequence[LedgerEntry], state: TrainState, tasks: Sequence[Task]) -> list[Task]:
    """First those that the line was written for, with whatever target; then those of their type; then by words."""
    names = {name for entry in entries for name in (*entry.needed, *entry.tasks)}
    plain = {state.earlier[name].task.plain.id for name in names if name in state.earlier}
    types = {kind for entry in entries for kind in entry.types}
    common = _shared(line, tasks)
    return sorted(tasks, key=lambda task: (task.plain.id not in plain, task.type not in types, -common(task)))


def _witnesses(edit: Edit, state: TrainState, solved: Sequence[Task], seed: int) -> list[Task]:
    """Solved tasks that tell whether a line is missed: in turn one that it was written for, and one that shares its
    rarest words. The edit that brought it may have cited tasks that have no use for it."""
    entries = _entries(edit.target.splitlines()[-1], state)
    cited = dict.fromkeys(task for entry in entries for task in (*entry.needed, *entry.tasks))
    shuffled = list(solved)
    random.Random(seed).shuffle(shuffled)
    known = {task.id: task for task in shuffled}
    own = [known[name] for name in cited if name in known][:_WITNESSES]
    others = [task for task in shuffled if task.id not in cited]
    common = _shared(edit.target.splitlines()[-1], shuffled)
    alike = sorted(others, key=common, reverse=True)[: _WITNESSES if own else 2 * _WITNESSES]
    return [task for pair in zip_longest(own, alike) for task in pair if task is not None]


def _shared(line: str, tasks: Sequence[Task]) -> Callable[[Task], float]:
    """How much a task has in common with a line: words in both count by how few tasks have them."""
    words = {task.id: set(_WORD.findall(task.input.lower())) for task in tasks}
    having = Counter(word for some in words.values() for word in some)
    said = set(_WORD.findall(line.lower()))
    return lambda task: fsum(1 / having[word] for word in said & words[task.id])
