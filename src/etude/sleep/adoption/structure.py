"""What a person should look at in a rule. A rule is made from transcripts, and a transcript holds whatever a web page
or a tool said. Only a short plain sentence is adopted without a person."""

import re
import unicodedata
from collections.abc import Iterator

from etude.redaction.redactor import Redactor
from etude.skill.anchors import LIST_MARK
from etude.skill.markers import looks_like_marker

MAX_CHARS = 200
"""Longest rule that is adopted without a person."""

_EXCERPT = 60
_SHOWN_SPACES = frozenset("\n\r\t ")
_BLANK_LETTERS = frozenset(map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0)))
_SELECTORS = re.compile("[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_)([^\W_](?:(?:[^\W_]|[ ',-])*[^\W_])?)\1(?![\w*])")
_SIGNS = (
    ("code", re.compile(r"[`$<>{}\[\]=~^*_]|\s\||\|\s|\(\)|(?:^|\s)--?[A-Za-z]")),
    ("a path", re.compile(r"[/\\]")),
    ("an address or the name of a file", re.compile(r"@|\w\.[^\W\d]|[^\W\d]\.\w|\d\.\d+\.\d|[^\W\d]:\w")),
    ("a heading", re.compile(r"^\s*#|[-=]{3}")),
)


def doubts(rule: str) -> tuple[str, ...]:
    """Why a person has to read this rule; nothing for one that may be adopted without a person."""
    return tuple(_doubts(rule.strip()))


def _doubts(rule: str) -> Iterator[str]:
    hidden = next((char for char in rule if char == "\r" or _is_hidden(char)), None)
    if hidden is not None:
        yield f"holds a character that does not show, U+{ord(hidden):04X}"
    if "\n" in rule:
        yield "has more than one line"
    if len(rule) > MAX_CHARS:
        yield f"has {len(rule)} characters, more than {MAX_CHARS}"
    if Redactor().redact(rule) != rule:
        yield "holds what looks like a secret"
    # Full-width and other variants of a sign count as that sign.
    text = unicodedata.normalize("NFKC", rule)
    if looks_like_marker(text):
        yield "holds a region marker"
    mark = LIST_MARK.match(text)
    text = text[mark.end() :] if mark else text
    text = _EMPHASIS.sub(r"\2", text)
    for what, sign in _SIGNS:
        if found := sign.search(text):
            yield f"holds {what}: {plain(from_word(text, max(0, found.start() - 20)))}"


def plain(text: str, limit: int = _EXCERPT) -> str:
    """The text on one line, without characters that do not show, cut at `limit` characters."""
    shown = " ".join("".join(char for char in text if char in _SHOWN_SPACES or not _is_hidden(char)).split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def from_word(text: str, at: int) -> str:
    """The text from the word on that stands at a place."""
    return text[max(text.rfind(blank, 0, at + 1) for blank in " \n\t") + 1 :]


def visible(text: str) -> str:
    """The text with its lines, and `<U+202E>` for each character that does not show."""
    return "".join(f"<U+{ord(char):04X}>" if char == "\r" or _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    """Control and format characters, among them those that turn the direction of text, lone surrogates, private use,
    and letters and marks that are drawn as nothing."""
    if char in _SHOWN_SPACES:
        return False
    if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return True
    return char in _BLANK_LETTERS or _SELECTORS.match(char) is not None
