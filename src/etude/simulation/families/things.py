"""What the counting tasks are about: things, their kinds, and which of them a hasty reader does not take for one."""

from dataclasses import dataclass

from etude.simulation.families.tables import table

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
