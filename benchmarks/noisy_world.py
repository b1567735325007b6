"""A world of many small rules in which attempts are noisy, edits may do nothing, and some of them do harm.

A task is a form with one to four fields. A field is written in a way of its own, which a skill can state. The target
follows what is stated with probability `compliance`, and what it does is drawn from the task, the whole text of the
request and its seed, as with a model that is sampled: an edit that says nothing about a task draws its noise again.

The optimizer compares what was asked with what was given. Where a field went wrong that the skill states already, the
failure is noise, and whatever it proposes is useless or harmful. What it writes is drawn from the whole prompt.

Everything is known: `Truth` gives the exact pass probability of each task under each skill.
"""

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any

from etude import ChatModel, ChatRequest, Reply, Task
from etude.protocols import Environment

FIELDS = (
    "amount",
    "city",
    "date",
    "owner",
    "street",
    "colour",
    "weight",
    "origin",
    "sender",
    "subject",
    "region",
    "vessel",
    "market",
    "branch",
    "driver",
    "product",
    "supplier",
    "country",
    "currency",
    "language",
    "building",
    "platform",
    "engine",
    "harbour",
    "district",
    "contract",
    "species",
)
WAYS: Mapping[str, str] = {
    "in capitals": "capitals",
    "from back to front": "back",
    "twice over": "twice",
    "as its initial": "initial",
    "as its ending": "ending",
    "with its length": "length",
}
"""How a field may be written: in words, and the word by which it is known again."""
VALUES = (
    "kestrel",
    "lumen",
    "maple",
    "harbor",
    "cedar",
    "violet",
    "ember",
    "falcon",
    "garnet",
    "indigo",
    "jasper",
    "linden",
    "marble",
    "nectar",
    "ochre",
    "pebble",
    "quartz",
    "raven",
    "saffron",
    "timber",
    "umber",
    "willow",
    "zephyr",
    "amber",
    "basil",
    "cobalt",
    "dahlia",
    "fennel",
    "ginger",
    "hazel",
)
WORDINGS = (
    "Write the {field} {way}.",
    "The {field} of a form goes {way}.",
    "When a form has the {field}, put it {way}.",
    "Always give the {field} {way}, as the office asks.",
)
HEDGED = "Perhaps write the {field} {way}."
GENERAL = "Keep all forms short and plain, as note {number} of the clerk says."
USELESS = "Keep in mind point {number} of the working group."
_NOTE = re.compile(r"as note (\d+) of the clerk")
_FORM = re.compile(r"Fill in form (\w+): ([a-z ;]+)\.")
_LINE = re.compile(rf"\b({'|'.join(FIELDS)})\b.*\b({'|'.join(WAYS)})\b")
_ATTEMPT = re.compile(r'<attempt id="(a-[0-9a-f]+)"[^>]*>(.*?)</attempt\b', re.DOTALL)
_TASK = re.compile(r"<task\b[^>]*>\n(.*?)\n</task\b", re.DOTALL)
_ANSWER = re.compile(r"<(answer|transcript)\b[^>]*>\n(.*?)\n</\1\b", re.DOTALL)
_SKILL = re.compile(r"<skill\b[^>]*>\n(.*?)\n</skill\b", re.DOTALL)
_MOST = re.compile(r"at most (\d+) edits")
_BASE = 0.97
"""How often a form is filled in at all."""
_BROKEN = 0.15
"""What is left of the pass probability of a task that a general remark breaks."""
_UNTAUGHT, _AGAINST, _TORN, _HEDGED = 0.04, 0.02, 0.5, 0.55
"""How often a field is right of which the skill says nothing, the wrong thing, both, or perhaps the right one."""


@dataclass(frozen=True)
class Optimizer:
    """How often an optimizer does what to a finding (a field that went wrong and is not stated) and to noise."""

    missing: float = 0.15
    useless: float = 0.12
    wrong: float = 0.06
    hedged: float = 0.1
    broad: float = 0.0
    """The right rule, with a general remark in the same line that makes all other forms worse."""
    general: float = 0.01
    """A general remark alone."""
    duplicate: float = 0.1
    miscited: float = 0.05
    on_noise: float = 0.2
    """Share of failures without a cause of which it proposes something all the same."""
    late: float = 0.0
    """`broad`, for the rule that fewest tasks need, once most of the others are stated."""


GOOD = Optimizer()
OPTIMIZERS: Mapping[str, Optimizer] = {
    "good": GOOD,
    "poor": replace(GOOD, useless=0.5),
    "useless": replace(GOOD, useless=1.0, missing=0.0),
    "miscites": replace(GOOD, miscited=0.5),
    "breaks": replace(GOOD, broad=0.15, general=0.1),
    "late": replace(GOOD, late=1.0),
}


@dataclass(frozen=True)
class World:
    """A world, and who works in it."""

    compliance: float = 0.985
    flaky: float = 0.0
    """Share of tasks whose pass probability no skill changes."""
    null: float | None = None
    """All tasks pass with this probability, whatever the skill says."""
    wanders: bool = False
    """No attempt is ever solved: scores wander between .55 and .85."""
    optimizer: str = "good"
    cost: float = 0.15
    """Share of the tasks that a general remark breaks, other ones for each remark."""
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
        size = rng.choices((1, 2, 3, 4), (0.3, 0.35, 0.2, 0.15))[0]
        names: list[str] = []
        while len(names) < size:
            name = rng.choices(order, weights)[0]
            if name not in names:
                names.append(name)
        values = {name: rng.choice(VALUES) for name in names}
        text = f"Fill in form {split}{number}: {'; '.join(f'{n} {v}' for n, v in values.items())}."
        gold = "/".join(written(value, ways(world.seed)[name]) for name, value in values.items())
        tasks.append(Task(id=f"{split}-{number}", input=text, gold=gold, type=names[0]))
    return tasks


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

    @property
    def harmful(self) -> int:
        """Lines that make something worse."""
        return len(self.general) + len(self.wrong)


@lru_cache(maxsize=4096)
def said(text: str, seed: int) -> Said:
    """Read a skill."""
    right: list[str] = []
    hedged: set[str] = set()
    wrong: dict[str, str] = {}
    general: list[str] = []
    useless = 0
    for line in text.splitlines():
        found = _LINE.search(line)
        general += _NOTE.findall(line)
        useless += "working group" in line
        if not found:
            continue
        if found[2] != ways(seed)[found[1]]:
            wrong[found[1]] = found[2]
        elif "Perhaps" in line:
            hedged.add(found[1])
        else:
            right.append(found[1])
    once = frozenset(right)
    return Said(once, frozenset(hedged), wrong, tuple(general), useless, len(right) - len(once))


class Truth:
    """What is true of a world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def rate(self, name: str, skill: Said) -> float:
        """How often a field is right."""
        if name in skill.wrong:
            return _TORN * self.world.compliance if name in skill.right else _AGAINST
        if name in skill.right:
            return self.world.compliance
        return _HEDGED * self.world.compliance if name in skill.hedged else _UNTAUGHT

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
        return _BASE * (_BROKEN if broken else 1)

    def passes(self, text: str, skill_text: str) -> float:
        """Probability that a task is solved."""
        if self.world.wanders:
            return 0.0
        luck, skill = self.luck(_form(text)), said(skill_text, self.world.seed)
        if luck is not None:
            return luck
        return self.whole(_form(text), skill) * prod(self.rate(name, skill) for name in parts_of(text))

    def score(self, skill_text: str, tasks: Sequence[Task]) -> float:
        """Mean pass probability."""
        return sum(self.passes(task.input, skill_text) for task in tasks) / len(tasks)

    def attainable(self, tasks: Sequence[Task]) -> float:
        """Of a skill that states every rule once, and nothing else."""
        return self.score(perfect(self.world.seed), tasks)


def perfect(seed: int) -> str:
    """A skill that states every rule once."""
    return "".join(f"- {WORDINGS[0].format(field=name, way=way)}\n" for name, way in ways(seed).items())


def _form(text: str) -> str:
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

    def score(self, task: Task, trajectory: Any) -> float:
        """1 for the gold answer, else 0; in a world that wanders something between .55 and .85."""
        if self.world.wanders:
            return round(0.55 + 0.3 * chance(self.world.seed, "wander", task.id, trajectory.answer), 3)
        return float(trajectory.answer == task.gold)

    def fingerprint(self) -> str:
        """Of the world."""
        return repr(self.world)


class Clerk(ChatModel):
    """The target: fills in forms as far as it was told how."""

    def __init__(self, world: World) -> None:
        self.world, self.truth = world, Truth(world)
        self.name = f"clerk {world!r}"

    async def complete(self, request: ChatRequest) -> Reply:
        """Fill in a form."""
        whole = "\n".join(message.text for message in request.messages)
        task = request.messages[-1].text
        skill = said(whole[: whole.rfind("Fill in form")], self.world.seed)
        draw = (self.world.seed, whole, request.seed)
        fields = parts_of(task)
        right = {name: ways(self.world.seed)[name] for name in fields}
        if self.world.wanders:
            return Reply(text=f"An essay, number {chance(*draw)}.")
        luck = self.truth.luck(_form(task))
        if luck is not None:
            solved = chance(*draw, "luck") < luck
            wrong = [] if solved else [list(fields)[int(chance(*draw, "which") * len(fields))]]
        elif chance(*draw, "whole") >= self.truth.whole(_form(task), skill):
            wrong = [list(fields)[int(chance(*draw, "which") * len(fields))]]
        else:
            wrong = [name for name in fields if chance(*draw, name) >= self.truth.rate(name, skill)]
        given = {name: skill.wrong.get(name, "") if name in wrong else way for name, way in right.items()}
        return Reply(text="/".join(written(value, given[name]) for name, value in fields.items()))


class Writer(ChatModel):
    """The optimizer: sees which field of which form went wrong."""

    def __init__(self, world: World) -> None:
        self.world, self.profile = world, OPTIMIZERS[world.optimizer]
        self.name = f"writer {world!r}"

    async def complete(self, request: ChatRequest) -> Reply:
        """Propose edits, or name lines that seem superfluous."""
        prompt = "\n".join(message.text for message in request.messages)
        shown = _SKILL.search(prompt)
        skill = shown[1] if shown else ""
        schema = request.response_schema.model_dump_json() if request.response_schema else ""
        if "superfluous" in schema:
            return Reply(text=json.dumps({"superfluous": self._superfluous(skill)}))
        return Reply(text=json.dumps({"reasoning": "Compared fields.", "edits": self._edits(prompt, skill)}))

    def _superfluous(self, skill: str) -> list[dict[str, str]]:
        seen: set[str] = set()
        named: list[str] = []
        for line in skill.splitlines():
            found = _LINE.search(line)
            if (found and found[1] in seen) or (
                "working group" in line and chance(self.world.seed, "tidy", line) < 0.5
            ):
                named.append(line)
            if found:
                seen.add(found[1])
        return [{"line": line, "reason": "It seems superfluous."} for line in named]

    def _edits(self, prompt: str, skill: str) -> list[dict[str, Any]]:
        """At most as many as are asked for."""
        wrong = {id: self._wrong(block) for id, block in _ATTEMPT.findall(prompt)}
        most = _MOST.search(prompt)
        return self.propose(wrong, skill, prompt)[: int(most[1]) if most else None]

    def propose(self, wrong: Mapping[str, Sequence[str]], skill: str, prompt: str) -> list[dict[str, Any]]:
        """Edits for attempts, by id, with the fields that went wrong in each."""
        key, ids = (self.world.seed, prompt), list(wrong)
        known = said(skill, self.world.seed)
        blamed: dict[str, list[str]] = {}
        for id, names in wrong.items():
            for name in names:
                blamed.setdefault(name, []).append(id)
        edits: list[dict[str, Any]] = []
        for name, cites in sorted(blamed.items(), key=lambda item: (-len(item[1]), item[0])):
            edits += self._of(name, cites, known, skill, key)
        for number, edit in enumerate(edits):
            if ids and chance(*key, "miscited", number) < self.profile.miscited:
                edit["cites"] = [ids[int(chance(*key, "other", number) * len(ids))]]
        return edits

    def _wrong(self, block: str) -> list[str]:
        """The fields of an attempt that are not as they should be."""
        task, answers = _TASK.search(block), _ANSWER.findall(block)
        fields = parts_of(task[1]) if task else {}
        if not fields or not answers:
            return []
        given = answers[-1][1].strip().splitlines()[-1].split("/")
        if len(given) != len(fields):
            return list(fields)[:1]
        right = ways(self.world.seed)
        return [n for (n, value), got in zip(fields.items(), given, strict=True) if written(value, right[n]) != got]

    def _of(
        self, name: str, cites: list[str], known: Said, skill: str, key: tuple[object, ...]
    ) -> list[dict[str, Any]]:
        """What is proposed for a field that went wrong."""
        profile, right = self.profile, ways(self.world.seed)[name]
        draw = chance(*key, name, "kind")
        number = int(chance(*key, name, "number") * 10**6)
        line = next((one for one in skill.splitlines() if (m := _LINE.search(one)) and m[1] == name), "")
        if self.world.null is not None or self.world.wanders or profile.useless == 1:
            return [_edit(USELESS.format(number=number), cites)]
        if name in known.right and name not in known.wrong:
            return self._of_noise(name, cites, line, key, number)
        if draw < profile.missing:
            return []
        other = [way for way in WAYS if way != right]
        statement = self._statement(name, right, key)
        kinds = (
            (profile.useless, USELESS.format(number=number)),
            (profile.wrong, self._statement(name, other[number % len(other)], key)),
            (profile.hedged, HEDGED.format(field=name, way=right)),
            (profile.general, GENERAL.format(number=number)),
        )
        draw = chance(*key, name, "which")
        for share, text in kinds:
            if draw < share:
                statement = text
                break
            draw -= share
        planted = name == by_frequency(self.world.seed)[-1] and len(known.right) >= 0.8 * len(FIELDS)
        late = profile.late if planted else 0.0
        if chance(*key, name, "broad") < profile.broad + late and right in statement:
            statement = f"{statement} {GENERAL.format(number=number)}"
        wrong = name in known.wrong or name in known.hedged
        if wrong and line:
            edits = [{**_edit(statement, cites), "op": "replace", "target": line}]
        else:
            edits = [_edit(statement, cites)]
        if chance(*key, name, "duplicate") < profile.duplicate:
            edits.append(_edit(self._statement(name, right, (*key, "again")), cites))
        return edits

    def _of_noise(
        self, name: str, cites: list[str], line: str, key: tuple[object, ...], number: int
    ) -> list[dict[str, Any]]:
        """What is proposed where the skill was right and the attempt was not."""
        if chance(*key, name, "noise") >= self.profile.on_noise:
            return []
        draw, right = chance(*key, name, "on noise"), ways(self.world.seed)[name]
        if draw < 0.4:
            return [_edit(self._statement(name, right, key), cites)]
        if draw < 0.55:
            return [{**_edit(self._statement(name, right, key), cites), "op": "replace", "target": line}]
        if draw < 0.8:
            return [_edit(USELESS.format(number=number), cites)]
        if draw < 0.96:
            other = [way for way in WAYS if way != right]
            return [_edit(self._statement(name, other[number % len(other)], key), cites)]
        return [_edit(GENERAL.format(number=number), cites)]

    def _statement(self, name: str, way: str, key: tuple[object, ...]) -> str:
        return WORDINGS[int(chance(*key, name, "wording") * len(WORDINGS))].format(field=name, way=way)


def _edit(text: str, cites: list[str]) -> dict[str, Any]:
    return {"op": "append", "target": "", "content": f"- {text}", "reason": "The forms show it.", "cites": cites}
