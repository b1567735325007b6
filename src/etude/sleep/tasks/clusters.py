"""Clusters: the same wish in other words. A cluster is on one side as a whole and stays there, so that a held-out
task is not trained on in other words. Wishes are compared by their letters: what shares hardly a word is
not found."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from etude.envs.likeness import EMPTY_WORDS, NEAR, likeness, overlap, runs_in, runs_of, words_in
from etude.envs.splits import fold
from etude.records import Split, digest
from etude.sleep.tasks.mined import MinedTask

_NEAR_SUBJECT = 0.5
"""Likeness from which two intents of one kind count as the same wish by what is in them in addition to the kind."""
_SAME_KIND = 0.6
"""Likeness from which two names of kinds mean the same, and words of an intent one of a name."""
_SAME_DATA = 0.5
"""Likeness below which two contexts make the same wish two tasks."""
_FIRST: tuple[Split, ...] = ("test", "val", "train")
"""Whose cluster a task joins that is near tasks of several sides: nothing held-out is trained on in other words."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_ASKING_WORDS = frozenset(
    re.findall(
        r"\w+",
        "add advise analyze answer compose create decide describe draft explain find generate give how list make "
        "prepare produce shall should show tell turn what whether which why write",
    )
)
"""What asks for something whatever it is."""
_ENOUGH = 4
"""Clusters of which two can be held out."""


class Sides(NamedTuple):
    """How clusters are divided."""

    val: float
    seed: int

    def of(self, cluster: str) -> Split:
        """The side of a cluster: the same each night, whatever else there is."""
        return "val" if self.lot(cluster) / 2**64 < self.val else "train"

    def lot(self, cluster: str) -> int:
        """A number below 2**64."""
        return int(digest([self.seed, cluster])[:16], 16)


def alike(one: MinedTask, other: MinedTask) -> float:
    """The likeness of two intents; 0 where both come with a context, and these have little in common."""
    if one.context.strip() and other.context.strip() and likeness(one.context, other.context) < _SAME_DATA:
        return 0.0
    return likeness(one.intent, other.intent)


def near(one: MinedTask, other: MinedTask) -> bool:
    """Whether two tasks are the same wish: by their likeness, or, where they are of one kind (`type`), by the
    likeness of their subjects, which is what the intents say in addition to the kind. `Compose an e-mail on the late
    delivery` and `A mail: the delivery is late` share only their subject; `Write a brief on the kiln` and `Write a
    brief on buses` everything else."""
    found = alike(one, other)
    if found >= NEAR or not found or likeness(one.type, other.type) < _SAME_KIND or not one.type.strip():
        return found >= NEAR
    kinds = fold(f"{one.type} {other.type}") if one.type < other.type else fold(f"{other.type} {one.type}")
    subjects = zip(_subjects(one.intent, kinds), _subjects(other.intent, kinds), strict=True)
    return all(left and right and overlap(left, right) >= _NEAR_SUBJECT for left, right in subjects)


def divide(
    tasks: Sequence[MinedTask], archive: Iterable[MinedTask] = (), *, val: float = 0.34, seed: int = 42
) -> tuple[MinedTask, ...]:
    """The tasks with their clusters and sides. The result does not depend on the order of the tasks.

    A new task, with the others of tonight that it is near to, joins an earlier cluster that one of them is near to,
    and its side, which never changes: of several a test cluster, then a held-out one, then the likest. Otherwise they
    are a new cluster, whose side is drawn at random.
    Where tonight has two clusters or more and nothing to train on, or nothing held out, a new one changes its side;
    with four or more, two are held out, so that no verdict rests on one wish alone.
    Dreams and recalled tasks are for training, and belong to the cluster of the task that they are derived from.

    Args:
        tasks: tonight's.
        archive: those of earlier nights, with their clusters and sides.
        val: share of clusters that are held out for the gate.
    """
    sides = Sides(val, seed)
    known = [task for task in archive if task.origin == "real" and task.cluster]
    split: dict[str, Split] = {task.cluster: task.split for task in known}
    clusters = {task.id: task.cluster for task in known}
    for group in _groups(task for task in tasks if task.origin == "real" and task.id not in clusters):
        name = _nearest(group, known, split) or min(_name(task) for task in group)
        split.setdefault(name, sides.of(name))
        clusters |= {task.id: name for task in group}
    tonight = {clusters[task.id] for task in tasks if task.origin == "real"}
    _repair(split, tonight, {task.cluster for task in known}, sides)
    result: list[MinedTask] = []
    for task in tasks:
        cluster = clusters.get(task.derived_from if task.origin != "real" else task.id, task.cluster)
        side: Split = split[cluster] if task.origin == "real" else "train"
        result.append(task.model_copy(update={"cluster": cluster, "split": side}))
    return tuple(result)


def by_recurrence(tasks: Sequence[MinedTask]) -> tuple[MinedTask, ...]:
    """The tasks of the clusters that were asked for in most sessions first; of equals those that a user was not
    content with; then by cluster and id."""
    sessions: dict[str, set[str]] = {}
    complaints: dict[str, int] = {}
    for task in tasks:
        sessions.setdefault(task.cluster, set()).update(session.name for session in task.sessions)
        complaints[task.cluster] = complaints.get(task.cluster, 0) + (task.feedback == "unsatisfied")

    def rank(task: MinedTask) -> tuple[int, int, str, str]:
        return -len(sessions[task.cluster]), -complaints[task.cluster], task.cluster, task.id

    return tuple(sorted(tasks, key=rank))


def _name(task: MinedTask) -> str:
    return f"c{digest([sorted(runs_in(task.intent)), fold(task.context)])[:12]}"


def _groups(tasks: Iterable[MinedTask]) -> list[list[MinedTask]]:
    """New tasks of which each is near another of its group."""
    groups: list[list[MinedTask]] = []
    for task in tasks:
        close = [group for group in groups if any(near(task, other) for other in group)]
        groups = [group for group in groups if group not in close] + [[task, *chain(*close)]]
    return groups


def _nearest(group: Sequence[MinedTask], known: Sequence[MinedTask], split: Mapping[str, Split]) -> str:
    """The earlier cluster with a task that one of the group is near to; empty when there is none."""
    close = [
        (_FIRST.index(split[other.cluster]), -alike(task, other), other.cluster)
        for other in known
        for task in group
        if near(task, other)
    ]
    return min(close)[2] if close else ""


def _repair(split: dict[str, Split], tonight: set[str], earlier: set[str], sides: Sides) -> None:
    """Give a side that has too few clusters tonight new ones of the other. What is held out is filled first."""
    both: tuple[Split, Split] = ("val", "train")
    for side, other in (both, both[::-1]):
        there, taken = ([name for name in tonight if split[name] == each] for each in (side, other))
        free = sorted((name for name in taken if name not in earlier), key=sides.lot)
        fewest = (2 if len(there) + len(taken) >= _ENOUGH else 1) if side == "val" else 1
        missing = 0 if side == "val" and not sides.val else fewest - len(there)
        for name in free[: max(0, min(missing, len(taken) - 1))]:
            split[name] = side


@lru_cache(maxsize=4096)
def _subjects(text: str, kinds: str) -> tuple[frozenset[str], frozenset[str]]:
    """What a text says without the words that ask, and those that are like one of `kinds`: all of it, and the first
    sentence that says anything."""
    skipped = EMPTY_WORDS | _ASKING_WORDS
    names = words_in(kinds)

    def subject(part: str) -> frozenset[str]:
        words = (word for word in words_in(part) if word not in skipped)
        return runs_of(word for word in words if all(likeness(word, name) < _SAME_KIND for name in names))

    said = [found for sentence in _SENTENCE.split(text) if (found := subject(sentence))]
    return subject(text), said[0] if said else frozenset()
