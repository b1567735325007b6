"""Clusters: the same wish in other words. A cluster is on one side as a whole, and stays there over the nights until
sides are drawn anew (`etude.sleep.tasks.rotation`), so that fewer rewordings of held-out tasks are trained on. What
shares hardly a word is not found: there is no model in it, and no meaning."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from etude.envs.splits import fold
from etude.errors import ConfigError
from etude.records import Record, Split, digest
from etude.sleep.tasks.mined import MinedTask

__all__ = ["NEAR", "Division", "alike", "by_recurrence", "divide", "followed", "likeness", "near"]

NEAR = 0.75
"""Likeness from which two intents count as the same wish."""
_NEAR_SUBJECT = 0.5
"""Likeness from which two intents of one kind count as the same wish by what is in them beside the kind."""
_SAME_KIND = 0.6
"""Likeness from which two names of kinds mean the same, and words of an intent one of a name."""
_SAME_DATA = 0.5
"""Likeness below which two contexts make the same wish two tasks."""
_NEEDED: tuple[Split, Split] = ("train", "val")
_LOCKED: tuple[Split, ...] = ("test", "val", "train")
"""The sides, the one that is left least easily first."""

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


class Division(Record):
    """Tasks with their clusters and sides."""

    tasks: tuple[MinedTask, ...]
    moved: tuple[str, ...] = ()
    """Clusters that were put on the other side, for one of the two would have been empty."""
    lacking: tuple[Split, ...] = ()
    """Which of `train` and `val` has no task nevertheless."""


class Sides(NamedTuple):
    """How clusters are divided."""

    val: float
    test: float
    seed: int

    def of(self, cluster: str) -> Split:
        """The side of a cluster: the same each night, whatever else there is."""
        place = self.lot(cluster) / 2**64
        return "val" if place < self.val else "test" if place < self.val + self.test else "train"

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
    """Whether two tasks are the same wish: by their likeness, or, where they are of one kind (`type`), by that of
    what their intents say beside the kind, all in all and in the first sentence: what a user adds to every request
    is no subject. `Compose an e-mail on the late delivery` and `A mail: the delivery is
    late` have little in common but their subject; `Write a brief on the kiln` and `Write a brief on buses` all but
    that."""
    found = alike(one, other)
    if found >= NEAR or not found or likeness(one.type, other.type) < _SAME_KIND or not one.type.strip():
        return found >= NEAR
    kinds = fold(f"{one.type} {other.type}") if one.type < other.type else fold(f"{other.type} {one.type}")
    subjects = zip(_subjects(one.intent, kinds), _subjects(other.intent, kinds), strict=True)
    return all(left and right and _shared(left, right) >= _NEAR_SUBJECT for left, right in subjects)


def divide(
    tasks: Sequence[MinedTask],
    archive: Iterable[MinedTask] = (),
    *,
    val: float = 0.34,
    test: float = 0.0,
    seed: int = 42,
) -> Division:
    """Find the cluster of every task, and its side. The result does not depend on the order of the tasks; they come
    back in the order in which they were given.

    A task that is like one of an earlier night joins its cluster and its side. Where it is like tasks of several
    sides it is for `test`, else held out, and takes those of them that come tonight along; but nothing leaves `test`,
    and nothing that an earlier night had on another side enters it. Other clusters are divided at random.

    Where there are two clusters or more and nothing to train on, or nothing held out, one that is new tonight changes
    its side; those of earlier nights stay where they are, and nothing is held out where `val` is 0. Dreams and
    recalled tasks are for training, and belong to the cluster of what they are derived from.

    Args:
        tasks: tonight's.
        archive: those of earlier nights, with their clusters and sides.
        val: share of clusters that are held out for the gate.
        test: share of clusters that are scored once and decide nothing.
        seed: of the division.

    Raises:
        ConfigError: a share is not in [0, 1], or together they leave nothing to train on.
    """
    if not (0 <= val <= 1 and 0 <= test <= 1 and val + test < 1):
        raise ConfigError(
            f"val = {val:g}, test = {test:g}: shares of clusters are at least 0 and together less than 1",
            hint="for example 0.34 and 0",
        )
    sides = Sides(val, test, seed)
    known = [task for task in archive if task.origin == "real" and task.cluster]
    real = sorted((task for task in tasks if task.origin == "real"), key=lambda task: (task.id, task.intent))
    clusters, split = _clusters(real, known, sides)
    moved = _repair(split, {task.cluster for task in known}, sides)
    placed: list[MinedTask] = []
    for task in tasks:
        cluster = clusters.get(task.derived_from if task.origin != "real" else task.id, task.cluster)
        side: Split = split[cluster] if task.origin == "real" else "train"
        placed.append(task.model_copy(update={"cluster": cluster, "split": side}))
    held = {task.split for task in placed}
    lacking: list[Split] = [side for side in _NEEDED if side not in held]
    return Division(tasks=tuple(placed), moved=moved, lacking=tuple(lacking))


def by_recurrence(tasks: Sequence[MinedTask]) -> tuple[MinedTask, ...]:
    """The tasks of the clusters that were asked for in most sessions first; of equals those that a user was not
    content with; then by cluster and id."""
    sessions: dict[str, set[tuple[str, str]]] = {}
    complaints: dict[str, int] = {}
    for task in tasks:
        found = sessions.setdefault(task.cluster, set())
        found.update((session.source, session.id) for session in task.sessions)
        complaints[task.cluster] = complaints.get(task.cluster, 0) + (task.feedback == "unsatisfied")

    def rank(task: MinedTask) -> tuple[int, int, str, str]:
        return -len(sessions[task.cluster]), -complaints[task.cluster], task.cluster, task.id

    return tuple(sorted(tasks, key=rank))


def followed(known: Iterable[MinedTask], tasks: Iterable[MinedTask]) -> tuple[MinedTask, ...]:
    """Tasks of earlier nights, where tonight's take them: all of a cluster go with those of it that have joined
    another one, and are on the side of their cluster. What is in `test` stays there, and dreams are for training."""
    tonight = {task.id: task for task in tasks if task.origin == "real" and task.cluster}
    sides = {task.cluster: task.split for task in tonight.values()}
    earlier = tuple(known)
    joined = {task.cluster: tonight[task.id].cluster for task in earlier if task.id in tonight}
    found: list[MinedTask] = []
    for task in earlier:
        cluster = joined.get(task.cluster, task.cluster)
        stays = task.split == "test" or task.origin != "real"
        split = task.split if stays else sides.get(cluster, task.split)
        found.append(task.model_copy(update={"cluster": cluster, "split": split}))
    return tuple(found)


def _clusters(
    tasks: Sequence[MinedTask], known: Sequence[MinedTask], sides: Sides
) -> tuple[dict[str, str], dict[str, Split]]:
    """The cluster of each task by its id, and the side of each cluster.

    What is near a test task goes to it first, but for the tasks that earlier nights had on another side: nothing that
    was trained on, or chosen by, enters `test`.
    """
    homes = {task.id: task.cluster for task in known}
    held = _held(known)
    locked = [task for task in known if held[task.cluster] == "test"]
    used = [task for task in known if held[task.cluster] != "test"]
    clusters: dict[str, str] = {}
    split: dict[str, Split] = {}
    if locked:
        apart = {task.id for task in used}
        for group in _components([task for task in tasks if task.id not in apart], homes):
            if name := _nearest(group, locked, held):
                split[name] = "test"
                clusters.update((task.id, name) for task in group)
    for group in _components([task for task in tasks if task.id not in clusters], homes):
        if name := _nearest(group, used, held):
            split[name] = held[name]
        else:
            name = f"c{min(digest([sorted(_grams(task.intent)), fold(task.context)]) for task in group)[:12]}"
            split[name] = sides.of(name)
        clusters.update((task.id, name) for task in group)
    return clusters, split


def _held(known: Iterable[MinedTask]) -> dict[str, Split]:
    """The side of each cluster; where its tasks tell several, the one that is left least easily."""
    found: dict[str, Split] = {}
    for task in known:
        other = found.get(task.cluster, task.split)
        found[task.cluster] = min(task.split, other, key=lambda side: _LOCKED.index(side))
    return found


def _components(tasks: Sequence[MinedTask], homes: Mapping[str, str]) -> list[list[MinedTask]]:
    """Tasks of which each is near another of its group, or was in one cluster with it (`homes`, by id)."""
    leads = list(range(len(tasks)))

    def root(at: int) -> int:
        while leads[at] != at:
            at = leads[at]
        return at

    def belong(one: MinedTask, other: MinedTask) -> bool:
        home = homes.get(one.id)
        return (home is not None and home == homes.get(other.id)) or near(one, other)

    for at, task in enumerate(tasks):
        for other in range(at):
            if root(at) != root(other) and belong(task, tasks[other]):
                leads[root(at)] = root(other)
    found: dict[int, list[MinedTask]] = {}
    for at, task in enumerate(tasks):
        found.setdefault(root(at), []).append(task)
    return list(found.values())


def _nearest(group: Sequence[MinedTask], known: Sequence[MinedTask], held: Mapping[str, Split]) -> str:
    """The earlier cluster that one of the group is near: of several a held-out one, then the one with the task that
    is most like one of the group, then the first by name; empty when there is none."""
    best: tuple[int, float, str] | None = None
    for earlier in known:
        close = [alike(task, earlier) for task in group if near(task, earlier)]
        rank = (_LOCKED.index(held[earlier.cluster]), -max(close, default=0), earlier.cluster)
        if close and (best is None or rank < best):
            best = rank
    return "" if best is None else best[2]


def _repair(split: dict[str, Split], earlier: set[str], sides: Sides) -> tuple[str, ...]:
    """Give the side that has no cluster one that is new and on the other side. What is held out is filled first."""
    moved: list[str] = []
    for side, other in (_NEEDED[::-1], _NEEDED):
        taken = [name for name, of in split.items() if of == other]
        free = sorted((name for name in taken if name not in earlier), key=sides.lot)
        wanted = side == "train" or sides.val > 0
        if wanted and side not in split.values() and len(taken) > 1 and free:
            split[free[0]] = side
            moved.append(free[0])
    return tuple(moved)


def _shared(left: frozenset[str], right: frozenset[str]) -> float:
    return 2 * len(left & right) / (len(left) + len(right))


@lru_cache(maxsize=4096)
def _grams(text: str) -> frozenset[str]:
    words = _words(text)
    return _runs(word for word in words if word not in _EMPTY_WORDS) or _runs(words)


@lru_cache(maxsize=4096)
def _subjects(text: str, kinds: str) -> tuple[frozenset[str], frozenset[str]]:
    """What a text says beside the words that ask, and those that are like one of `kinds`: all of it, and the first
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
