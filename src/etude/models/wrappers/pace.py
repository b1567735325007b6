"""How many requests a server takes at once, found out from those that it refuses."""

import math
from typing import NamedTuple

FLOOR = 8
"""Requests in flight that are never fewer: below that a share of refusals says hardly anything, and it takes long to
grow again. Where a server takes fewer, the slots of refused requests rest longer instead."""
NARROWEST = 0.25
"""Requests at once that a server is thought to take at least: so few that each slot rests 32 times an answer."""
LEAST = 24
"""Requests in a round at least. With 16, one that was refused by chance weighs so much that ten in a hundred keep a
small bound down; with 32, a bound that is too large is noticed late."""
SLOWEST, FASTEST = 1 / 16, 1.0
"""Growth in a round: the first is what a server at its limit has to refuse again and again; with the second, after
some rounds with nothing against it, 16 requests become 2,000 in nine rounds."""
BY_CHANCE = 0.75
"""Largest share of refusals that is taken for chance: a server that refuses more is at its limit."""
DEVIATIONS = 2.0
"""Standard deviations by which a share has to be above that of chance to be more."""
UNKNOWN = 1.0
"""Seconds that an answer is thought to take before there was one."""
LONGEST_REST = 60.0
"""Seconds; limits for each minute are the longest that are common."""
_WEIGHT = 1 / 16
"""Of an answer in the mean time of answers."""


class _Cut(NamedTuple):
    """What a bound was before it was cut, until it is known whether that helped."""

    width: float
    share: float
    """Of refused requests then."""
    hoped: float
    """The share after it, if the server takes as many as before."""


class Pace:
    """The bound on requests in flight: from 8 to `most`, or `most` where that is less.

    It is looked at once in a round: as long as an answer takes, and 24 requests at least. If more of them were
    refused than by chance, the bound becomes as many as the server took. The round after the next tells whether that
    helped: where the share of refusals has not come half-way down to what was hoped, fewer requests do not bring
    fewer refusals. Then the bound is what it was, and this share is chance from now on. Where nothing speaks against
    it, and all slots were in use, the bound grows, by a sixteenth and then twice as fast with each round.

    The slot of a refused request rests as long as an answer takes, so that a server which refuses at once is not
    asked more often for that. Where a server takes fewer than 8, it rests longer in the same measure.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._width = float(most)
        """Requests that the server takes at once; may be below the floor."""
        self._growth = SLOWEST
        self._chance = 0.0
        """Share of refusals that does not depend on how many requests there are."""
        self._cut: _Cut | None = None
        self._settling = False
        """Answers may be missing in the first round after a cut: what it sent is still under way."""
        self._cuts = 0
        self._seconds: float | None = None
        """Mean time of answers."""
        self._begin(0.0)

    @property
    def limit(self) -> int:
        """Most requests in flight, slots that rest included."""
        return min(self._most, max(FLOOR, int(self._width)))

    @property
    def rest(self) -> float:
        """Seconds from when a request was sent that is refused, for which its slot is not used again."""
        return min(LONGEST_REST, self._answer_takes * max(1.0, self.limit / self._width))

    def sent(self, now: float, in_flight: int) -> int:
        """A request is sent at `now`, in seconds, as one of so many in flight. Returns a mark to say what came of it
        with."""
        if self._sent >= LEAST and now - self._began >= self._answer_takes:
            self._judge()
            self._begin(now)
        elif not self._sent:
            self._began = now
        self._sent += 1
        self._peak = max(self._peak, in_flight)
        return self._cuts

    def refused(self, mark: int) -> None:
        """The request with this mark was refused. It does not count when it was sent before the last cut."""
        self._refused += mark == self._cuts

    def answered(self, mark: int, seconds: float) -> None:
        """The request with this mark was answered after so many seconds."""
        self._answered += mark == self._cuts
        known = seconds if self._seconds is None else self._seconds
        self._seconds = known + (seconds - known) * _WEIGHT

    @property
    def _answer_takes(self) -> float:
        return UNKNOWN if self._seconds is None else self._seconds

    def _begin(self, now: float) -> None:
        self._began, self._peak = now, 0
        self._sent = self._refused = self._answered = 0

    def _judge(self) -> None:
        if self._settling:
            self._settling = False
            return
        # Answers to a burst are still missing; of slow refusals, more may come in than requests are sent at last.
        of = max(self._sent, self._refused + self._answered)
        share, cut = self._refused / of, self._cut
        self._cut = None
        if cut is not None and (cut.share + cut.hoped) / 2 < share <= BY_CHANCE:
            self._width, self._chance = cut.width, share
        elif share > self._chance + DEVIATIONS * math.sqrt(self._chance * (1 - self._chance) / of):
            self._shrink(share)
        else:
            self._chance = min(self._chance, (self._chance + share) / 2)
            self._grow()

    def _shrink(self, share: float) -> None:
        wide = min(self._width, float(self._peak))
        # Below the floor only from there, and where some are taken: a minute that is used up says nothing of others.
        least = NARROWEST if self._width <= FLOOR and self._answered else min(float(FLOOR), self._width)
        width = max(least, wide * (1 - share) / (1 - self._chance))
        self._cut, self._settling = _Cut(self._width, share, 1 - (1 - share) * wide / width), True
        self._width, self._growth = width, SLOWEST
        self._cuts += 1

    def _grow(self) -> None:
        if self._peak >= self.limit:
            self._width = min(float(self._most), self._width * (1 + self._growth))
            self._growth = min(FASTEST, 2 * self._growth)
