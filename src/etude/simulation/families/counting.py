"""Counting things of a kind in a list.

The last entry of a made list is always the only one a hasty reader might not take for the kind that is asked for:
forgetting the last entry, and not knowing that a snail is an animal, give the same wrong count.
"""

import random
import re
from dataclasses import dataclass

from etude.simulation.families.family import Family, Faults, Solution, rules_of, table

NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def in_words(number: int) -> str:
    """English words for 0 to 99; digits beyond."""
    if number < len(NUMBERS):
        return NUMBERS[number]
    if number > 99:
        return str(number)
    tens, ones = divmod(number, 10)
    return _TENS[tens] + (f"-{NUMBERS[ones]}" if ones else "")


@dataclass(frozen=True)
class Kind:
    """A kind of thing one can ask for."""

    name: str
    """In the plural, as questions have it."""
    plain: tuple[str, ...]
    doubtful: tuple[str, ...]
    """They belong to the kind, though not everyone sees it."""


def _listed(text: str) -> tuple[str, ...]:
    return tuple(" ".join(text.split()).split(", ")) if text else ()


KINDS = tuple(
    Kind(kind["name"], _listed(kind["plain"]), _listed(kind["doubtful"])) for kind in table("counting")["kinds"]
)
LIVING = KINDS[:3]
OBJECTS = KINDS[-1]

_PLURALS = {
    "mouse": "mice",
    "goose": "geese",
    "wolf": "wolves",
    "shelf": "shelves",
    "knife": "knives",
    **{name: name for name in ("fish", "sheep", "trout")},
}


def plural(thing: str) -> str:
    """Several of a thing.

    >>> plural("head of broccoli"), plural("peach"), plural("blackberry")
    ('heads of broccoli', 'peaches', 'blackberries')
    """
    head, of, rest = thing.partition(" of ")
    if of:
        return plural(head) + of + rest
    if head in _PLURALS:
        return _PLURALS[head]
    if head.endswith("y") and head[-2] not in "aeo":
        return head[:-1] + "ies"
    return head + ("es" if head.endswith(("ch", "sh", "x", "s")) or head in ("potato", "mango") else "s")


_BY_NAME = {name: kind for kind in KINDS for one in (*kind.plain, *kind.doubtful) for name in (one, plural(one))}
_DOUBTFUL = frozenset(name for kind in KINDS for one in kind.doubtful for name in (one, plural(one)))


def kind_of(thing: str) -> Kind:
    """The kind of a thing in the singular or plural; what is not known is an object."""
    return _BY_NAME.get(thing, OBJECTS)


def is_doubtful(thing: str) -> bool:
    """Whether a hasty reader would not count the thing as one of its kind."""
    return thing in _DOUBTFUL


_DOUBTS = {
    "animals": "counting.creatures",
    "fruits": "counting.berries",
    "vegetables": "counting.measure",
    "musical instruments": "counting.percussion",
    "objects": "counting.living",
}
_SEPARATOR = re.compile(r",\s*and\s+|\s+and\s+|,\s*")


@dataclass(frozen=True)
class _Entry:
    quantity: int
    article: bool
    thing: str


class Counting(Family):
    """How many things of a kind a list has."""

    name = "counting"
    subject = r"\b(?:count|thing|how many)"
    rules = rules_of("counting")
    pattern = re.compile(
        r"\bI\s+have\s+(?P<list>[^.?!<>{}\"\\]+)\.\s+How\s+many\s+(?P<kind>[a-z]+(?:\s+[a-z]+)?)\s+do\s+I\s+have\?",
        re.IGNORECASE,
    )

    def accepts(self, text: str) -> bool:
        return self.match(text)["kind"].casefold() in _DOUBTS

    def solve(self, text: str, faults: Faults) -> Solution:
        found = self.match(text)
        kind, entries = found["kind"].casefold(), [_read(part) for part in _SEPARATOR.split(found["list"]) if part]
        if "counting.last" in faults:
            entries = entries[:-1]
        addends = [_addend(entry, kind, faults) for entry in entries]
        total = sum(addends)
        terms = [str(addend) for addend in addends if addend]
        work = f"{' + '.join(terms)} = {total}" if terms else "Nothing to add."
        return Solution(in_words(total) if "counting.format" in faults else str(total), work)

    def make(self, rng: random.Random) -> str:
        kind = rng.choice(KINDS)
        doubtful = [thing for living in LIVING for thing in living.plain] if kind is OBJECTS else kind.doubtful
        things = rng.sample(kind.plain, rng.randint(2, 6))
        if kind is not OBJECTS and rng.random() < 0.6:
            things += rng.sample(rng.choice([other for other in KINDS if other is not kind]).plain, rng.randint(1, 3))
        rng.shuffle(things)
        entries = [_entry(rng, thing) for thing in (*things, rng.choice(doubtful))]
        return f"I have {', '.join(entries[:-1])}, and {entries[-1]}. How many {kind.name} do I have?"


def _entry(rng: random.Random, thing: str) -> str:
    if rng.random() < 0.6:
        return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"
    return f"{NUMBERS[rng.randint(2, 5)]} {plural(thing)}"


def _read(part: str) -> _Entry:
    first, _, thing = part.strip().casefold().partition(" ")
    if first in ("a", "an"):
        return _Entry(1, True, thing)
    if first in NUMBERS:
        return _Entry(NUMBERS.index(first), False, thing)
    if first.isdigit():
        return _Entry(int(first), False, thing)
    return _Entry(1, False, f"{first} {thing}".strip())


def _addend(entry: _Entry, kind: str, faults: Faults) -> int:
    belongs = kind == "objects" or kind_of(entry.thing).name == kind
    if not belongs and "counting.category" not in faults:
        return 0
    if _DOUBTS[kind] in faults and _doubted(entry.thing, kind):
        return 0
    if entry.article and "counting.articles" in faults:
        return 0
    return 1 if "counting.numbers" in faults else entry.quantity


def _doubted(thing: str, kind: str) -> bool:
    named: Kind = kind_of(thing)
    return named in LIVING if kind == "objects" else named.name == kind and is_doubtful(thing)
