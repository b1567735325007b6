"""What a run came to, in the words that terminal and page show."""

from typing import Literal

from etude.records.record import Record

ShipVerdict = Literal["ship", "do not ship", "inconclusive"]
"""Whether the second skill should take the place of the first."""
Claim = Literal["tasks like these", "these tasks"]
"""What a verdict is about: a gain on new tasks of the same kind, or one on just those that were attempted."""


def about(claim: Claim) -> str:
    """As it stands behind a verdict."""
    return "on just these tasks" if claim == "these tasks" else "on tasks like these"


class Interval(Record):
    """A mean with its 95% interval over `n` tasks."""

    mean: float
    low: float
    high: float
    n: int

    def __repr__(self) -> str:
        return f"<Interval {self.mean:.3g} [{self.low:.3g}, {self.high:.3g}], n={self.n}>"

    @property
    def shown(self) -> str:
        """As in `0.86 [0.77, 0.92]`."""
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"

    @property
    def shown_change(self) -> str:
        """The same of a difference, with signs."""
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


class ScoreRow(Record):
    """The scores of the initial and the best skill on a split. None where one was not measured."""

    name: str
    initial: Interval | None
    best: Interval | None


class Remark(Record):
    """A sentence about a result, under a name of a word or two."""

    name: str
    text: str


class Answer(Record):
    """What a run came to."""

    verdict: ShipVerdict | None
    """None where there is none, or the best skill is the initial one."""
    words: str
    """As in `ship, on tasks like these`, `the best skill is the initial one` or `not tested`."""
    scores: tuple[ScoreRow, ...]
    """The split that decides comes last."""
    about: str
    """What the scores are, as in `share solved, 95% interval`."""
    gain: Interval | None
    """On the test tasks; None where the best skill is the initial one."""
    lines: tuple[Remark, ...]
    """What has to be known with the scores."""
    targets: tuple[tuple[str, ...], ...]
    """A column for each of several targets, the first row with their names."""
    facts: tuple[Remark, ...]
    """What it took."""
