"""Edits made ready: what says the same is one edit, one statement is one edit, and none names a task."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from etude.records import Edit, Record
from etude.stages.shared.proposals import folded

_ITEM = re.compile(r"^(?:[-*+]|\d{1,3}[.)])\s", re.MULTILINE)


class LeftOut(Record):
    """An edit that is not tried."""

    edit: Edit
    why: str
    faulty: bool = False
    """The optimizer is to blame: the edit copies a task, or names a place that there is not."""


def unite(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Merge edits that differ in case, blanks and punctuation only: the first stays, citations are united."""
    united: list[Edit] = []
    for edit in edits:
        twin = next((i for i, other in enumerate(united) if same(edit, other)), None)
        if twin is None:
            united.append(edit)
        else:
            united[twin] = citing(united[twin], edit.cites)
    return tuple(united)


def same(one: Edit, other: Edit) -> bool:
    """The same text. Likeness would not do: "use" and "do not use" are nearly alike, and so are "x > 5", "x < 5"."""
    return (one.op, one.target) == (other.op, other.target) and folded(one.content) == folded(other.content)


def citing(edit: Edit, more: Sequence[str]) -> Edit:
    """The edit with further citations."""
    return edit.model_copy(update={"cites": tuple(dict.fromkeys((*edit.cites, *more)))})


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
