"""Whether words that a model quotes are a user's own: what a user pasted, and what a tool or a page said, is not."""

import re
from collections.abc import Iterable

from etude.envs.splits import fold
from etude.sleep.transcripts.sessions import Turn

_SHORTEST = 4
_PASTED = re.compile(
    r"^(?P<fence>```+|~~~+)[\s\S]*?(?:^(?P=fence)|\Z)"
    r"|<(?P<tag>[A-Za-z][\w-]*)(?:\s[^<>]*)?>[\s\S]*?</(?P=tag)>|^[ \t]*>.*$",
    re.MULTILINE,
)


def in_own_words(quote: str, turns: Iterable[Turn]) -> bool:
    """Whether the user typed these words in one of the turns, case and white space apart. Blocks of code, quoted
    lines and what stands between tags were pasted."""
    wanted = fold(quote)
    return len(wanted) >= _SHORTEST and any(wanted in fold(_PASTED.sub("\n", turn.prompt)) for turn in turns)
