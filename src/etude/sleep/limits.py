"""The budget of a night. Each of its parts gets what the others left."""

import re
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from etude.config import LimitsSection
from etude.errors import BudgetStop
from etude.sleep.config import SleepConfig
from etude.sleep.report import Spent
from etude.store import SqliteSpend
from etude.store.journal import SqliteJournal
from etude.store.spend import check_minutes
from etude.store.views import JOURNAL
from etude.workbench import StopSwitch

_SINCE_1970 = re.compile(r"\|\s*(\d{10})\b")
_IN = re.compile(r"\bin (?:about )?(?:(\d+) ?d\w*)?,? ?(?:(\d+) ?h\w*)?,? ?(?:(\d+) ?m\w*)?", re.IGNORECASE)
_AT = re.compile(
    r"\b(?:resets?|again|until|from)(?: at)? (\d{1,2})(?::(\d\d))? ?([ap])?\.?m?\b\.?(?: ?\(([\w/+-]+)\))?",
    re.IGNORECASE,
)


def allowed_again(words: str, now: datetime) -> datetime | None:
    """When a plan that is used up allows more, by the words of its program; None where they do not say."""
    if found := _SINCE_1970.search(words):
        return datetime.fromtimestamp(int(found[1]), UTC)
    if found := next((each for each in _IN.finditer(words) if any(each.groups())), None):
        days, hours, minutes = (int(each or 0) for each in found.groups())
        return now + timedelta(days=days, hours=hours, minutes=minutes)
    if found := _AT.search(words):
        zone = None
        with suppress(KeyError, ValueError, OSError):
            zone = ZoneInfo(found[4] or "")
        with suppress(ValueError):
            hour = int(found[1]) % 12 + 12 * (found[3].lower() == "p") if found[3] else int(found[1])
            here = now.astimezone(zone)
            at = here.replace(hour=hour, minute=int(found[2] or 0), second=0, microsecond=0)
            return (at if at > here else at + timedelta(days=1)).astimezone(UTC)
    return None


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


class Deadline(StopSwitch):
    """Lets nothing start once this process has worked for the minutes of a night (None: any number), and passes on
    what the switch says that stops the night from outside."""

    def __init__(self, switch: StopSwitch, minutes: float | None) -> None:
        super().__init__()
        self._switch = switch
        self._minutes = minutes
        self._started = time.monotonic()

    def stop(self) -> None:
        """Ask the other switch."""
        self._switch.stop()

    def check(self) -> None:
        """Raise Interrupted once asked, and BudgetStop once the minutes are over."""
        self._switch.check()
        check_minutes(self._minutes, time.monotonic() - self._started)


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
