"""The account of a run: what was sent and billed, and the hard limits on it."""

import asyncio
import time
from typing import cast

from etude.config import LimitsSection
from etude.errors import BudgetStop
from etude.protocols import Spend
from etude.records import Record, Role, Usage
from etude.store.journal import SqliteJournal

_CENT_FRACTION = 1e-9
"""US dollars by which a sum of floats may miss a limit it is equal to."""
_LOST = """SELECT role FROM (
    SELECT role, -calls AS calls FROM spend_settled
    UNION ALL SELECT role, COUNT(*) FROM spend WHERE state != 'open' GROUP BY role
) GROUP BY role HAVING SUM(calls) != 0"""
"""Roles of which rows are missing, in one statement: another process may be writing."""


class SpendTotals(Record):
    """What a run has used since it was first started, over all its processes."""

    calls: dict[Role, int]
    """Requests sent, those that failed or are open included, those that were withdrawn not."""
    usage: dict[Role, Usage]
    """Tokens billed."""
    usd: float | None
    """US dollars billed; None when a billed request had no known price."""
    open_calls: int
    """Requests under way, or cut off by a killed process: they keep counting with their upper bounds."""
    open_tokens: int
    """Upper bound of the tokens of open requests."""
    open_usd: float | None
    """Upper bound of the price of open requests; None when one has no known price."""

    @property
    def total_calls(self) -> int:
        """Requests of all roles."""
        return sum(self.calls.values())

    @property
    def total_tokens(self) -> int:
        """Input and output tokens billed, of all roles."""
        return sum(usage.total for usage in self.usage.values())


class SqliteSpend(Spend):
    """The account in a run's journal file.

    Every row is on disk before a request is sent. The limits `calls`, `tokens` and `usd` hold for the run, over all
    its processes; `minutes` holds for this process and counts from when the account was opened, so that a run
    started again has all its minutes again.

    A provider that bills more than its bound can take the totals over a limit; nothing is sent after that.
    """

    def __init__(self, journal: SqliteJournal, limits: LimitsSection) -> None:
        """The account of a journal. Raises DataError, or StopRun where the journal is written to: a row that counts
        was changed, or is missing."""
        self._database = journal.database
        for table, counting in (("spend_settled", "TRUE"), ("spend", "state = 'open'")):
            self._database.guarded(table, counting)
        if self._database.rows(_LOST):
            raise self._database.damaged("its sums of what was spent are not those of its requests")
        self._limits = limits
        self._started = time.monotonic()
        self._under_way: set[int] = set()
        self._settled: asyncio.Event | None = None
        self._before = self.totals().total_calls

    async def reserve(self, role: Role, tokens: int, usd: float | None) -> int:
        """Write down an upper bound before sending: `tokens` in and out, and their price, None when unknown.

        A bound that does not fit next to the bounds of requests under way waits until they are settled or withdrawn:
        most cost far less than their bounds, and a question without an answer yet is not a call.
        Raises BudgetStop: the bound does not fit into what is left. Nothing was written."""
        while True:
            settled = self._settled = self._settled or asyncio.Event()
            try:
                return self._reserve(role, tokens, usd)
            except BudgetStop as stop:
                if not stop.limit or not self._under_way:  # no other request makes room
                    raise
            await settled.wait()

    def _reserve(self, role: Role, tokens: int, usd: float | None) -> int:
        with self._database.write():
            check_minutes(self._limits.minutes, time.monotonic() - self._started)
            if self._limits.calls is not None or self._limits.tokens is not None or self._limits.usd is not None:
                self._check(self.totals(), role, tokens, usd)
            ((last,),) = self._database.rows("SELECT COALESCE(MAX(ticket), 0) FROM spend")
            ticket = cast(int, last) + 1
            self._database.put("spend", ticket, role, tokens, usd, None, None, None, None, "open")
        self._under_way.add(ticket)
        return ticket

    def abandon(self, ticket: int) -> None:
        """The request was cut off and may have been billed: its bound stays."""
        self._under_way.discard(ticket)
        if self._settled is not None:
            self._settled.set()
            self._settled = None

    def withdraw(self, ticket: int) -> None:
        """The request was not sent: it leaves nothing behind."""
        self.abandon(ticket)
        with self._database.write() as connection:
            connection.execute("DELETE FROM spend WHERE ticket = ? AND state = 'open'", (ticket,))

    async def settle(self, ticket: int, usage: Usage | None, usd: float | None) -> None:
        """Replace the bound by what was billed. `usage` None: the request failed without a bill; it still counts as a
        call. `usd` None: the price is unknown, and so is what the run has cost.
        Raises ValueError: the ticket was never given out or is settled already."""
        self.abandon(ticket)
        billed = Usage() if usage is None else usage
        tokens = (billed.input_tokens, billed.output_tokens, billed.cached_tokens)
        with self._database.write():
            found = self._database.guarded("spend", "ticket = ? AND state = 'open'", (ticket,))
            if not found:
                raise ValueError(f"ticket {ticket} is not open")
            _, role, *bounds = found[0][:4]
            state = "failed" if usage is None else "settled"
            self._database.put("spend", ticket, role, *bounds, *tokens, usd, state)
            known = self._database.guarded("spend_settled", "role = ?", (role,)) or [(role, 0, 0, 0, 0, 0.0, 0)]
            more = (1, *tokens, 0.0 if usd is None else usd, int(usd is None))
            self._database.put("spend_settled", role, *map(sum, zip(known[0][1:], more, strict=True)))

    @property
    def sent(self) -> int:
        """Requests since the account was opened."""
        return self.totals().total_calls - self._before

    def totals(self) -> SpendTotals:
        """What was used so far. Takes the same short time however long the run is."""
        settled = self._database.rows(
            "SELECT role, calls, input_tokens, output_tokens, cached_tokens, usd, unpriced FROM spend_settled"
            " ORDER BY role"
        )
        still_open = self._database.rows(
            "SELECT role, COUNT(*), SUM(tokens_bound), TOTAL(usd_bound), SUM(usd_bound IS NULL) FROM spend"
            " WHERE state = 'open' GROUP BY role ORDER BY role"
        )
        calls: dict[Role, int] = {row[0]: row[1] for row in settled}
        for role, count, *_ in still_open:
            calls[role] = calls.get(role, 0) + count
        return SpendTotals(
            calls=calls,
            usage={row[0]: Usage(input_tokens=row[2], output_tokens=row[3], cached_tokens=row[4]) for row in settled},
            usd=None if any(row[6] for row in settled) else sum(row[5] for row in settled),
            open_calls=sum(row[1] for row in still_open),
            open_tokens=sum(row[2] for row in still_open),
            open_usd=None if any(row[4] for row in still_open) else sum(row[3] for row in still_open),
        )

    def _check(self, used: SpendTotals, role: Role, tokens: int, usd: float | None) -> None:
        limits = self._limits
        if limits.calls is not None and used.total_calls + 1 > limits.calls:
            raise _refusal("calls", f"{limits.calls:,}", f"{used.total_calls:,} sent", role, "1")
        spent = used.total_tokens + used.open_tokens
        if limits.tokens is not None and spent + tokens > limits.tokens:
            state = f"{used.total_tokens:,} used and {used.open_tokens:,} reserved for open requests"
            raise _refusal("tokens", f"{limits.tokens:,}", state, role, f"up to {tokens:,}")
        if limits.usd is not None:
            self._check_usd(limits.usd, used, role, usd)

    def _check_usd(self, limit: float, used: SpendTotals, role: Role, usd: float | None) -> None:
        if usd is None:
            raise BudgetStop(
                f"limits.usd = {limit:g} cannot be kept: the price of a request of role {role!r} is unknown",
                hint=f"set `{role}.price`, or remove `limits.usd`, and run the same command again",
            )
        if used.usd is None or used.open_usd is None:
            raise BudgetStop(
                f"limits.usd = {limit:g} cannot be kept: earlier requests of this run had no known price",
                hint="remove `limits.usd` and run the same command again; `limits.tokens` can bound the rest",
            )
        if used.usd + used.open_usd + usd > limit + _CENT_FRACTION:
            state = f"{used.usd:.4f} used and {used.open_usd:.4f} reserved for open requests"
            raise _refusal("usd", f"{limit:g}", state, role, f"up to {usd:.4f}")


def check_minutes(limit: float | None, seconds: float) -> None:
    """Raise BudgetStop: a process has worked for its minutes."""
    if limit is not None and seconds >= limit * 60:
        raise BudgetStop(
            f"limits.minutes = {limit:g} is reached: nothing more is sent",
            hint=f"run the same command again for another {limit:g} minutes, or raise `limits.minutes`",
        )


def _refusal(name: str, limit: str, state: str, role: Role, need: str) -> BudgetStop:
    """The bound does not fit now; it may when requests under way have been settled."""
    return BudgetStop(
        f"limits.{name} = {limit} is reached: {state}, the next request ({role}) needs {need}",
        hint=f"raise `limits.{name}` and run the same command again",
        limit=name,
    )
