"""A pause: while its file is in the state of the project, no night of it begins."""

from datetime import UTC, datetime

from etude.errors import DataError
from etude.files import write_atomically
from etude.sleep.state import SleepState

PAUSE = "paused"


def pause(state: SleepState) -> None:
    """Let no night begin. A pause that holds already stays as it is."""
    state.make()
    if paused(state) is None:
        write_atomically(state.folder / PAUSE, b"", mode=0o600)


def paused(state: SleepState) -> datetime | None:
    """Since when a pause holds (UTC); None when there is none."""
    try:
        return datetime.fromtimestamp((state.folder / PAUSE).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def resume(state: SleepState) -> bool:
    """End the pause. Returns whether there was one."""
    there = paused(state) is not None
    try:
        (state.folder / PAUSE).unlink(missing_ok=True)
    except OSError as error:
        what = f"{str(state.folder / PAUSE)!r} cannot be removed: {error.strerror}"
        raise DataError(what, hint="fix the permissions of its folder") from error
    return there
