"""What a run used."""

from contextlib import closing
from pathlib import Path

from etude.config import LimitsSection
from etude.records import Record, Role, Usage
from etude.store.journal import SqliteJournal
from etude.store.projections.log import Log
from etude.store.spend import SpendTotals, SqliteSpend
from etude.store.views import JOURNAL, holds_work, lost_journal
from etude.story import OUTSIDE, RoleUse


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
    """What a run used, and how it went."""

    stages: tuple[StageCost, ...]
    """By role and stage. Where two stages overlap, a call counts for the one that began last of those that ask this
    role."""
    calls: int
    usage: Usage
    usd: float | None
    """US dollars; None when a price is unknown, or attempts were not metered."""
    attempts: int
    """Attempts that came back, by any way."""
    known: int
    """Those of them that the journal knew already, so that they cost nothing."""
    seconds: int
    """In which calls ended, from the first to the last of each process."""
    slowed: int
    """Calls that were told to slow down (429)."""


def read_totals(path: Path) -> SpendTotals:
    """What the account of a run says. Raises DataError: there is no run."""
    with closing(SqliteJournal(path / JOURNAL, read_only=True)) as journal:
        return SqliteSpend(journal, LimitsSection()).totals()


def read_cost(run: Log | Path | str) -> RunCost:
    """What a run used, by role and stage; the sums are those of its account. Raises DataError: there is no run,
    or it has lost its facts."""
    log = run if isinstance(run, Log) else Log(run)
    log.read()
    with closing(SqliteJournal(log.path / JOURNAL, read_only=True)) as journal:
        totals, facts = SqliteSpend(journal, LimitsSection()).totals(), journal.counts()
    if not facts and holds_work(log.path):
        raise lost_journal(log.path, "lacks what it held")
    sums = dict(log.story.use)
    for role, calls in totals.calls.items():
        missing = calls - sum(used.calls for (of, _), used in log.story.use.items() if of == role)
        if missing > 0:
            sums[role, OUTSIDE] = RoleUse(missing, usd=None)
    scored = [seen for seen in log.attempts if seen.outcome != "void"]
    # An agent program with a login of its own asks its model past the account.
    metered = all(seen.usd is not None for seen in scored)
    return RunCost(
        stages=tuple(
            StageCost(role=role, stage=stage, calls=each.calls, failed=each.failed, usage=each.usage, usd=each.usd)
            for (role, stage), each in sums.items()
        ),
        calls=totals.total_calls,
        usage=sum(totals.usage.values(), Usage()),
        usd=totals.usd if metered else None,
        attempts=len(log.attempts),
        known=len(scored) - len({seen.attempt for seen in scored}),
        seconds=sum(span[1] - span[0] + 1 for span in log.calling if span),
        slowed=log.slowed,
    )
