import asyncio
import os
from types import SimpleNamespace

import pytest

import etude.store.spend as spend_module
from etude.config import LimitsSection
from etude.errors import BudgetStop
from etude.records import Usage
from etude.store import SqliteJournal, SqliteSpend
from forked import exit_code


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def journal(tmp_path):
    journal = SqliteJournal(tmp_path / "journal.db")
    yield journal
    journal.close()


def tokens(input_tokens, output_tokens=0, cached=0):
    return Usage(input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached)


async def test_a_bound_is_open_until_it_is_replaced_by_the_bill(journal):
    spend = SqliteSpend(journal, LimitsSection())
    first = await spend.reserve("target", 100, 0.5)
    second = await spend.reserve("optimizer", 1000, 2.0)
    totals = spend.totals()
    assert (totals.calls, totals.usage) == ({"target": 1, "optimizer": 1}, {})
    assert (totals.usd, totals.open_calls, totals.open_tokens, totals.open_usd) == (0, 2, 1100, 2.5)
    await spend.settle(first, tokens(30, 10, 5), 0.25)
    await spend.settle(second, tokens(500, 200), 1.5)
    third = await spend.reserve("target", 50, 0.1)
    await spend.settle(third, tokens(1, 1), 0.05)
    totals = spend.totals()
    assert totals.calls == {"target": 2, "optimizer": 1}
    assert totals.usage == {"target": tokens(31, 11, 5), "optimizer": tokens(500, 200)}
    assert totals.usd == pytest.approx(1.8)
    assert (totals.open_calls, totals.open_tokens, totals.open_usd) == (0, 0, 0)
    assert (totals.total_calls, totals.total_tokens) == (3, 742)


async def test_a_request_that_failed_without_a_bill_counts_as_a_call_and_costs_nothing(journal):
    spend = SqliteSpend(journal, LimitsSection(calls=1, tokens=100, usd=1))
    await spend.settle(await spend.reserve("target", 100, 1.0), None, 0.0)
    totals = spend.totals()
    assert (totals.calls, totals.total_tokens, totals.usd) == ({"target": 1}, 0, 0)
    with pytest.raises(BudgetStop, match=r"limits\.calls = 1 is reached: 1 sent"):
        await spend.reserve("target", 1, 0.0)


async def test_money_is_unknown_once_a_price_was(journal):
    spend = SqliteSpend(journal, LimitsSection())
    await spend.settle(await spend.reserve("target", 10, 1.0), tokens(5), 1.0)
    await spend.settle(await spend.reserve("judge", 10, 0.0), tokens(5), None)
    assert spend.totals().usd is None
    assert spend.totals().open_usd == 0
    await spend.settle(await spend.reserve("optimizer", 100, None), None, None)
    assert spend.totals().usd is None
    await spend.reserve("judge", 10, None)
    assert spend.totals().open_usd is None


@pytest.mark.parametrize(
    ("limits", "bounds", "bill", "fits", "refused", "said"),
    [
        ({"calls": 3}, (1, None), (1, 0.0), (1, None), (1, None), "calls = 3 is reached: 3 sent, {} needs 1"),
        (
            {"tokens": 2000},
            (1000, None),
            (700, None),
            (650, None),
            (1, None),
            "tokens = 2,000 is reached: 700 used and 1,300 reserved for open requests, {} needs up to 1",
        ),
        (
            {"usd": 1},
            (1, 0.5),
            (1, 0.25),
            (1, 0.25),
            (1, 0.26),
            "usd = 1 is reached: 0.2500 used and 0.5000 reserved for open requests, {} needs up to 0.2600",
        ),
    ],
)
async def test_what_does_not_fit_next_to_what_was_billed_and_is_open_is_refused(
    journal, limits, bounds, bill, fits, refused, said
):
    """One request that costs less than its bound, two that are cut off, and one too much."""
    spend = SqliteSpend(journal, LimitsSection(**limits))
    await spend.settle(await spend.reserve("target", *bounds), tokens(bill[0]), bill[1])
    for _ in range(2):
        spend.abandon(await spend.reserve("target", *fits))
    with pytest.raises(BudgetStop) as caught:
        await spend.reserve("optimizer", *refused)
    (name,) = limits
    assert caught.value.message == f"limits.{said.format('the next request (optimizer)')}"
    assert caught.value.hint == f"raise `limits.{name}` and run the same command again"
    assert (caught.value.exit_code, caught.value.limit) == (3, name)
    assert spend.totals().total_calls == 3


async def test_a_bound_that_does_not_fit_waits_for_requests_under_way(journal):
    spend = SqliteSpend(journal, LimitsSection(tokens=100))
    first = await spend.reserve("target", 100, None)
    second = asyncio.create_task(spend.reserve("target", 50, None))
    third = asyncio.create_task(spend.reserve("target", 90, None))
    await asyncio.sleep(0)
    assert not second.done()
    await spend.settle(first, tokens(20), None)
    await spend.settle(await second, tokens(50), None)
    with pytest.raises(BudgetStop, match="70 used"):
        await third


async def test_nobody_waits_for_a_request_that_was_cut_off(journal):
    spend = SqliteSpend(journal, LimitsSection(tokens=100))
    first = await spend.reserve("target", 100, None)
    second = asyncio.create_task(spend.reserve("target", 50, None))
    await asyncio.sleep(0)
    spend.abandon(first)
    with pytest.raises(BudgetStop, match="100 reserved"):
        await second


async def test_what_was_withdrawn_is_no_call_and_makes_room_again(journal):
    spend = SqliteSpend(journal, LimitsSection(calls=1))
    first = await spend.reserve("target", 100, None)
    second = asyncio.create_task(spend.reserve("target", 50, None))
    await asyncio.sleep(0)
    assert not second.done()
    spend.withdraw(first)
    await spend.settle(await second, tokens(20), None)
    assert spend.totals().calls == {"target": 1}
    with pytest.raises(BudgetStop, match=r"limits\.calls = 1 is reached: 1 sent"):
        await spend.reserve("target", 1, None)


async def test_dollars_that_add_up_to_the_cap_fit_in_spite_of_rounding(journal):
    spend = SqliteSpend(journal, LimitsSection(usd=0.3))
    for _ in range(3):
        spend.abandon(await spend.reserve("target", 1, 0.1))
    with pytest.raises(BudgetStop):
        await spend.reserve("target", 1, 0.001)


async def test_a_dollar_cap_without_a_price_is_refused(journal):
    with pytest.raises(BudgetStop, match="the price of a request of role 'judge' is unknown"):
        await SqliteSpend(journal, LimitsSection(usd=1)).reserve("judge", 1, None)


@pytest.mark.parametrize("settled", [True, False])
async def test_a_dollar_cap_cannot_be_set_after_requests_of_unknown_price(journal, settled):
    earlier = SqliteSpend(journal, LimitsSection())
    ticket = await earlier.reserve("target", 10, None)
    if settled:
        await earlier.settle(ticket, tokens(5), None)
    with pytest.raises(BudgetStop, match="earlier requests of this run had no known price"):
        await SqliteSpend(journal, LimitsSection(usd=1)).reserve("target", 1, 0.1)


async def test_a_bill_over_its_bound_shows_and_stops_all_later_requests(journal):
    spend = SqliteSpend(journal, LimitsSection(tokens=100))
    await spend.settle(await spend.reserve("target", 100, None), tokens(90, 30), None)
    assert spend.totals().total_tokens == 120
    for _ in range(2):
        with pytest.raises(BudgetStop, match="120 used"):
            await spend.reserve("target", 0, None)


async def test_minutes_count_from_when_this_process_opened_the_account(journal, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(spend_module, "time", SimpleNamespace(monotonic=clock))
    spend = SqliteSpend(journal, LimitsSection(minutes=2))
    clock.now += 119
    ticket = await spend.reserve("target", 1, None)
    clock.now += 1
    with pytest.raises(BudgetStop) as caught:
        await spend.reserve("target", 1, None)
    assert str(caught.value) == (
        "limits.minutes = 2 is reached: nothing more is sent\n"
        "hint: run the same command again for another 2 minutes, or raise `limits.minutes`"
    )
    await spend.settle(ticket, tokens(1), None)
    again = SqliteSpend(journal, LimitsSection(minutes=2))
    await again.reserve("target", 1, None)


async def test_a_refused_request_leaves_no_trace(journal):
    spend = SqliteSpend(journal, LimitsSection(calls=1, tokens=10))
    with pytest.raises(BudgetStop):
        await spend.reserve("target", 11, None)
    assert spend.totals().total_calls == 0
    await spend.reserve("target", 10, None)


@pytest.mark.parametrize("ticket", [1, 2])
async def test_a_ticket_is_settled_once(journal, ticket):
    spend = SqliteSpend(journal, LimitsSection())
    await spend.settle(await spend.reserve("target", 1, None), tokens(1), None)
    with pytest.raises(ValueError, match=f"ticket {ticket} is not open"):
        await spend.settle(ticket, tokens(1), None)
    assert spend.totals().total_tokens == 1


async def test_a_killed_process_leaves_its_bounds_in_the_account(tmp_path):
    path = tmp_path / "journal.db"

    async def pay():
        spend = SqliteSpend(SqliteJournal(path), LimitsSection(tokens=1000))
        await spend.settle(await spend.reserve("target", 400, 0.4), Usage(input_tokens=100), 0.1)
        await spend.reserve("target", 500, 0.5)
        os._exit(9)

    assert exit_code(lambda: asyncio.run(pay())) == 9
    journal = SqliteJournal(path)
    spend = SqliteSpend(journal, LimitsSection(tokens=1000))
    totals = spend.totals()
    assert (totals.total_tokens, totals.open_calls, totals.open_tokens, totals.open_usd) == (100, 1, 500, 0.5)
    with pytest.raises(BudgetStop, match="500 reserved for open requests"):
        await spend.reserve("target", 401, 0.1)
    await SqliteSpend(journal, LimitsSection(tokens=1001)).reserve("target", 401, 0.1)
    journal.close()
