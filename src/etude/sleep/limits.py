"""The budget of a night. Each of its parts gets what the others left."""

from contextlib import closing
from pathlib import Path

from etude.config import LimitsSection
from etude.errors import BudgetStop
from etude.sleep.config import SleepConfig
from etude.sleep.report import Spent
from etude.store import SqliteSpend
from etude.store.journal import SqliteJournal
from etude.store.views import JOURNAL


def spent_in(run: Path) -> Spent:
    """What was used in a run folder that no process has open; nothing where there is none."""
    if not (run / JOURNAL).exists():
        return Spent()
    with closing(SqliteJournal(run / JOURNAL)) as journal:
        totals = SqliteSpend(journal, LimitsSection()).totals()
    return Spent(calls=totals.total_calls, tokens=totals.total_tokens, usd=totals.usd)


def spent_so_far(folder: Path) -> Spent:
    """What was used in all run folders below a folder; no process works in it."""
    return sum((spent_in(path.parent) for path in sorted(folder.rglob(JOURNAL))), Spent())


def within(config: SleepConfig, spent: Spent) -> SleepConfig:
    """The settings with what is left of the budget, for the parts of a night that come next.

    Raises:
        BudgetStop: nothing is left.
    """
    left: dict[str, float] = {}
    for name in ("calls", "tokens", "usd"):
        limit, used = getattr(config.limits, name), getattr(spent, name)
        if limit is None or used is None:
            continue
        left[name] = limit - used
        if left[name] <= 0:
            raise BudgetStop(
                f"limits.{name} = {limit:g} is used up by the parts of the night before this one",
                hint=f"raise limits.{name} and run the same command again",
                limit=name,
            )
    return config.model_copy(update={"limits": config.limits.model_copy(update=left)})


def of_the_night(stop: BudgetStop, limits: LimitsSection, spent: Spent) -> BudgetStop:
    """A stop of a part, in terms of the limits that a person has set; `spent` is by all parts."""
    if not stop.limit:
        return stop
    used = getattr(spent, stop.limit)
    shown = "an unknown sum" if used is None else f"{round(used, 4):,}"
    return BudgetStop(
        f"limits.{stop.limit} = {getattr(limits, stop.limit):,} is reached: {shown} used in this night",
        hint=f"raise `limits.{stop.limit}` and run the same command again",
    )
