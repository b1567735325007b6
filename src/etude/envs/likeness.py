"""How much two texts have in common, by their letters: whether they ask for the same in other words."""

import re
from collections.abc import Iterable
from functools import lru_cache

NEAR = 0.75
"""Likeness from which two requests count as the same wish."""
_WORD = re.compile(r"[\w.@/-]*\w")
_GRAM = 3
EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can could do does for from have hello hey hi i in is it just me my need now of on "
        "one or our please quick quickly so some task thank thanks that the them there this to us want we will with "
        "would you your",
    )
)
"""What politeness and grammar add, not what is asked."""


def likeness(one: str, other: str) -> float:
    """How much two texts have in common, in [0, 1]: twice the runs of three letters that both have, by all that each
    has. Case, order of words, and words that only make a sentence polite or complete do not count."""
    left, right = runs_in(one), runs_in(other)
    if not left or not right:
        return float(left == right)
    return overlap(left, right)


def overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """The runs of letters that both have, by all that each has, in [0, 1]; one of them is not empty."""
    return 2 * len(left & right) / (len(left) + len(right))


@lru_cache(maxsize=4096)
def runs_in(text: str) -> frozenset[str]:
    """The runs of letters of a text, without words that say nothing where others are left."""
    words = words_in(text)
    return runs_of(word for word in words if word not in EMPTY_WORDS) or runs_of(words)


def words_in(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return [word.strip("-./") for word in _WORD.findall(text.casefold())]


def runs_of(words: Iterable[str]) -> frozenset[str]:
    """All three letters in a row of these words."""
    return frozenset(f" {word} "[at : at + _GRAM] for word in words for at in range(len(word)))
