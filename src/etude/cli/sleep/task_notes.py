"""What is doubtful about the tasks of a file, and no error: a night with them may do nothing, or judge wrongly."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from etude.sleep.adoption.structure import plain
from etude.sleep.tasks.mined import MinedTask

__all__ = ["task_notes"]

_SCRIPT = re.compile(r"[^-].*\.(?:py|sh|bash|js|mjs|ts|rb|pl|php|lua|R)")
"""Words of a command that name a script, not an option or data."""


def task_notes(tasks: Sequence[MinedTask]) -> list[str]:
    """A sentence each.

    Args:
        tasks: with their sides.
    """
    notes = list(_missing(tasks))
    if not any(task.split == "train" for task in tasks):
        notes.insert(0, "there is nothing to train on: a night would change nothing")
    return notes


def _missing(tasks: Sequence[MinedTask]) -> Iterator[str]:
    """Scripts that a command hands to its program and that are nowhere: each answer would be wrong."""
    for task in tasks:
        folders = [*([Path(task.project)] if task.project else []), Path()]
        for word in task.command[1:]:
            if _SCRIPT.fullmatch(word) and not any((folder / word).exists() for folder in folders):
                places = " or ".join(repr(str(folder.absolute())) for folder in folders)
                yield f"task {plain(task.id, 40)!r}: its command names {plain(word, 200)!r}, which is not in {places}"
