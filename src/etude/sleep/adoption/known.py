"""What nights know of documents and later ones need: `known.json` in the state folder."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from etude.records import LedgerEntry, Record
from etude.sleep.improve.carry import Carried, LookedAt, kept_looks
from etude.sleep.improve.changes import Change, Trial
from etude.sleep.state import SleepState, read_kept
from etude.sleep.tasks.mined import original_id

__all__ = ["KNOWN", "Memory", "TriedEdit", "read_memory", "remember", "remembered", "tried_edits"]

KNOWN = "known.json"
_LEDGER = 200
"""Edits of earlier nights that are kept for the optimizer, the latest ones."""
_TRIALS = 500
"""Rules of a document whose last trials are kept, those that were tried last."""


class TriedEdit(LedgerEntry):
    """An edit that a night has tried, with what it was learned from."""

    tasks: tuple[str, ...] = ()
    """Ids of the real tasks whose attempts it cites."""


class Memory(Record):
    """By the real path of the document."""

    version: Literal[2] = 2
    tried: dict[str, tuple[TriedEdit, ...]] = Field(default_factory=dict[str, tuple[TriedEdit, ...]])
    """Edits that nights have tried."""
    carried: dict[str, Carried] = Field(default_factory=dict[str, Carried])
    """Candidates that may be luck, for the next night to look at again."""
    tested: dict[str, tuple[LookedAt, ...]] = Field(default_factory=dict[str, tuple[LookedAt, ...]])
    """The looks at texts that have not passed, for a night that makes one of them once more."""
    trials: dict[str, dict[str, Trial]] = Field(default_factory=dict[str, dict[str, Trial]])
    """The last trial of each rule, by its id."""

    def ledger(self, real: str, held: Collection[str]) -> tuple[LedgerEntry, ...]:
        """The edits that were tried on a document, for the optimizer: without those that cite a task of `held`, for
        they tell what it asks for."""
        told = (entry for entry in self.tried.get(real, ()) if not set(entry.tasks) & set(held))
        return tuple(
            LedgerEntry(**{name: getattr(entry, name) for name in LedgerEntry.model_fields}) for entry in told
        )

    @property
    def made_from(self) -> set[str]:
        """Ids of the real tasks that carried candidates were made from."""
        behind = (one for candidate in self.carried.values() for one in candidate.evidence.values())
        return {original_id(name) for one in behind for name in one.tasks}


def tried_edits(edits: Iterable[LedgerEntry], cited: Mapping[str, str]) -> tuple[TriedEdit, ...]:
    """Edits with the tasks that they cite.

    Args:
        cited: the task of each attempt, by their ids.
    """
    return tuple(
        TriedEdit(
            **dict(entry),
            tasks=tuple(dict.fromkeys(original_id(cited[name]) for name in entry.edit.cites if name in cited)),
        )
        for entry in edits
    )


def read_memory(state: SleepState) -> Memory:
    """What all nights so far have left.

    Raises:
        DataError: its file is damaged.
    """
    return read_kept(state.folder / KNOWN, Memory) or Memory()


def remembered(state: SleepState, night: Path) -> Memory:
    """What was known when the night began: an interrupted one goes on from that.

    Raises:
        DataError: its file is damaged.
    """
    ours = night / KNOWN
    memory = read_kept(ours, Memory)
    if memory is None:
        memory = read_memory(state)
        state.write(ours, memory.model_dump_json(indent=1) + "\n")
    return memory


def remember(
    state: SleepState,
    memory: Memory,
    night: int,
    came: Iterable[tuple[str, Change, Carried | None]],
) -> None:
    """Keep for the next nights what came of documents in this one. Running a night again adds nothing twice.

    Args:
        came: of each document its real path, what came of it, and the candidate that is carried.
    """
    tried, carried, tested = dict(memory.tried), dict(memory.carried), dict(memory.tested)
    trials = dict(memory.trials)
    for real, change, candidate in came:
        known = tried.get(real, ())
        edits = tried_edits(change.edits, change.held_out.cited)
        tried[real] = (*known, *(entry for entry in edits if entry not in known))[-_LEDGER:]
        carried.pop(real, None)
        if candidate is not None:
            carried[real] = candidate
        tested[real] = kept_looks(tested.get(real, ()), change.tested)
        tonight = {one.rule: Trial(night=night, retired=one.retired) for one in change.left_out}
        trials[real] = dict(
            [*(one for one in trials.get(real, {}).items() if one[0] not in tonight), *tonight.items()]
        )
        trials[real] = dict(list(trials[real].items())[-_TRIALS:])
    known = Memory(tried=tried, carried=carried, tested=tested, trials=trials)
    state.write(state.folder / KNOWN, known.model_dump_json(indent=1) + "\n")
