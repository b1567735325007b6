"""What a night did, as data: `night.json` in its folder."""

from datetime import datetime
from typing import Literal

from pydantic import Field, ValidationError

from etude.records import Record
from etude.records.summary import Interval, ShipVerdict
from etude.sleep.state import REPORT, SleepState

NightStatus = Literal["running", "proposed", "adopted", "no change", "nothing to do", "error"]
"""How a night stands.

running        under way, or its process was killed
proposed       there is a proposal that waits for a person
adopted        its proposal is in place
no change      tasks were attempted and nothing is proposed
nothing to do  no session, or none with a task in it
error          it could not be carried out; its sessions wait
"""


Status = Literal["accepted", "rejected", "inconclusive", "unverified", "unchanged"]


class Spent(Record):
    """What was used, over all processes that worked on it."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    """None when a price is unknown."""

    def __add__(self, other: "Spent") -> "Spent":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Spent(calls=self.calls + other.calls, tokens=self.tokens + other.tokens, usd=usd)


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
    by_luck: float | None = None
    """How often luck alone does as well as the fresh attempts: the exact p of `etude.intervals.permutation`; None
    without them."""
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
    """Tasks that the miner proposed and that were not taken, or not with all of their criteria, by reason."""


class NightReport(NightIntake):
    """A night."""

    night: int
    status: NightStatus
    resumes: bool = False
    """The next run resumes this night, where it has the same settings."""
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
    documents: tuple[DocumentReport, ...] = ()
    proposal: str = ""
    """Folder of the proposal; empty when there is none."""
    held_back: tuple[str, ...] = ()
    """Why the proposal was not adopted at once, where that was asked for."""
    spent: Spent = Spent()
    simulated: bool = False
    """Answers came, or were to come, from the simulated world."""
    notes: tuple[str, ...] = ()


def read_report(state: SleepState, number: int) -> NightReport | None:
    """The report of a night; None when it was killed before there was one, or is of another version."""
    try:
        return NightReport.model_validate_json((state.night(number) / REPORT).read_bytes())
    except (OSError, ValidationError):
        return None


def unfinished(state: SleepState) -> int | None:
    """The night that the next run resumes; None when it begins a new one."""
    last = max(state.numbers(), default=None)
    if last is None or not (state.night(last) / REPORT).exists():
        return last  # killed when it had nothing but its folder
    report = read_report(state, last)
    return last if report is not None and report.resumes else None
