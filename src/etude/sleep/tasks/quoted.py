"""Whether words that a model quotes are a user's own: what a user pasted, and what a tool or a page said, is not."""

import re
from collections.abc import Iterable
from unicodedata import east_asian_width

from etude.envs.splits import fold
from etude.sleep.transcripts.sessions import Turn

_SHORTEST = 4
"""Columns of a terminal that a quote takes up: a sign of Chinese or Japanese, which says as much as a syllable, takes
two."""
_PASTED = re.compile(
    r"^(?P<fence>```+|~~~+)[\s\S]*?(?:^(?P=fence)|\Z)"
    r"|<(?P<tag>[A-Za-z][\w-]*)(?:\s[^<>]*)?>[\s\S]*?</(?P=tag)>|^[ \t]*>.*$",
    re.MULTILINE,
)


def in_own_words(quote: str, turns: Iterable[Turn]) -> bool:
    """Whether the user typed these words in one of the turns, case and white space apart. Blocks of code, quoted
    lines and what stands between tags were pasted."""
    wanted = fold(quote)
    width = sum(1 + (east_asian_width(sign) in "FW") for sign in wanted)
    return width >= _SHORTEST and any(wanted in fold(own_words(turn)) for turn in turns)


def own_words(turn: Turn) -> str:
    """What the user typed, without what was pasted."""
    return _PASTED.sub("\n", turn.prompt)


def pasted(turn: Turn) -> tuple[str, ...]:
    """What was pasted."""
    return tuple(found[0] for found in _PASTED.finditer(turn.prompt))
