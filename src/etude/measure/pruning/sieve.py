"""Which blocks of a skill its tasks need, found by leaving many out together.

Each task is asked alone: the blocks that are known to be needed and the first so many others stay, the rest is left
out. Where a task needs further blocks, there is a last one of them, and the task fails up to this number and passes
from it on. Each place for it is a hypothesis, weighed by all attempts at the task; the next number is the one whose
outcome tells most. A block that is found so stays in from then on, for all tasks, so that each is looked for once.
A task is done once it most likely needs nothing further: it then passes with what is known to be needed, and so says
of all other blocks at once that it does not need them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, log2
from typing import NamedTuple

from etude.stages.shared.noise import Outcomes, PassSpread

_LEFT = 0.1
"""What is left of the pass probability of a task without a block that it needs. Where more than a third is left, the
block counts as not needed, and only the comparison at the end can show the loss."""
_NEEDED, _DONE = 0.9, 0.97
"""Probability from which a block is taken to be needed, and from which a task needs nothing further. Up to one of ten
blocks that nothing needs stays; a needed one seldom goes, since others of its tasks show it."""
_FORGETS = 4
"""Blocks that a task has shown from which on it forgets what was seen before each. Where luck has put a neighbour in
the place of a needed block, the same luck leads to the next neighbour, and so on: in one of twenty worlds half of the
blocks that nothing needs stayed."""
_LUCK = 0.01
"""Probability that an attempt shows what is not so where another one tells nothing new: blocks may stand for each
other."""
_AT_ONCE = 4
"""Tasks that are asked side by side. One alone took 9% fewer attempts, and four times as many rounds; with eight, two
tasks often find the same block."""
MOST = 160
"""Attempts at a task after which it is given up: it is too noisy. Few take more than 70."""
_EACH = 2.5
"""Blocks that a task is taken to need before anything is known: one to four in most tasks."""


class Try(NamedTuple):
    """An attempt at a task."""

    out: frozenset[int]
    """Blocks that were left out."""
    passed: bool


@dataclass
class SievedTask:
    """What is known of a task."""

    known: Outcomes
    """With everything that it needs."""
    among: list[int] = field(default_factory=list[int])
    """Blocks that it may need."""
    tries: list[Try] = field(default_factory=list[Try])
    made: int = 0


class Sieve:
    """What is asked next, and what is known so far. Without attempts of its own."""

    def __init__(
        self, blocks: Sequence[int], known: Mapping[str, Outcomes], once: Collection[str] = frozenset()
    ) -> None:
        """
        Args:
            blocks: those that may be left out.
            known: by task, what came of attempts with the whole skill; each passed once at least.
            once: tasks of which a further trial without the same blocks tells nothing new.
        """
        self.blocks, self.once = tuple(blocks), once
        self.tasks = {name: SievedTask(outcomes) for name, outcomes in known.items()}
        # Noisy tasks come last: most of what they need is known by then.
        self.waiting = sorted(self.tasks, key=lambda name: known[name].failed)
        self.active: list[str] = []
        self.done: list[str] = []
        self.given_up: list[str] = []
        self._among = list(self.blocks)
        self.needed: dict[int, str] = {}
        """The task that showed each needed block."""
        self._measure()

    @property
    def idle(self) -> tuple[int, ...]:
        """Blocks that no task was found to need. One that was given up must at least have passed without them."""
        passed = [[each.out for each in self.tasks[name].tries if each.passed] for name in self.given_up]
        left = (block for block in self.blocks if block not in self.needed)
        return tuple(block for block in left if all(any(block in out for out in some) for some in passed))

    def next(self) -> list[tuple[str, frozenset[int]]]:
        """Tasks to attempt once, each with blocks left out. Empty at the end."""
        planned: list[tuple[str, frozenset[int]]] = []
        while not planned:
            while self.waiting and len(self.active) < _AT_ONCE:
                self._begin(self.waiting.pop(0))
            if not self.active:
                return []
            planned = [(name, out) for name in list(self.active) if (out := self._settled(name)) is not None]
        # What was found while the others were looked at stays in.
        return [(name, out.difference(self.needed)) for name, out in planned]

    def told(self, name: str, out: frozenset[int], passed: bool | None) -> None:
        """What came of an attempt; None where it has no score."""
        task = self.tasks[name]
        task.made += 1
        if passed is not None:
            task.tries.append(Try(out, passed))

    def freed(self, blocks: Iterable[int], without: Iterable[str]) -> None:
        """Ask all tasks that are done but some again, whether they need blocks that only these others showed."""
        gone, back = set(without), set(blocks)
        for block in back:
            del self.needed[block]
        self.waiting, self.done = [name for name in self.done if name not in gone], []
        for name in self.waiting:
            self.tasks[name] = SievedTask(self.tasks[name].known)
        self._among = sorted(back)

    def _begin(self, name: str) -> None:
        task = self.tasks[name]
        task.among = [block for block in self._among if block not in self.needed]
        self.active.append(name)

    def _settled(self, name: str) -> frozenset[int] | None:
        """What to leave out next; None where a task is done or given up."""
        task = self.tasks[name]
        weights, chances = self._hypotheses(name)
        while True:
            new = {place: w for place, w in enumerate(weights[1:]) if task.among[place] not in self.needed}
            place = max(new, key=new.__getitem__, default=-1)
            if place < 0 or new[place] < _NEEDED:
                break
            found = task.among.pop(place)
            self.needed[found] = name
            # Attempts without it say nothing of others.
            shown = list(self.needed.values()).count(name)
            task.tries = [each for each in task.tries if found not in each.out and shown < _FORGETS]
            weights, chances = self._hypotheses(name)
        settled = 1 - fsum(new.values()) >= _DONE and any(each.passed for each in task.tries)
        tried = {each.out for each in task.tries} if name in self.once else ()
        places = [
            place
            for place in range(len(task.among) + 1)
            if frozenset(task.among[place:]).difference(self.needed) not in tried
        ]
        if not places or not task.among or settled or task.made >= MOST:
            passed = sum(each.passed for each in task.tries)
            task.known = Outcomes(task.known.passed + passed, task.known.failed + len(task.tries) - passed)
            (self.given_up if task.among and not settled else self.done).append(name)
            self.active.remove(name)
            self._measure()
            return None
        told = _told(weights, chances)
        return frozenset(task.among[max(places, key=told.__getitem__) :])

    def _hypotheses(self, name: str) -> tuple[list[float], list[tuple[float, float]]]:
        """Of each place of the last further block that the task needs, none first: its probability, and that of a
        pass with the block and without."""
        task = self.tasks[name]
        size, each = len(task.among), 0.5 / (max(1.0, len(self.blocks) * 0.5 / _EACH) + len(self.done))
        weights, chances, known = list[float](), list[tuple[float, float]](), dict[tuple[Outcomes, Outcomes], float]()

        def likely(intact: Outcomes, broken: Outcomes) -> float:
            if name in self.once:
                return _LUCK ** (intact.failed + broken.passed) * (1 - _LUCK) ** (intact.passed + broken.failed)
            if (intact, broken) not in known:
                known[intact, broken] = self.noise.two_kinds(intact, broken, _LEFT)
            return known[intact, broken]

        for number in range(size + 1):
            block = task.among[number - 1] if number else -1
            kept, left = [0, 0], [0, 0]
            for out, passed in task.tries:
                (left if block in out else kept)[not passed] += 1
            intact, broken = Outcomes(task.known.passed + kept[0], task.known.failed + kept[1]), Outcomes(*left)
            prior = each * (1 - each) ** (size - number) if number else (1 - each) ** size
            here = likely(intact, broken)
            with_it = likely(intact.plus(True), broken) / here
            without = likely(intact, broken.plus(True)) / here
            weights.append(prior * here)
            chances.append((with_it, with_it if block in self.needed else without))
        return [weight / fsum(weights) for weight in weights], chances

    def _measure(self) -> None:
        self.noise = PassSpread.measured(task.known for task in self.tasks.values())


def _told(weights: Sequence[float], chances: Sequence[tuple[float, float]]) -> list[float]:
    """What the outcome tells about which hypothesis is true where so many blocks are kept, in bits."""
    passes = fsum(weight * without for weight, (_, without) in zip(weights, chances, strict=True))
    unsure = fsum(weight * _bits(without) for weight, (_, without) in zip(weights, chances, strict=True))
    told: list[float] = []
    for weight, (with_it, without) in zip(weights, chances, strict=True):
        passes += weight * (with_it - without)
        unsure += weight * (_bits(with_it) - _bits(without))
        told.append(round(_bits(passes) - unsure, 12))
    return told


def _bits(p: float) -> float:
    return 0.0 if p <= 0 or p >= 1 else -p * log2(p) - (1 - p) * log2(1 - p)
