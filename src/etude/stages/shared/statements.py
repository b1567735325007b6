"""Edits made ready for testing one by one: one statement is one edit, and none carries a task's own text."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from etude.records import Edit, Record, Task

_ITEM = re.compile(r"^(?:[-*+]|\d{1,3}[.)])\s", re.MULTILINE)
_WORD = re.compile(r"\w+")
_RUN = 8
"""Words in a row that are taken for a copy: long enough not to be shared by chance."""


class LeftOut(Record):
    """An edit that is not tried."""

    edit: Edit
    why: str
    faulty: bool = False
    """The optimizer is to blame: it copies a task, or names a place that there is not."""


def single_statements(edit: Edit) -> tuple[Edit, ...]:
    """An edit that adds a list, as one edit for each of its items; any other edit as it is.

    Applied one after the other they add the same list. What is inserted last stands first below the anchor, so those
    of `insert_after` come last item first.
    """
    content = edit.content.strip("\n")
    starts = [match.start() for match in _ITEM.finditer(content)]
    if edit.op not in ("append", "insert_after") or len(starts) < 2 or starts[0] != 0:
        return (edit,)
    items = [content[start:end].rstrip() for start, end in pairwise([*starts, len(content)])]
    if edit.op == "insert_after":
        items.reverse()
    return tuple(edit.model_copy(update={"content": item}) for item in items)


def own_runs(tasks: Sequence[Task]) -> frozenset[tuple[str, ...]]:
    """Runs of words that stand in one of the tasks only: its own text. What tasks share is their common wording."""
    seen: dict[tuple[str, ...], int] = {}
    for task in tasks:
        for run in set(_runs(task.input)):
            seen[run] = seen.get(run, 0) + 1
    return frozenset(run for run, count in seen.items() if count == 1)


def carries(edit: Edit, runs: frozenset[tuple[str, ...]], ids: Iterable[str]) -> str:
    """What the edit copies from a task or an attempt: its id, or a run of its words; empty when it copies nothing."""
    named = next((name for name in ids if _is_telling(name) and name in edit.content), "")
    if named:
        return f"it names {named!r}"
    copied = next((run for run in _runs(edit.content) if run in runs), None)
    return "" if copied is None else f"it copies {' '.join(copied)!r}"


def _is_telling(name: str) -> bool:
    """Not a bare number or word, which a statement may hold for reasons of its own."""
    return len(name) > 4 and any(letter.isdigit() for letter in name) and not name.isdigit()


def _runs(text: str) -> list[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return [tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)]
