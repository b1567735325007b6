"""What came of one document in a night, what earlier nights know about it, and what it cost."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from etude.config import LimitsSection
from etude.errors import BudgetStop
from etude.records import LedgerEntry, Record, Skill
from etude.records.summary import Comparison, ShipVerdict
from etude.skill import token_count
from etude.sleep.config import SleepConfig
from etude.sleep.improve.carry import Carried, LookedAt
from etude.sleep.improve.confirm import Fresh
from etude.sleep.improve.cost import Cost
from etude.sleep.improve.held_out import HeldOut, Shown
from etude.sleep.tasks.mined import MinedTask
from etude.store import SqliteSpend
from etude.store.journal import SqliteJournal
from etude.store.views import JOURNAL

__all__ = [
    "DECIDED",
    "Change",
    "Known",
    "LeftOut",
    "Place",
    "Spent",
    "Status",
    "Trial",
    "left_of",
    "spent_in",
    "unread_in",
    "within",
    "worst",
]

Place = Literal["skill", "memory"]
Status = Literal["accepted", "rejected", "inconclusive", "unverified", "unchanged"]

DECIDED = frozenset[str](("accepted", "rejected", "inconclusive"))
"""How documents stand on which a gate has decided."""


class Spent(Record):
    """What was used, over all processes that worked on it."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    """None when a price is unknown."""

    def __add__(self, other: "Spent") -> "Spent":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Spent(calls=self.calls + other.calls, tokens=self.tokens + other.tokens, usd=usd)


class Trial(Record):
    """When a rule was last left out on trial."""

    night: int
    retired: bool
    """Nothing missed it: its removal was proposed."""


class LeftOut(Record):
    """What leaving a rule out on trial has shown."""

    rule: str
    """Its id."""
    text: str
    tasks: int
    """That were attempted anew with and without it."""
    missed: tuple[str, ...] = ()
    """Ids of the tasks with a lower mean without it, the largest loss first."""
    unscored: int = 0
    """Tasks without a score with or without it."""

    @property
    def retired(self) -> bool:
        """It is taken out: every task has a score and none a lower mean without it."""
        return not self.missed and not self.unscored

    @property
    def told(self) -> str:
        """What came of it, for people."""
        if self.retired:
            return f"missed by none of {self.tasks} tasks: goes"
        why = f"missed by {len(self.missed)} of {self.tasks} tasks" if self.missed else ""
        void = f"{self.unscored} of {self.tasks} tasks without a score" if self.unscored else ""
        return f"{', '.join(one for one in (why, void) if one)}: stays"


class Known(Record):
    """What earlier nights know about a document."""

    night: int
    """This one."""
    ledger: tuple[LedgerEntry, ...] = ()
    """Edits that were tried. They are for the optimizer, never for the agent."""
    before: Skill | None = None
    """The document that the last adopted proposal replaced; the slow update compares the document with it."""
    carried: Carried | None = None
    """A candidate that may be luck; looked at again where the document is the one that it was made from."""
    tested: tuple[LookedAt, ...] = ()
    """The looks at texts that have not passed."""


class Change(Record):
    """What came of one document.

    accepted      better on held-out tasks, and with `gate.no_regression` none of them lost in fresh attempts
                  (`etude.sleep.improve.confirm.lost_in`); to be proposed
    rejected      a candidate was made and did not pass the gate, or fresh attempts show no gain or lose a task
    inconclusive  a candidate passed the gate, and what fresh attempts show may be luck; not to be proposed
    unverified    a candidate was made and not tried: to be proposed where the gate is off, not where there are no
                  held-out tasks
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
    baseline: float | None
    """Mean on the held-out tasks before; None when not measured."""
    candidate: float | None
    """Mean of the candidate, which selected on them; None when not measured."""
    confirmed: Comparison | None
    """Fresh attempts at the held-out tasks under both documents; None when none were asked for."""
    fresh: Fresh | None
    """Whether these show a gain that luck alone does not explain."""
    held_out: HeldOut
    spent: Spent
    simulated: bool
    """Answers came from the simulated world."""
    retired: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Rules that are taken out because nothing misses them: by id, what was measured."""
    left_out: tuple[LeftOut, ...] = ()
    """All rules that were left out on trial, in the order of their trials."""
    carried: Carried | None = None
    """The candidate that later nights look at again, with all that was seen of it."""
    tested: tuple[LookedAt, ...] = ()
    """Texts that this night has looked at and that have not passed, with all their looks."""
    carry_told: str = ""
    """What its next look needs, in words."""
    origin: Carried | None = None
    """What is proposed is this candidate of an earlier night, with all that was seen of it."""

    @property
    def edits(self) -> tuple[LedgerEntry, ...]:
        """Edits that were tried, with what came of them."""
        return self.held_out.ledger

    @property
    def cost(self) -> Cost | None:
        """Tokens before and with the candidate, the last one where none is left; None where there was none."""
        after = self.held_out.candidate_tokens
        if self.after.hash != self.before.hash:
            after = token_count(self.after.text)
        if after is None:
            return None
        if self.confirmed is not None:
            answers = self.confirmed.a.answer_tokens, self.confirmed.b.answer_tokens
        elif self.retired:
            answers = None, None  # what was attempted is another candidate
        else:
            answers = _answers(self.held_out.initial), _answers(self.held_out.candidate)
        known = None if answers[0] is None or answers[1] is None else (answers[0], answers[1])
        return Cost(document=(token_count(self.before.text), after), answers=known)

    @property
    def longer(self) -> str:
        """Why what would be `ship` is left to a person: what it makes much longer. Empty where that is nothing."""
        ships = self.confirmed is not None and self.confirmed.verdict == "ship" and self.proposed
        return self.cost.much_longer if ships and self.cost is not None else ""

    @property
    def verdict(self) -> ShipVerdict | None:
        """Of fresh attempts; `inconclusive` where the change makes a document or answers much longer, so that a
        person decides. None without fresh attempts."""
        if self.confirmed is None:
            return None
        return "inconclusive" if self.longer else self.confirmed.verdict

    @property
    def told(self) -> str:
        """The reason, and why it is left to a person."""
        return "; ".join([self.reason, *([self.longer] if self.longer else [])])


def worst(changes: Iterable[Change]) -> ShipVerdict | None:
    """The verdict of documents that are proposed together; None where one of them has none. What a rule is taken out
    of is never `ship`."""
    verdicts = ["inconclusive" if change.retired else change.verdict for change in changes]
    if None in verdicts:
        return None
    return "ship" if all(verdict == "ship" for verdict in verdicts) else "inconclusive"


def _answers(attempts: Sequence[Shown]) -> float | None:
    """Mean output tokens of those with a score; None where none were billed."""
    known = [shown.tokens for shown in attempts if shown.hard is not None]
    return sum(known) / len(known) if any(known) else None


def left_of(limits: LimitsSection, spent: Spent) -> Mapping[str, Any]:
    """The limits of a part of a night, after what the parts before it have used.

    Raises:
        BudgetStop: nothing is left.
    """
    left: dict[str, Any] = limits.model_dump(exclude_unset=True)
    for name, used in (("calls", spent.calls), ("tokens", spent.tokens), ("usd", spent.usd)):
        limit = left.get(name)
        if limit is None or used is None:
            continue
        left[name] = limit - used
        if left[name] <= 0:
            raise BudgetStop(
                f"limits.{name} = {limit:g} is used up by the parts of the night before this one",
                hint=f"raise limits.{name} and run the same command again",
            )
    return left


def within(config: SleepConfig, spent: Spent) -> SleepConfig:
    """The settings with what is left of the budget, for the parts of a night that come next.

    Raises:
        BudgetStop: nothing is left.
    """
    limits = config.limits.model_copy(update=dict(left_of(config.limits, spent)))
    return config.model_copy(update={"limits": limits})


def spent_in(run: Path) -> Spent:
    """What was used in a run folder that is closed."""
    with closing(SqliteJournal(run / JOURNAL)) as journal:
        totals = SqliteSpend(journal, LimitsSection()).totals()
    return Spent(calls=totals.total_calls, tokens=totals.total_tokens, usd=totals.usd)


def unread_in(changes: Sequence[tuple[Sequence[MinedTask], Change]], night: int) -> tuple[tuple[str, str], ...]:
    """Source and id of the sessions of a night on whose training tasks no document was trained, since candidates of
    earlier nights passed.

    Args:
        changes: each with the tasks of its document.
    """
    sessions: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
    for tasks, change in changes:
        for task in tasks:
            if task.split == "train" and task.origin == "real" and task.night == night:
                sessions[change.origin is None].update((one.source, one.id) for one in task.sessions)
    return tuple(sorted(sessions[False] - sessions[True]))
