"""What came of one document in a night."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from etude.records import Record, Skill
from etude.records.summary import Comparison, ShipVerdict
from etude.sleep.adoption.rules import Trial
from etude.sleep.improve.held_out import HeldOut
from etude.sleep.report import DocumentReport, Spent, Status
from etude.sleep.tasks.mined import MinedTask
from etude.stages.shared.contest import ERROR

Place = Literal["skill", "memory"]
PLACES: tuple[Place, ...] = ("skill", "memory")
"""The order in which documents are improved."""


class DocumentOutcome(Record):
    """What came of one document.

    accepted      better on held-out tasks, and fresh attempts confirm it; to be proposed
    rejected      a candidate was made and did not pass the gate, or fresh attempts show no gain or lose a task
    inconclusive  a candidate passed the gate, and its gain in fresh attempts may be luck; it is dropped
    unverified    a candidate was made and not tried: to be proposed where the gate is off, not where it is on and
                  there are no held-out tasks
    unchanged     there was no candidate
    """

    place: Place
    status: Status
    reason: str
    before: Skill
    after: Skill
    """As `before` unless accepted, inconclusive or unverified."""
    proposed: bool
    """It is to be proposed: accepted, or unverified because the gate is off."""
    confirmed: Comparison | None = None
    """Fresh attempts at the held-out tasks under both documents; None when none were asked for."""
    by_luck: float | None = None
    """How often luck alone does as well as these."""
    held_out: HeldOut
    baseline: float | None
    """Mean on the held-out tasks before; None when not measured."""
    candidate: float | None
    """Mean of the candidate that passed, which selected on them; None where none did."""
    spent: Spent
    simulated: bool
    """Answers came from the simulated world."""
    alone: Mapping[str, Trial] = Field(default_factory=dict[str, Trial])
    """What was measured of each new rule on its own, by what it says."""

    @property
    def verdict(self) -> ShipVerdict | None:
        """Of fresh attempts; None without any."""
        return None if self.confirmed is None else self.confirmed.verdict


def reported(name: str, path: str, change: DocumentOutcome, tasks: Sequence[MinedTask]) -> DocumentReport:
    """The report on the change of a document that has these tasks, and why it came to that."""
    confirmed = change.confirmed
    settle = "" if confirmed is None or confirmed.settle is None else confirmed.settle.note
    if change.by_luck is not None and change.by_luck > ERROR:
        settle = "more held-out tasks, or a higher sleep.confirm_trials, would settle it"
    same = ("status", "reason", "baseline", "candidate", "verdict", "by_luck")
    return DocumentReport(
        **{field: getattr(change, field) for field in same},
        name=name,
        path=path,
        confirmed=None if confirmed is None else confirmed.difference,
        settle=settle,
        train=sum(task.split == "train" for task in tasks),
        held_out=sum(task.split == "val" for task in tasks),
    )
