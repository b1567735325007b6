"""Clusters: the same wish in other words. A cluster is on one side as a whole and stays there, so that a held-out
task is not trained on in other words. Wishes are compared by their letters: what shares hardly a word is
not found."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from etude.envs.splits import fold
from etude.records import Split, digest
from etude.sleep.tasks.mined import MinedTask

NEAR = 0.75
"""Likeness from which two intents count as the same wish."""
_NEAR_SUBJECT = 0.5
"""Likeness from which two intents of one kind count as the same wish by what is in them in addition to the kind."""
_SAME_KIND = 0.6
"""Likeness from which two names of kinds mean the same, and words of an intent one of a name."""
_SAME_DATA = 0.5
"""Likeness below which two contexts make the same wish two tasks."""
_FIRST: tuple[Split, ...] = ("test", "val", "train")
"""Whose cluster a task joins that is near tasks of several sides: nothing held-out is trained on in other words."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORD = re.compile(r"[\w.@/-]*\w")
_EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can could do does for from have hello hey hi i in is it just me my need now of on "
        "one or our please quick quickly so some task thank thanks that the them there this to us want we will with "
        "would you your",
    )
)
"""What politeness and grammar add, not what is asked."""
_ASKING_WORDS = frozenset(
    re.findall(
        r"\w+",
        "add advise analyze answer compose create decide describe draft explain find generate give how list make "
        "prepare produce shall should show tell turn what whether which why write",
    )
)
"""What asks for something whatever it is."""
_GRAM = 3
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


def likeness(one: str, other: str) -> float:
    """How much two texts have in common, in [0, 1]: twice the runs of three letters that both have, by all that each
    has. Case, order of words, and words that only make a sentence polite or complete do not count."""
    left, right = _grams(one), _grams(other)
    if not left or not right:
        return float(left == right)
    return _shared(left, right)


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
    return all(left and right and _shared(left, right) >= _NEAR_SUBJECT for left, right in subjects)


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
    return f"c{digest([sorted(_grams(task.intent)), fold(task.context)])[:12]}"


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


def _shared(left: frozenset[str], right: frozenset[str]) -> float:
    return 2 * len(left & right) / (len(left) + len(right))


@lru_cache(maxsize=4096)
def _grams(text: str) -> frozenset[str]:
    words = _words(text)
    return _runs(word for word in words if word not in _EMPTY_WORDS) or _runs(words)


@lru_cache(maxsize=4096)
def _subjects(text: str, kinds: str) -> tuple[frozenset[str], frozenset[str]]:
    """What a text says without the words that ask, and those that are like one of `kinds`: all of it, and the first
    sentence that says anything."""
    skipped = _EMPTY_WORDS | _ASKING_WORDS
    names = _words(kinds)

    def subject(part: str) -> frozenset[str]:
        words = (word for word in _words(part) if word not in skipped)
        return _runs(word for word in words if all(likeness(word, name) < _SAME_KIND for name in names))

    said = [found for sentence in _SENTENCE.split(text) if (found := subject(sentence))]
    return subject(text), said[0] if said else frozenset()


def _words(text: str) -> list[str]:
    return [word.strip("-./") for word in _WORD.findall(text.casefold())]


def _runs(words: Iterable[str]) -> frozenset[str]:
    return frozenset(f" {word} "[at : at + _GRAM] for word in words for at in range(len(word)))
