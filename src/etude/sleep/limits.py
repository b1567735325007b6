"""The limits of a night as a whole. Each of its parts has a budget of its own, out of what the others left."""

import re
import time
from collections.abc import Callable

from etude.config import LimitsSection
from etude.errors import BudgetStop
from etude.sleep.improve.changes import Spent
from etude.workbench import StopSwitch

__all__ = ["Deadline", "of_the_night"]

_OF_A_PART = re.compile(r"limits\.(calls|tokens|usd) = \S+ is (?:reached|used up)\b")
_NEXT = ", the next request"


class Deadline(StopSwitch):
    """Lets nothing start once the minutes of a night are over, and passes on what another switch says.

    Args:
        switch: to stop the night from outside.
        minutes: from now on, for this process; None for any number.
        clock: gives seconds.
    """

    def __init__(
        self, switch: StopSwitch, minutes: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._switch = switch
        self._minutes = minutes
        self._clock = clock
        self._started = clock()

    def stop(self) -> None:
        """Ask the other switch."""
        self._switch.stop()

    def check(self) -> None:
        """Raise Interrupted once asked, and BudgetStop once the minutes are over."""
        self._switch.check()
        minutes = self._minutes
        if minutes is not None and self._clock() - self._started >= minutes * 60:
            raise BudgetStop(
                f"limits.minutes = {minutes:g} is reached: nothing more is sent",
                hint=f"run the same command again for another {minutes:g} minutes, or raise `limits.minutes`",
            )


def of_the_night(stop: BudgetStop, limits: LimitsSection, spent: Spent) -> BudgetStop:
    """A stop of a part, in terms of the limits that a person has set.

    Args:
        spent: by all parts.
    """
    found = _OF_A_PART.match(stop.message)
    limit = None if found is None else getattr(limits, found[1])
    if found is None or limit is None:
        return stop
    used = getattr(spent, found[1])
    if found[1] == "usd":
        shown, of = f"{limit:g}", "an unknown sum" if used is None else f"{used:.4f}"
    else:
        shown, of = f"{limit:,}", f"{used:,}"
    _, comma, rest = stop.message.partition(_NEXT)
    return BudgetStop(
        f"limits.{found[1]} = {shown} is reached: {of} used in this night{comma}{rest}",
        hint=f"raise `limits.{found[1]}` and run the same command again",
    )
