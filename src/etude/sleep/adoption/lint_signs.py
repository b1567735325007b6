"""A sign: a pattern that tells what is wrong with a rule, and what becomes of the rule."""

import re
from typing import NamedTuple

from etude.sleep.adoption.lint_bans import is_forbidden

__all__ = ["Sign", "sign"]


class Sign(NamedTuple):
    """A sign that a rule should not be adopted by itself."""

    kind: str
    what: str
    pattern: re.Pattern[str]
    """Its group `it`, where it has one, is what is wrong; what stands before only tells so."""
    bars: bool
    """No night proposes a rule that has it."""
    forbids: bool
    """A sentence that forbids it is a rule like any other: `Never change files without asking`."""
    harmless: re.Pattern[str] | None
    """What begins like this bars nothing, and waits for a person."""
    strict: bool = False
    """A sentence forbids it only where the ban ends with it: nothing follows but a place or `without asking`."""

    def find(self, text: str) -> str | None:
        """The first place that has the sign."""
        match = self.pattern.search(text)
        while match is not None:
            start = match.start("it") if "it" in self.pattern.groupindex and match["it"] else match.start()
            harmless = self.harmless is not None and self.harmless.match(text, start)
            if not harmless and not (self.forbids and is_forbidden(text, start, match.end(), strict=self.strict)):
                return text[start : match.end()]
            match = self.pattern.search(text, match.start() + 1)  # within it too: `print names and send passwords`
        return None


def sign(
    kind: str,
    what: str,
    pattern: str,
    *,
    bars: bool = False,
    forbids: bool = False,
    harmless: str = "",
) -> Sign:
    """Patterns know no case but in `(?-i:...)`, and `^` and `$` stand for the ends of a line."""
    flags = re.IGNORECASE | re.MULTILINE
    unless = re.compile(harmless, flags) if harmless else None
    return Sign(kind, what, re.compile(pattern, flags), bars, forbids, unless)
