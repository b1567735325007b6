"""Which of many things have a key, in 12 bytes for each key of each thing."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable

_BITS = 32
"""Of the number of a thing; the hash of its key stands above."""


class Postings:
    """Finds things by their keys, given the keys of each thing in turn.

    A key is known by its hash of 64 bits: that two are taken for one happens once in a million million questions.
    """

    def __init__(self, keys: Iterable[Iterable[Hashable]]) -> None:
        entries: list[int] = []
        for number, own in enumerate(keys):
            entries += [hash(key) << _BITS | number for key in own]
        entries.sort()
        self._hashes = array("q", [entry >> _BITS for entry in entries])
        self._numbers = array("I", [entry & (1 << _BITS) - 1 for entry in entries])

    def having(self, key: Hashable) -> frozenset[int]:
        """The numbers of the things that have a key."""
        wanted = hash(key)
        first = bisect_left(self._hashes, wanted)
        return frozenset(self._numbers[first : bisect_right(self._hashes, wanted, lo=first)])
