"""What the counting tasks are about: things, their kinds, and which of them a hasty reader does not take for one."""

from dataclasses import dataclass

from etude.simulation.families.words import one_by_one

NUMBERS: tuple[str, ...] = (
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


ANIMALS = Kind(
    "animals",
    one_by_one("bear cat cow dog donkey fox goat horse lion mouse pig rabbit sheep squirrel tiger wolf"),
    one_by_one("bee chicken crow duck eel fish frog goose lizard moth owl snail snake spider swan toad trout"),
)
FRUITS = Kind(
    "fruits",
    one_by_one("apple apricot banana lemon mango melon nectarine orange papaya peach pear pineapple plum"),
    one_by_one("blackberry blueberry cherry cranberry currant gooseberry grape raspberry strawberry"),
)
VEGETABLES = Kind(
    "vegetables",
    one_by_one("beet cabbage carrot cauliflower courgette cucumber leek onion parsnip potato pumpkin turnip yam"),
    (
        *("head of broccoli", "stalk of celery", "lettuce head", "head of lettuce", "bulb of fennel", "garlic"),
        *("bulb of garlic", "stalk of rhubarb", "head of chicory", "clove of garlic", "head of radicchio"),
    ),
)
INSTRUMENTS = Kind(
    "musical instruments",
    one_by_one("banjo bassoon cello clarinet flute guitar harp lute mandolin oboe trombone trumpet viola violin"),
    one_by_one("accordion cymbal drum gong harpsichord marimba organ piano tambourine triangle xylophone"),
)
OBJECTS = Kind(
    "objects",
    (
        *(
            "bed",
            "blanket",
            "bottle",
            "bucket",
            "car",
            "chair",
            "clock",
            "couch",
            "fridge",
            "kettle",
            "ladder",
            "lamp",
        ),
        *("microwave", "mirror", "oven", "pillow", "shelf", "stove", "table", "toaster", "wardrobe"),
    ),
    (),
)
KINDS: tuple[Kind, ...] = (ANIMALS, FRUITS, VEGETABLES, INSTRUMENTS, OBJECTS)
LIVING: tuple[Kind, ...] = (ANIMALS, FRUITS, VEGETABLES)

_IRREGULAR = {
    "mice": "mouse",
    "geese": "goose",
    "wolves": "wolf",
    "shelves": "shelf",
    "knives": "knife",
    "fish": "fish",
    "sheep": "sheep",
    "trout": "trout",
}
_PLURALS = {one: many for many, one in _IRREGULAR.items()}


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
    if head.endswith(("ch", "sh", "x", "s")) or head in ("potato", "mango"):
        return head + "es"
    return head + "s"


_BY_NAME = {
    name: kind for kind in KINDS for thing in (*kind.plain, *kind.doubtful) for name in (thing, plural(thing))
}

_DOUBTFUL = frozenset(name for kind in KINDS for thing in kind.doubtful for name in (thing, plural(thing)))


def kind_of(thing: str) -> Kind:
    """The kind of a thing in the singular or plural; what is not known is an object."""
    return _BY_NAME.get(thing, OBJECTS)


def is_doubtful(thing: str) -> bool:
    """Whether a hasty reader would not count the thing as one of its kind."""
    return thing in _DOUBTFUL
