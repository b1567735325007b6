"""Blame: which change put each line of a skill there.

Works on texts alone. A line keeps its origin as long as it stays, wherever a rewrite moves it, and what a deletion
leaves of a line is still that line.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

from etude.records import AppliedEdit
from etude.skill.edits import apply_edit
from etude.skill.lines import lines_of

T = TypeVar("T")


class Origin(NamedTuple):
    """Where a line comes from."""

    change: int | None
    """Number of the change; None for the initial skill."""
    edit: int | None = None
    """Number of the edit among those of the change; None for the change as a whole."""


INITIAL = Origin(None)


def texts_of(text: str) -> list[str]:
    """The lines of a text, without their line ends."""
    return [line.text for line in lines_of(text)]


def blame(
    origins: Sequence[Origin], texts: tuple[str, str], edits: Sequence[AppliedEdit], change: int
) -> list[Origin]:
    """The origin of each line of a text after the change of this number, from the origins of the lines before and the
    texts before and after.

    Edits in place are made once more, one by one. Lines that these do not explain, as those of a rewrite or of a
    region, belong to the edit whose content has them, else to the change as a whole."""
    (text, after), found = texts, list(origins)
    made = [number for number, edit in enumerate(edits) if edit.fate in ("applied", "repaired")]
    for number in made:
        edit = edits[number].edit
        if edit.op not in ("append", "insert_after", "replace", "delete"):
            continue
        revised, _ = apply_edit(text, edit)
        deletes = edit.op == "delete" or not edit.content.strip()
        found = carried(found, texts_of(text), texts_of(revised), Origin(change, number), shortened=deletes)
        text = revised
    lines, whole = texts_of(after), Origin(change)
    found = carried(found, texts_of(text), lines, whole)
    contents = {number: {_said(line) for line in texts_of(edits[number].edit.content)} for number in made}
    for index, line in enumerate(lines):
        if found[index] == whole:
            owner = next((number for number in made if _said(line) in contents[number]), None)
            found[index] = Origin(change, made[0] if len(made) == 1 else owner)
    return found


def carried(
    marks: Sequence[T], before: Sequence[str], after: Sequence[str], new: T, *, shortened: bool = False
) -> list[T]:
    """The mark of each line of `after`: that of the line of `before` that it is, else `new`. With `shortened`, lines
    that differ are what is left of those that stood there, and keep their marks."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, now = before[head : len(before) - tail], after[head : len(after) - tail]
    inner: list[T] = [new] * len(now)
    kept: set[int] = set()
    gone: dict[str, list[int]] = {}
    matched = SequenceMatcher(None, old, now, autojunk=False).get_opcodes()
    for kind, start, stop, first, last in matched:
        for offset in range(stop - start):
            if kind == "equal":
                inner[first + offset] = marks[head + start + offset]
                kept.add(first + offset)
            elif old[start + offset].strip():
                gone.setdefault(old[start + offset], []).append(head + start + offset)
        if shortened and kind == "replace":
            for index in range(first, last):
                inner[index] = marks[head + min(start + index - first, stop - 1)]
    for index, line in enumerate(now):
        if index not in kept and gone.get(line):  # it was moved
            inner[index] = marks[gone[line].pop(0)]
    return [*marks[:head], *inner, *marks[len(before) - tail :]]


def _said(line: str) -> str:
    """What a line says, without list mark and blanks."""
    return " ".join(line.lstrip("-*+> \t").split())
