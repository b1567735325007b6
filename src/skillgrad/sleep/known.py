"""What nights know of documents and later ones need: `known.json` in the state folder."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, ValidationError

from skillgrad.errors import SkillgradError
from skillgrad.records import LedgerEntry, Record
from skillgrad.sleep.carry import Carried
from skillgrad.sleep.state import SleepState

__all__ = ["KNOWN", "Memory", "remember", "remembered"]

KNOWN = "known.json"
_LEDGER = 200
"""Edits of earlier nights that are kept for the optimizer, the latest ones."""


class Memory(Record):
    """By the real path of the document."""

    version: int = 1
    tried: dict[str, tuple[LedgerEntry, ...]] = Field(default_factory=dict[str, tuple[LedgerEntry, ...]])
    """Edits that nights have tried."""
    carried: dict[str, Carried] = Field(default_factory=dict[str, Carried])
    """Candidates that may be luck, for the next night to look at again."""


def remembered(state: SleepState, night: Path) -> Memory:
    """What was known when the night began: an interrupted one goes on from that.

    Raises:
        SkillgradError: its file is damaged.
    """
    ours, all_nights = night / KNOWN, state.folder / KNOWN
    for path in (ours, all_nights):
        try:
            memory = Memory.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, ValidationError) as error:
            raise SkillgradError(f"{str(path)!r} cannot be read: {error}", hint="restore it, or remove it") from error
        break
    else:
        memory = Memory()
    if not ours.exists():
        state.write(ours, memory.model_dump_json(indent=1) + "\n")
    return memory


def remember(
    state: SleepState, memory: Memory, came: Iterable[tuple[str, tuple[LedgerEntry, ...], Carried | None]]
) -> None:
    """Keep for the next nights what came of documents in this one: of each its real path, the edits that were tried,
    and the candidate that is carried. Running a night again adds nothing twice."""
    tried, carried = dict(memory.tried), dict(memory.carried)
    for real, edits, candidate in came:
        known = tried.get(real, ())
        tried[real] = (*known, *(entry for entry in edits if entry not in known))[-_LEDGER:]
        carried.pop(real, None)
        if candidate is not None:
            carried[real] = candidate
    state.write(state.folder / KNOWN, Memory(tried=tried, carried=carried).model_dump_json(indent=1) + "\n")
