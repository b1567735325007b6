"""A world of many small rules in which attempts are noisy, edits may do nothing, and some of them do harm.

A task is a form with one to four fields. A field is written in a way of its own, which a skill can state. The target
follows what is stated with probability `compliance`, and what it does is drawn from the task, the whole text of the
request and its seed, as with a model that is sampled: an edit that says nothing about a task draws its noise again.

The options of `World` add habits of a small real model, by which an edit that fixes its own tasks costs others: it
answers many tasks alike, copies the last example, and depends on the order of lines. The target is in
`noisy_target.py`, the optimizer in `noisy_optimizer.py`.

Everything is known: `Truth` gives the exact pass probability of each task under each skill.
"""

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

from etude import Score, Task
from etude.protocols import Environment

_FIELDS = (
    "amount city date owner street colour weight origin sender subject region vessel market branch driver "
    "product supplier country currency language building platform engine harbour district contract species"
)
FIELDS: Sequence[str] = _FIELDS.split()
WAYS: Mapping[str, str] = {
    "in capitals": "capitals",
    "from back to front": "back",
    "twice over": "twice",
    "as its initial": "initial",
    "as its ending": "ending",
    "with its length": "length",
}
"""How a field may be written: in words, and the word by which it is known again."""
_VALUES = (
    "kestrel lumen maple harbor cedar violet ember falcon garnet indigo jasper linden marble nectar ochre "
    "pebble quartz raven saffron timber umber willow zephyr amber basil cobalt dahlia fennel ginger hazel"
)
VALUES: Sequence[str] = _VALUES.split()
WORDINGS = (
    "Write the {field} {way}.",
    "The {field} of a form goes {way}.",
    "When a form has the {field}, put it {way}.",
    "Always give the {field} {way}, as the office asks.",
)
HEDGED = "Perhaps write the {field} {way}."
GENERAL = "Keep all forms short and plain, as note {number} of the clerk says."
USELESS = "Keep in mind point {number} of the working group."
EXAMPLE = "For example, sample becomes {answer}."
_NOTE = re.compile(r"as note (\d+) of the clerk")
_EXAMPLE = re.compile(r"For example, sample becomes (\w+)\.")
_FORM = re.compile(r"Fill in form (\w+): ([a-z ;]+)\.")
LINE = re.compile(rf"\b({'|'.join(FIELDS)})\b.*\b({'|'.join(WAYS)})\b")
_BASE = 0.97
"""How often a form is filled in at all."""
_BROKEN = 0.15
"""What is left of the pass probability of a task that a general remark breaks."""
_AGAINST, _TORN, _HEDGED = 0.02, 0.5, 0.55
"""How often a field is right of which the skill says the wrong thing, both, or perhaps the right one."""
SIGNED = " (signed)"
"""What an answer ends with that has what a task asks besides its fields."""
_ALIKE = 0.4
"""Share of the forms that are filled in alike, other ones for each line that has this done."""


@dataclass(frozen=True)
class World:
    """A world, and who works in it."""

    compliance: float = 0.985
    untaught: float = 0.04
    """How often a field is right of which the skill says nothing."""
    flaky: float = 0.0
    """Share of tasks whose pass probability no skill changes."""
    null: float | None = None
    """All tasks pass with this probability, whatever the skill says."""
    wanders: bool = False
    """No attempt is ever solved: scores wander between .55 and .85."""
    optimizer: str = "good"
    cost: float = 0.15
    """Share of the tasks that a general remark breaks, other ones for each remark."""
    collapses: float = 0.0
    """Share of the lines about a field, drawn by their words, that have many forms written in the way of this line
    throughout, so that the answers are alike."""
    copies: float = 0.0
    """Share of the attempts in which the answer is that of the last example in the skill: so many for a mean example,
    none to twice as many for others."""
    order: float = 0.0
    """What a skill is worth less whose rules stand in the worst order."""
    partial: bool = False
    """The score is the share of the fields that are right."""
    judge_errs: float = 0.0
    """Share of the fields, drawn by how they were written, of which the grader says the opposite."""
    common: int = 0
    """All tasks have the same fields, so many; 0 for one to four of all."""
    lengths: tuple[float, ...] = (0.3, 0.35, 0.2, 0.15)
    """Share of the tasks with one field, with two, three and four."""
    unmet: float | None = None
    """Each task asks one thing more, which is met this often, whatever the skill says."""
    lucky: float = 0.0
    """Share of the attempts whose luck is drawn from the seed of the request alone."""
    seed: int = 0
    sizes: tuple[int, int] = (200, 100)
    """Training and validation tasks."""


def chance(*parts: object) -> float:
    """A number in [0, 1) drawn from the parts."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:13], 16) / 16**13


@lru_cache(maxsize=4096)
def ways(seed: int) -> dict[str, str]:
    """The right way of each field, which a seed draws."""
    rng = random.Random(f"ways/{seed}")
    return {name: rng.choice(tuple(WAYS)) for name in FIELDS}


@lru_cache(maxsize=4096)
def by_frequency(seed: int) -> list[str]:
    """The fields, the most common one first."""
    order = list(FIELDS)
    random.Random(f"order/{seed}").shuffle(order)
    return order


def written(value: str, way: str) -> str:
    """A value in this way."""
    match WAYS.get(way):
        case "capitals":
            return value.upper()
        case "back":
            return value[::-1]
        case "twice":
            return value + value
        case "initial":
            return value[0]
        case "ending":
            return value[-3:]
        case "length":
            return f"{value}{len(value)}"
        case _:
            return value


def parts_of(text: str) -> dict[str, str]:
    """The fields of a form and their values."""
    found = _FORM.search(text)
    return dict(part.split() for part in found[2].split("; ")) if found else {}


def make_forms(world: World, split: str, count: int) -> list[Task]:
    """Different forms with their gold answers. Some fields are five times as common as others."""
    rng = random.Random(f"forms/{world.seed}/{split}")
    order = by_frequency(world.seed)
    weights = [1 / (rank + 6) for rank in range(len(order))]
    tasks: list[Task] = []
    for number in range(count):
        size = rng.choices((1, 2, 3, 4), world.lengths)[0]
        names = order[: world.common]
        while len(names) < size:
            name = rng.choices(order, weights)[0]
            if name not in names:
                names.append(name)
        values = {name: rng.choice(VALUES) for name in names}
        text = f"Fill in form {split}{number}: {'; '.join(f'{n} {v}' for n, v in values.items())}."
        gold = "/".join(written(value, ways(world.seed)[name]) for name, value in values.items())
        tasks.append(Task(id=f"{split}-{number}", input=text, gold=gold, type=names[0]))
    return tasks


def unsigned(answer: str) -> str:
    """What an answer says of the fields."""
    return answer.removesuffix(SIGNED)


@dataclass(frozen=True)
class Said:
    """What a skill says."""

    right: frozenset[str] = frozenset()
    hedged: frozenset[str] = frozenset()
    wrong: Mapping[str, str] = field(default_factory=dict[str, str])
    general: tuple[str, ...] = ()
    """Numbers of the general remarks."""
    useless: int = 0
    repeated: int = 0
    """Right statements of what an earlier line states already."""
    alike: Mapping[str, str] = field(default_factory=dict[str, str])
    """Lines that have many forms written in one way, with this way; the last one first."""
    copied: float = 0.0
    """How often the last example is copied."""
    example: str = ""
    """What the last example has as its answer."""
    disorder: float = 0.0
    """Share of the pairs of lines about fields that stand in the wrong order."""

    @property
    def harmful(self) -> int:
        """Lines that make something worse."""
        return len(self.general) + len(self.wrong) + len(self.alike)


@lru_cache(maxsize=4096)
def said(text: str, world: World) -> Said:
    """Read a skill."""
    right: list[str] = []
    hedged: set[str] = set()
    wrong: dict[str, str] = {}
    alike: dict[str, str] = {}
    general: list[str] = []
    about: list[str] = []
    useless, copied, example = 0, 0.0, ""
    for line in text.splitlines():
        general += _NOTE.findall(line)
        useless += "working group" in line
        if shown := _EXAMPLE.search(line):
            copied, example = 2 * world.copies * chance(world.seed, "copied", line), shown[1]
        found = LINE.search(line)
        if not found:
            continue
        name, way = found[1], found[2]
        about.append(name)
        if chance(world.seed, "collapses", line) < world.collapses:
            alike = {line: way, **alike}
        if way != ways(world.seed)[name]:
            wrong[name] = way
        elif "Perhaps" in line:
            hedged.add(name)
        else:
            right.append(name)
    once = frozenset(right)
    return Said(
        right=once,
        hedged=frozenset(hedged),
        wrong=wrong,
        general=tuple(general),
        useless=useless,
        repeated=len(right) - len(once),
        alike=alike,
        copied=copied,
        example=example,
        disorder=_disorder(about, world.seed),
    )


def right_order(seed: int) -> list[str]:
    """The fields in the order in which rules about them are worth most."""
    order = list(FIELDS)
    random.Random(f"right order/{seed}").shuffle(order)
    return order


def _disorder(names: Sequence[str], seed: int) -> float:
    places = [right_order(seed).index(name) for name in names]
    pairs = [later < earlier for at, earlier in enumerate(places) for later in places[at + 1 :]]
    return sum(pairs) / len(pairs) if pairs else 0.0


class Truth:
    """What is true of a world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def rate(self, name: str, skill: Said, alike: str = "") -> float:
        """How often a field is right; `alike` is the way in which the whole form is written."""
        if alike:
            return self.world.compliance if alike == ways(self.world.seed)[name] else _AGAINST
        if name in skill.wrong:
            return _TORN * self.world.compliance if name in skill.right else _AGAINST
        if name in skill.right:
            return self.world.compliance
        return _HEDGED * self.world.compliance if name in skill.hedged else self.world.untaught

    def luck(self, task: str) -> float | None:
        """The pass probability of a task that nothing changes; None for the others."""
        world = self.world
        if world.null is not None:
            return world.null
        flaky = chance(world.seed, "flaky", task) < world.flaky
        return 0.1 + 0.66 * chance(world.seed, "luck", task) if flaky else None

    def whole(self, form: str, skill: Said) -> float:
        """What the pass probability of a form is multiplied by."""
        world = self.world
        broken = any(chance(world.seed, "breaks", note, form) < world.cost for note in skill.general)
        return _BASE * (_BROKEN if broken else 1) * (1 - world.order * skill.disorder)

    def alike(self, form: str, skill: Said) -> str:
        """The way in which a form is written throughout; empty where each field has its own."""
        seed = self.world.seed
        return next((way for line, way in skill.alike.items() if chance(seed, "alike", line, form) < _ALIKE), "")

    def passes(self, text: str, skill_text: str) -> float:
        """Probability that a task is solved; the expected score where there is partial credit."""
        world = self.world
        if world.wanders:
            return 0.0
        form, skill = form_of(text), said(skill_text, world)
        luck, alike = self.luck(form), self.alike(form, skill)
        if luck is not None:
            fields = len(parts_of(text))
            return self._share([1 - (1 - luck) / fields] * fields) if world.partial else luck
        rates = [self.rate(name, skill, alike) for name in parts_of(text)]
        whole = (1 - skill.copied) * self.whole(form, skill)
        return self._share([whole * rate for rate in rates]) if world.partial else whole * prod(rates)

    def _share(self, rates: Sequence[float]) -> float:
        """Expected score where it is the share of the fields that the grader calls right."""
        errs = self.world.judge_errs
        met = [rate * (1 - errs) + (1 - rate) * errs for rate in rates]
        met += [] if self.world.unmet is None else [self.world.unmet]
        return sum(met) / len(met)

    def score(self, skill_text: str, tasks: Sequence[Task]) -> float:
        """Mean pass probability."""
        return sum(self.passes(task.input, skill_text) for task in tasks) / len(tasks)

    def attainable(self, tasks: Sequence[Task]) -> float:
        """Of a skill that states every rule once, as it is best stated, and nothing else."""
        return self.score(perfect(self.world), tasks)


def perfect(world: World) -> str:
    """A skill that states every rule once, in the right order, in words that have no form written alike."""
    lines: list[str] = []
    for name in right_order(world.seed):
        worded = [f"- {one.format(field=name, way=ways(world.seed)[name])}" for one in WORDINGS]
        lines.append(next((line for line in worded if not said(line, world).alike), worded[0]))
    return "".join(f"{line}\n" for line in lines)


def form_of(text: str) -> str:
    """The name of a form."""
    found = _FORM.search(text)
    return found[1] if found else ""


class Forms(Environment):
    """The tasks of a world."""

    name = "forms"

    def __init__(self, world: World) -> None:
        self.world = world

    def tasks(self, split: str) -> list[Task]:
        """The forms of a split; there are no test tasks, since the truth is known."""
        sizes = {"train": self.world.sizes[0], "val": self.world.sizes[1]}
        return make_forms(self.world, split, sizes.get(split, 0))

    async def score(self, task: Task, trajectory: Any) -> float | Score:
        """1 for the gold answer, else 0, or partial credit; in a world that wanders something between .55 and .85.
        Async, so that it runs in no thread, for which virtual time would not wait."""
        if self.world.wanders:
            return round(0.55 + 0.3 * chance(self.world.seed, "wander", task.id, trajectory.answer), 3)
        return self._graded(task, trajectory.answer) if self.world.partial else float(trajectory.answer == task.gold)

    def _graded(self, task: Task, answer: str) -> Score:
        """By criteria, one for each field: `hard` is 1 where all are met, `soft` the share of them."""
        world, given, right = self.world, unsigned(answer).split("/"), str(task.gold).split("/")
        met = [len(given) == len(right) and given[at] == each for at, each in enumerate(right)]
        for at, each in enumerate(met):
            if chance(world.seed, "judge", task.id, at, given) < world.judge_errs:
                met[at] = not each
        met += [] if world.unmet is None else [answer.endswith(SIGNED)]
        return Score(hard=float(all(met)), soft=sum(met) / len(met))

    def fingerprint(self) -> str:
        """Of the world."""
        return repr(self.world)
