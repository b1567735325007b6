"""Edits that are not tried, and why."""

from collections.abc import Iterable

from etude.records import Edit, Record


class LeftOut(Record):
    """An edit that is not tried."""

    edit: Edit
    why: str
    faulty: bool = False
    """The optimizer is to blame: the edit copies a task, or names a place that there is not."""


def names_one(edit: Edit, names: Iterable[str]) -> str:
    """Which of these tasks and attempts the edit names; empty when it names none."""
    named = next((name for name in names if _is_telling(name) and name in edit.content), "")
    return f"it names {named!r}" if named else ""


def _is_telling(name: str) -> bool:
    """Not a bare number or word, which a statement may hold for reasons of its own."""
    return len(name) > 4 and any(letter.isdigit() for letter in name) and not name.isdigit()
