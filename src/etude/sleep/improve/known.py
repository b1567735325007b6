"""What nights know of documents and later ones need: `known.json` in the state folder."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from etude.records import LedgerEntry, Record
from etude.sleep.improve.changes import DocumentOutcome
from etude.sleep.state import SleepState, read_kept
from etude.sleep.tasks.mined import original_id

KNOWN = "known.json"
_LEDGER = 200
"""Edits of earlier nights that are kept for the optimizer, the latest ones."""


class NightMemory(Record):
    """By the real path of the document."""

    model_config = ConfigDict(extra="ignore")  # earlier versions kept more
    version: Literal[5] = 5
    tried: dict[str, tuple[LedgerEntry, ...]] = Field(default_factory=dict[str, tuple[LedgerEntry, ...]])
    """Edits that nights have tried. They cite real tasks, by id, instead of attempts."""

    def ledger(self, real: str, held: Collection[str]) -> tuple[LedgerEntry, ...]:
        """The edits that were tried on a document, for the optimizer: none that cites a task of `held`."""
        return tuple(entry for entry in self.tried.get(real, ()) if not set(entry.edit.cites) & set(held))


def tried_edits(edits: Iterable[LedgerEntry], cited: Mapping[str, str]) -> tuple[LedgerEntry, ...]:
    """Edits that cite real tasks in place of attempts: `cited` has the task of each."""
    found: list[LedgerEntry] = []
    for entry in edits:
        tasks = dict.fromkeys(original_id(cited[name]) for name in entry.edit.cites if name in cited)
        edit = entry.edit.model_copy(update={"cites": tuple(tasks)})
        found.append(entry.model_copy(update={"edit": edit}))
    return tuple(found)


def remembered(state: SleepState, night: Path | None = None) -> NightMemory:
    """What nights so far have left; for the folder of a night what was known when it began: it resumes with that."""
    memory = None if night is None else read_kept(night / KNOWN, NightMemory)
    if memory is None:
        memory = read_kept(state.folder / KNOWN, NightMemory) or NightMemory()
        if night is not None:
            state.keep(night / KNOWN, memory)
    return memory


def remember(state: SleepState, memory: NightMemory, came: Iterable[tuple[str, DocumentOutcome]]) -> None:
    """Keep for the next nights what `came` of documents, by their real paths. A night run twice adds it once."""
    tried = dict(memory.tried)
    for real, change in came:
        known = tried.get(real, ())
        edits = tried_edits(change.held_out.ledger, change.held_out.cited)
        tried[real] = (*known, *(entry for entry in edits if entry not in known))[-_LEDGER:]
    state.keep(state.folder / KNOWN, NightMemory(tried=tried))
