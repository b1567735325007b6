"""A pause: while it holds, no night of the project begins."""

from datetime import UTC, date, datetime
from typing import Literal

from pydantic import AwareDatetime

from etude.errors import DataError, InputError
from etude.records import Record
from etude.sleep.state import SleepState, read_kept

PAUSE = "pause.json"


class Pause(Record):
    """The note of it in the state of the project."""

    version: Literal[1] = 1
    since: AwareDatetime
    """UTC."""
    until: date | None = None
    """The last day on which it holds, by the local calendar; None until it is ended."""
    reason: str = ""

    def holds(self, today: date) -> bool:
        """Whether nights rest on that day."""
        return self.until is None or today <= self.until


def pause(state: SleepState, now: datetime, until: date | None = None, reason: str = "") -> Pause:
    """Let no night begin, up to and with the day `until`. A pause that holds already gets the new end and reason."""
    today = now.astimezone().date()
    if until is not None and until < today:
        raise InputError(
            f"a pause until '{until}' is over already: today is {today}", hint="give today or a later day"
        )
    before = paused(state, now)
    since = now.astimezone(UTC) if before is None else before.since
    note = Pause(since=since, until=until, reason=reason)
    state.make()
    state.keep(state.folder / PAUSE, note)
    return note


def paused(state: SleepState, now: datetime) -> Pause | None:
    """The pause that holds; None when there is none, or its last day is over."""
    note = read_kept(state.folder / PAUSE, Pause, "`etude sleep resume` takes the pause away")
    return note if note is not None and note.holds(now.astimezone().date()) else None


def resume(state: SleepState) -> bool:
    """Take the note away, whatever is in it. Returns whether there was one."""
    path = state.folder / PAUSE
    try:
        there = path.exists()
        path.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(
            f"{str(path)!r} cannot be removed: {error.strerror}", hint="fix the permissions of its folder"
        ) from error
    return there
