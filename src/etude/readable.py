"""Numbers and texts as people read them: the same in a terminal and on the page."""

import re
import textwrap
from collections.abc import Sequence

SIMULATED = "SIMULATED MODELS: these scores say nothing about a real model."
_ACTS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\r(?!\n|\Z)")
"""Control characters but tabs and line ends; those that break lines or turn the direction of text."""

_SPACELESS = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
"""Signs of Thai, Lao, Japanese and Chinese, which write no blanks between words."""
_WORD = re.compile(f"[{_SPACELESS}]{{1,2}}|[^\\s{_SPACELESS}]+")
_COLUMN = re.compile(r" {2,}(?=\S)")
_NARROWEST = 24
"""Room that the last column of a broken line needs."""


CHARACTERS_PER_TOKEN = 4
"""A common rule of thumb for English text; tokenizers differ by model."""


def token_count(text: str) -> int:
    """An estimate of how many tokens a model reads in `text`: characters / 4, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def counted(count: int, what: str) -> str:
    """As in `1 edit`, `3 edits` or `2 analyses`."""
    several = what.removesuffix("is") + "es" if what.endswith("sis") else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


def word_count(text: str) -> int:
    """How many words a text has; where a language writes no blanks between them, two signs count as one.

    >>> word_count("Wie groß?"), word_count("北京的面积")
    (2, 3)
    """
    return len(_WORD.findall(text))


def some(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """The first of them, and how many more there are."""
    more = len(texts) - most
    return between.join([*texts[:most], *([f"and {more:,} more"] if more > 0 else [])])


def duration(seconds: float) -> str:
    """As in `0:42` or `1:05:09`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def money(usd: float | None) -> str:
    """US dollars; unknown is never 0."""
    return "unknown (no price set)" if usd is None else f"${usd:,.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def short(count: int) -> str:
    """As in `950`, `12k` or `3.4M`."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1e3:.0f}k" if count < 1_000_000 else f"{count / 1e6:.1f}M"


def visible(text: str) -> str:
    """The text with `<U+001B>` for each such character. A carriage return stays where it belongs to a line end."""
    return _ACTS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def visible_json(text: str) -> str:
    """The same for JSON, whose value stays what it is."""
    return _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def fitted(text: str, width: int) -> list[str]:
    """The line, broken between words where it is wider than that; what follows stands under its last column."""
    columns = [found.end() for found in _COLUMN.finditer(text) if found.end() <= width - _NARROWEST]
    indent = columns[-1] if columns else 0
    if len(text) <= width or " " not in text[indent:]:
        return [text]
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * indent,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


def cut_middle(text: str, limit: int) -> str:
    """At most about `limit` characters: the middle is left out and the cut is marked."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[len(text) - half :]}"
