"""A candidate that may be luck, carried to later nights: what was seen of it so far, and what its next look may show.

A look is what one night sees of a candidate: fresh attempts at its held-out tasks under the old document and under
the candidate. Looks add up, and so do chances of a mistake. The first look has the level `sleep.alpha`. What a look
spends is not its level but the largest p up to it that its permutation distribution has, which the scores of all
attempts decide together, whichever document they had; later looks share what is left. By the union bound the chance
that any look at a candidate that changes nothing passes is at most the sum of what they spend. That holds for a text
and not only for a candidate: what is made once more from the same document goes on where its looks ended.
"""

import math
from collections.abc import Mapping, Sequence

from pydantic import Field

from etude.comparison import decide
from etude.intervals import Arms, mean_interval, permutation
from etude.records import Record, digest
from etude.records.summary import Comparison, Flip, Tried
from etude.sleep.adoption.rules import Evidence
from etude.sleep.improve.confirm import Fresh, fresh_of_arms, lost_in

__all__ = ["Carried", "Look", "LookedAt", "kept_looks", "nights_of"]

_TESTED = 100
"""Texts of a document whose looks are kept, those that were looked at last."""
_NOTHING = 1e-12
"""What is left of a level by rounding alone."""


class Look(Record):
    """What one night saw of a candidate."""

    night: int
    tried: tuple[Tried, ...]
    """Fresh attempts at each held-out task under the old document (`a`) and under the candidate (`b`)."""
    p: float
    """How often luck alone does as well, over this look and all before it."""
    level: float
    """The highest p with which the candidate would have been proposed."""
    spent: float
    """The largest p up to the level that these attempts could have had."""


class LookedAt(Record):
    """The looks at a text that has not passed, whether it is carried or not: what is left of its level."""

    before: str
    """Hash of the document that it was made from."""
    text: str
    """Hash of `Carried.text`."""
    looks: tuple[Look, ...]


class Carried(Record):
    """A candidate that may be luck, with all that was seen of it."""

    night: int
    """That made it."""
    before: str
    """Hash of the document that it was made from."""
    text: str
    """What may differ from that document (`etude.sleep.improve.block.changed`)."""
    looks: tuple[Look, ...] = ()
    evidence: Mapping[str, Evidence] = Field(default_factory=dict[str, Evidence])
    """What its rules rest on, by text."""

    def left(self, nights: int) -> int:
        """How many looks may follow, of `nights` after the first."""
        return max(0, nights + 1 - len(self.looks))

    def level(self, alpha: float, nights: int) -> float:
        """Of the next look; 0 when there may be none.

        Args:
            alpha: that all looks may spend together.
            nights: looks after the first.
        """
        if not self.looks:
            return alpha
        left = self.left(nights)
        return self._rest(alpha) / left if left else 0.0

    def level_once_more(self, alpha: float, nights: int) -> float:
        """Of a look at a text that was not carried to this night and that it has made once more: as `level`. After
        the last of the looks that share alpha it is half of what they have left; 0 when nothing is."""
        return self.level(alpha, nights) if self.left(nights) else self._rest(alpha) / 2

    def seen(self, night: int, tried: Sequence[Tried], level: float) -> "Carried":
        """With one more look, at this level."""
        arms = [*self._arms, *(Arms(one.a, one.b) for one in tried)]
        found = permutation(arms, level)
        look = Look(night=night, tried=tuple(tried), p=found.p, level=level, spent=found.level)
        return self.model_copy(update={"looks": (*self.looks, look)})

    @property
    def settled(self) -> bool:
        """Whether the last look rules out luck alone, together with those before it."""
        return self.looks[-1].p <= self.looks[-1].level

    @property
    def pooled(self) -> tuple[Tried, ...]:
        """All attempts at each task, whichever night made them."""
        a, b = dict[str, tuple[float, ...]](), dict[str, tuple[float, ...]]()
        for one in (one for look in self.looks for one in look.tried):
            a[one.task], b[one.task] = a.get(one.task, ()) + one.a, b.get(one.task, ()) + one.b
        return tuple(Tried(task=task, a=a[task], b=b[task]) for task in a)

    @property
    def worse(self) -> tuple[str, ...]:
        """Tasks that one of the looks has lost (`lost_in`) and that come out worse in the mean over all of them."""
        lost = {task for look in self.looks for task in lost_in(look.tried)}
        return tuple(one.task for one in self.pooled if one.task in lost and _mean(one.b) < _mean(one.a))

    @property
    def gains(self) -> bool:
        """Whether there is any gain in the mean over all tasks."""
        return math.fsum(_mean(one.b) - _mean(one.a) for one in self.pooled) > 0

    @property
    def nights(self) -> str:
        """Those that looked, in words."""
        return nights_of([look.night for look in self.looks])

    def fresh(self) -> Fresh:
        """What all looks show together, at the level of the last one."""
        last = self.looks[-1]
        trials = max(len(one.b) for one in last.tried)
        # The strata of p are nights and tasks: what differs from night to night is no effect of the candidate.
        fresh = fresh_of_arms([Arms(one.a, one.b) for one in self.pooled], last.p, trials, last.level)
        return fresh.model_copy(update={"looks": len(self.looks)})

    def compared(self, last: Comparison) -> Comparison:
        """The comparison of the last look with the attempts of all of them. Its interval does not know how often
        was looked, so that it settles nothing: the verdict is `inconclusive`, and a person decides."""
        means = [(one.task, _mean(one.a), _mean(one.b)) for one in self.pooled]
        before, after = [a for _, a, _ in means], [b for _, _, b in means]
        decision = decide(before, after)
        flips = sorted((Flip(task=task, a=a, b=b) for task, a, b in means if a != b), key=lambda x: -abs(x.b - x.a))
        update = {
            "a": last.a.model_copy(update={"score": mean_interval(before)}),
            "b": last.b.model_copy(update={"score": mean_interval(after)}),
            "difference": decision.difference,
            "at_least": decision.at_least,
            "at_most": decision.at_most,
            "verdict": "inconclusive",
            "settle": None,
            "gained": tuple(flip for flip in flips if flip.b > flip.a),
            "lost": tuple(flip for flip in flips if flip.b < flip.a),
            "equal": len(means) - len(flips),
            "tried": self.pooled,
            "file": "",
        }
        return last.model_copy(update=update)

    def told(self, alpha: float, nights: int) -> str:
        """That it is carried, for people."""
        left = self.left(nights)
        return (
            f"the candidate of night {self.night} is carried: p = {self.looks[-1].p:.2g} over {self.nights}, "
            f"the next look needs p <= {self.level(alpha, nights):.2g}, {left} look{'s' if left > 1 else ''} left"
        )

    @property
    def tested(self) -> LookedAt:
        """What is kept of it where it is not carried on."""
        return LookedAt(before=self.before, text=digest(self.text), looks=self.looks)

    def _rest(self, alpha: float) -> float:
        rest = alpha - math.fsum(look.spent for look in self.looks)
        return rest if rest > _NOTHING else 0.0

    @property
    def _arms(self) -> list[Arms]:
        return [Arms(one.a, one.b) for look in self.looks for one in look.tried]


def kept_looks(known: Sequence[LookedAt], more: Sequence[LookedAt]) -> tuple[LookedAt, ...]:
    """What is known of the texts of a document, with the looks at some of them brought up to date."""
    kept = {(one.before, one.text): one for one in known}
    for one in more:
        kept.pop((one.before, one.text), None)
        kept[one.before, one.text] = one
    return tuple(kept.values())[-_TESTED:]


def nights_of(numbers: Sequence[int]) -> str:
    """As in `night 1`, `nights 1 and 2` and `nights 1, 2 and 4`."""
    if len(numbers) == 1:
        return f"night {numbers[0]}"
    return f"nights {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
