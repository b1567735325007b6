"""What a night did, as data: `night.json` and `diagnostics.json` in its folder."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from etude.records import Record
from etude.records.summary import Comparison, Interval, ShipVerdict
from etude.sleep.improve.changes import DocumentOutcome, ReadingCost, Status
from etude.sleep.improve.confirm import Fresh
from etude.sleep.improve.held_out import HeldOutAttempt
from etude.sleep.limits import Spent
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.tasks.probe import WeakCriteria

NightStatus = Literal["running", "proposed", "adopted", "no change", "nothing to do", "error"]
"""How a night stands.

running        under way, or its process was killed
proposed       there is a proposal that waits for a person
adopted        its proposal is in place
no change      tasks were attempted and nothing is proposed
nothing to do  no session, or none with a task in it
error          it could not be carried out; its sessions wait
"""


class CommandLine(Record):
    """A command line, and the folder in which it was given: paths in it are relative to that one."""

    text: str
    folder: str


class DocumentReport(Record):
    """What came of one document."""

    name: str
    """`memory`, or the name of the skill."""
    path: str
    status: Status
    reason: str
    baseline: float | None = None
    """Mean on the held-out tasks before; None when not measured."""
    candidate: float | None = None
    """Of the candidate, which selected on these tasks: likely too high."""
    confirmed: Interval | None = None
    """New minus old on fresh attempts at the held-out tasks."""
    verdict: ShipVerdict | None = None
    """Whether these attempts settle that it is better; None without them."""
    settle: str = ""
    """What would settle an inconclusive verdict or status."""
    fresh: Fresh | None = None
    """Whether fresh attempts show a gain that luck alone does not explain; None without them."""
    cost: ReadingCost | None = None
    """Tokens of document and answers, before and with the candidate; None where there was none."""
    tried: int = 0
    """Edits that were tried."""
    train: int = 0
    held_out: int = 0


class NightIntake(Record):
    """What a night has read for its tasks, and what it left out on the way to them."""

    sessions: dict[str, int] = Field(default_factory=dict[str, int])
    """Sessions that were read, by source."""
    skipped: dict[str, int] = Field(default_factory=dict[str, int])
    """Records, turns and sessions that were left out, by reason."""
    redacted: dict[str, int] = Field(default_factory=dict[str, int])
    """What was taken out of the transcripts, by kind."""
    waiting: int = 0
    """Sessions beyond the limit, left for the next night."""
    problems: tuple[str, ...] = ()
    dropped: dict[str, int] = Field(default_factory=dict[str, int])
    """Tasks that the miner proposed and that were not taken, by reason."""
    doubts: tuple[WeakCriteria, ...] = ()
    """Tasks whose criteria decide little, or that were dropped for them."""


class NightReport(NightIntake):
    """A night."""

    night: int
    status: NightStatus
    resumes: bool = False
    """The next run resumes this night, where it has the same settings."""
    command: CommandLine | None = None
    """The last one that began or resumed it; None where it was not begun by a command."""
    starts: int = 1
    """How often it was begun."""
    reason: str = ""
    """Why there is nothing, or what went wrong."""
    hint: str = ""
    project: str
    started: datetime
    """UTC."""
    ended: datetime | None = None
    target: str
    optimizer: str
    tasks: dict[str, int] = Field(default_factory=dict[str, int])
    """Tasks by split."""
    test: Interval | None = None
    """Mean of the new documents on all test tasks, which decided nothing; None without any."""
    documents: tuple[DocumentReport, ...] = ()
    proposal: str = ""
    """Folder of the proposal; empty when there is none."""
    held_back: tuple[str, ...] = ()
    """Why the proposal was not adopted at once, where that was asked for."""
    spent: Spent = Spent()
    simulated: bool = False
    """Answers came, or were to come, from the simulated world."""
    notes: tuple[str, ...] = ()


class Diagnosed(DocumentReport):
    """The report on a document, and why it changed or did not."""

    before: tuple[HeldOutAttempt, ...]
    """Held-out tasks under the old documents: response, scores and reason."""
    after: tuple[HeldOutAttempt, ...]
    """The same under the candidate: the one that was accepted, else the last one."""
    optimizer_replies: tuple[str, ...]
    """Raw."""
    comparison: Comparison | None

    @property
    def report(self) -> DocumentReport:
        """What `night.json` has of it."""
        return DocumentReport(**{name: getattr(self, name) for name in DocumentReport.model_fields})


class Diagnostics(Record):
    """`diagnostics.json`."""

    night: int
    status: NightStatus
    call_error: str = ""
    """The last error of a model call that ended the night; empty when none did."""
    documents: tuple[Diagnosed, ...] = ()


def diagnosed(name: str, path: str, change: DocumentOutcome, tasks: Sequence[MinedTask]) -> Diagnosed:
    """The report on the change of a document that has these tasks, and why it came to that."""
    confirmed, fresh = change.confirmed, change.fresh
    settle = "" if confirmed is None or confirmed.settle is None else confirmed.settle.note
    if fresh is not None and not fresh.settled:
        settle = "more held-out tasks, or a higher sleep.confirm_trials, would settle it"
    same = ("status", "baseline", "candidate", "verdict", "fresh", "cost")
    return Diagnosed(
        **{field: getattr(change, field) for field in same},
        name=name,
        path=path,
        reason=change.reason,
        confirmed=None if confirmed is None else confirmed.difference,
        settle=settle,
        tried=len(change.held_out.ledger),
        train=sum(task.split == "train" for task in tasks),
        held_out=sum(task.split == "val" for task in tasks),
        before=change.held_out.initial,
        after=change.held_out.candidate,
        optimizer_replies=change.held_out.optimizer_replies,
        comparison=confirmed,
    )
