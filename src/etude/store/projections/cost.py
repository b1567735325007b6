"""What a run used."""

from collections.abc import Mapping
from pathlib import Path

from etude.config import LimitsSection
from etude.records import Record, Role, Usage
from etude.store.journal import SqliteJournal
from etude.store.projections.log import OUTSIDE, Log, RoleUse
from etude.store.spend import SpendTotals, SqliteSpend
from etude.store.views import JOURNAL, holds_work, lost_journal


class StageCost(Record):
    """What a role used in a stage, over all processes of the run."""

    role: Role
    stage: str
    calls: int
    """Requests that were sent, those that failed included."""
    failed: int
    usage: Usage
    usd: float | None
    """US dollars; None when a price is unknown."""


class RunCost(Record):
    """What a run used."""

    stages: tuple[StageCost, ...]
    """By role and stage. Where two stages overlap, a call counts for the one that began last of those that ask this
    role."""
    calls: int
    usage: Usage
    usd: float | None
    """US dollars; None when a price is unknown, or attempts were not metered."""


class CostPage(RunCost):
    """The same, and how it went."""

    attempts: int
    """Attempts that came back, by any way."""
    known: int
    """Those of them that the journal knew already, so that they cost nothing."""
    facts: Mapping[str, int]
    """How many facts of each kind the journal holds."""
    rates: tuple[tuple[int, int, int], ...]
    """Second since 1970, the calls that ended in it, and those of them that were told to slow down (429); the last
    3600 seconds with calls."""


def read_totals(path: Path) -> SpendTotals:
    """What the account of a run says. Raises DataError: there is no run."""
    journal = SqliteJournal(path / JOURNAL, read_only=True)
    try:
        return SqliteSpend(journal, LimitsSection()).totals()
    finally:
        journal.close()


def read_cost(path: Path | str) -> RunCost:
    """What a run used, by role and stage; the sums are those of its account. Raises DataError: there is no run."""
    log = Log(path)
    log.read()
    return _cost(log, read_totals(log.path))


def cost_page(log: Log) -> CostPage:
    """The same with what the events tell besides. Raises DataError: there is no run, or it has lost its facts."""
    totals = read_totals(log.path)
    journal = SqliteJournal(log.path / JOURNAL, read_only=True)
    try:
        facts = journal.counts()
    finally:
        journal.close()
    if not facts and holds_work(log.path):
        raise lost_journal(log.path, "lacks what it held")
    paid: set[str] = set()
    known = 0
    for seen in log.attempts:
        if seen.outcome != "void":
            known += seen.attempt in paid
            paid.add(seen.attempt)
    return CostPage(
        **_cost(log, totals).model_dump(),
        attempts=len(log.attempts),
        known=known,
        facts=facts,
        rates=tuple((second, calls, slowed) for second, (calls, slowed) in log.rates.items()),
    )


def _cost(log: Log, totals: SpendTotals) -> RunCost:
    sums = dict(log.costs)
    for role, calls in totals.calls.items():
        missing = calls - log.calls.get(role, 0)
        if missing > 0:
            sums[role, OUTSIDE] = RoleUse(missing, usd=None)
    stages = tuple(
        StageCost(role=role, stage=stage, calls=each.calls, failed=each.failed, usage=each.usage, usd=each.usd)
        for (role, stage), each in sums.items()
    )
    usage = sum(totals.usage.values(), Usage())
    # An agent program with a login of its own asks its model past the account.
    known = all(seen.usd is not None for seen in log.attempts if seen.outcome != "void")
    return RunCost(stages=stages, calls=totals.total_calls, usage=usage, usd=totals.usd if known else None)
