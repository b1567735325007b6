"""Edits made ready for testing one by one: one statement is one edit, and none names a task."""

import re
from collections.abc import Iterable
from itertools import pairwise

from etude.records import Edit, Record

_ITEM = re.compile(r"^(?:[-*+]|\d{1,3}[.)])\s", re.MULTILINE)


class LeftOut(Record):
    """An edit that is not tried."""

    edit: Edit
    why: str
    faulty: bool = False
    """The optimizer is to blame: the edit copies a task, or names a place that there is not."""


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


def names_one(edit: Edit, names: Iterable[str]) -> str:
    """Which of these tasks and attempts the edit names; empty when it names none."""
    named = next((name for name in names if _is_telling(name) and name in edit.content), "")
    return f"it names {named!r}" if named else ""


def _is_telling(name: str) -> bool:
    """Not a bare number or word, which a statement may hold for reasons of its own."""
    return len(name) > 4 and any(letter.isdigit() for letter in name) and not name.isdigit()
