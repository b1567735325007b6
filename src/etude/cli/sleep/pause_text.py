"""A pause for people."""

from etude.sleep.adoption.structure import plain
from etude.sleep.pause import Pause

__all__ = ["told"]


def told(note: Pause) -> str:
    """As in `paused since 2026-09-20 10:00 (UTC) until 2026-10-01: on holiday`."""
    until = "" if note.until is None else f" until {note.until}"
    why = f": {plain(note.reason, 200)}" if note.reason.strip() else ""
    return f"paused since {note.since:%Y-%m-%d %H:%M} (UTC){until}{why}"
