"""What nights know of documents and later ones need: `known.json` in the state folder."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from etude.records import LedgerEntry, Record
from etude.sleep.improve.changes import Change, RuleTrial
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

    version: Literal[3] = 3
    tried: dict[str, tuple[TriedEdit, ...]] = Field(default_factory=dict[str, tuple[TriedEdit, ...]])
    """Edits that nights have tried."""
    trials: dict[str, dict[str, RuleTrial]] = Field(default_factory=dict[str, dict[str, RuleTrial]])
    """The last trial of each rule, by its id."""

    def ledger(self, real: str, held: Collection[str]) -> tuple[LedgerEntry, ...]:
        """The edits that were tried on a document, for the optimizer: without those that cite a task of `held`, for
        they tell what it asks for."""
        told = (entry for entry in self.tried.get(real, ()) if not set(entry.tasks) & set(held))
        return tuple(
            LedgerEntry(**{name: getattr(entry, name) for name in LedgerEntry.model_fields}) for entry in told
        )


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


def remember(state: SleepState, memory: Memory, night: int, came: Iterable[tuple[str, Change]]) -> None:
    """Keep for the next nights what came of documents in this one. Running a night again adds nothing twice.

    Args:
        came: the real path of each document, and what came of it.
    """
    tried, trials = dict(memory.tried), dict(memory.trials)
    for real, change in came:
        known = tried.get(real, ())
        edits = tried_edits(change.edits, change.held_out.cited)
        tried[real] = (*known, *(entry for entry in edits if entry not in known))[-_LEDGER:]
        tonight = {one.rule: RuleTrial(night=night, retired=one.retired) for one in change.left_out}
        before = [(rule, trial) for rule, trial in trials.get(real, {}).items() if rule not in tonight]
        trials[real] = dict([*before, *tonight.items()][-_TRIALS:])
    known = Memory(tried=tried, trials=trials)
    state.write(state.folder / KNOWN, known.model_dump_json(indent=1) + "\n")
