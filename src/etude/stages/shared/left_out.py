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
    # A bare number or word may stand in a statement for reasons of its own.
    telling = (name for name in names if len(name) > 4 and not name.isdigit() and any(map(str.isdigit, name)))
    named = next((name for name in telling if name in edit.content), "")
    return f"it names {named!r}" if named else ""
