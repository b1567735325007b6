"""BM25: which text has most to do with a request by its words alone. The floor for judges of triggers."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_SATURATION, _LENGTH = 1.5, 0.75
"""The usual k1 and b (Robertson and Zaragoza 2009, The Probabilistic Relevance Framework, section 3.4)."""


class Ranking:
    """Texts by name, to be ranked for requests.

    Source: Robertson and Zaragoza 2009; the weight of a word is log(1 + (N - n + 0.5) / (n + 0.5)), never negative.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        counts = {name: _words(text) for name, text in texts.items()}
        sizes = {name: sum(found.values()) for name, found in counts.items()}
        mean = sum(sizes.values()) / max(1, len(sizes)) or 1.0
        self._holders: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for name, found in counts.items():
            damping = _SATURATION * (1 - _LENGTH + _LENGTH * sizes[name] / mean)
            for word, count in found.items():
                self._holders[word].append((name, count * (_SATURATION + 1) / (count + damping)))
        self._count = len(counts)

    def scores(self, request: str) -> dict[str, float]:
        """Above 0, for each text that shares a word with the request."""
        found: dict[str, float] = defaultdict(float)
        for word in _words(request):
            holders = self._holders.get(word, [])
            weight = math.log(1 + (self._count - len(holders) + 0.5) / (len(holders) + 0.5))
            for name, value in holders:
                found[name] += weight * value
        return dict(found)

    def first(self, request: str) -> str:
        """The name of the best text, the first by name of equals; empty where no word is shared."""
        scores = self.scores(request)
        return min(scores, key=lambda name: (-scores[name], name), default="")


@lru_cache(maxsize=4096)
def _words(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in _WORD.findall(text))
