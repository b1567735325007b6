"""Texts without gold answers, for a file that leaves the house."""

import re
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

SHORTEST = 4
"""Characters of a gold answer that is looked for: a shorter one stands in many texts for other reasons."""
HIDDEN = "[gold answer]"
_WORD = re.compile(r"\w+")
_NAMES = frozenset(
    {"run", "name", "id", "key", "place", "attempt", "attempts", "task", "tasks", "cites", "failures", "fixes"}
    | {"solved", "needed", "skill", "hash", "split", "type", "op", "outcome", "action", "origin", "fate", "role"}
)
"""Fields that hold names, which links depend on."""
_ASKED = "input"
"""The field of a question. It stays: were one of its options hidden, that would tell the answer."""


class GoldMask:
    """The gold answers of a run. They are found word by word, whatever stands between the words and in whatever case:
    as a whole, and not in other words."""

    def __init__(self, golds: Iterable[JsonValue]) -> None:
        self._starts: dict[str, list[tuple[str, ...]]] = {}
        """By first word the words of each, the longest first."""
        found = {words for gold in golds for text in _texts(gold) if (words := tuple(_words(text)))}
        for words in sorted(found, key=len, reverse=True):
            self._starts.setdefault(words[0], []).append(words)

    def without(self, text: str) -> str:
        """The text with each gold answer hidden."""
        words = list(_WORD.finditer(text))
        folded = [word[0].casefold() for word in words]
        kept: list[str] = []
        at = end = 0
        while at < len(words):
            for gold in self._starts.get(folded[at], ()):
                if tuple(folded[at : at + len(gold)]) == gold:
                    kept += [text[end : words[at].start()], HIDDEN]
                    at += len(gold)
                    end = words[at - 1].end()
                    break
            else:
                at += 1
        return "".join((*kept, text[end:]))

    def hidden(self, value: JsonValue, field: str = "") -> JsonValue:
        """A document, or the value of a field of it, with each gold answer in its texts hidden."""
        if isinstance(value, str):
            return value if field in _NAMES or field == _ASKED else self.without(value)
        if isinstance(value, list):
            return [self.hidden(each, field) for each in value]
        if isinstance(value, dict) and value.get("role") != "user" and field != "failures":
            return {name: self.hidden(each, name) for name, each in value.items()}
        return value


def _words(text: str) -> Iterator[str]:
    return (word.casefold() for word in _WORD.findall(text))


def _texts(gold: JsonValue) -> Iterator[str]:
    """The answers in a gold: it may be one, several, or have parts."""
    if isinstance(gold, list):
        for each in gold:
            yield from _texts(each)
    elif isinstance(gold, dict):
        for each in gold.values():
            yield from _texts(each)
    elif gold is not None and not isinstance(gold, bool) and len(str(gold).strip()) >= SHORTEST:
        yield str(gold)
