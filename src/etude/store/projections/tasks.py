"""Tasks against steps: what was solved when."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from etude.records import Record, Split, Tested
from etude.store.projections.log import Log
from etude.store.views import AskedTask, GateView, numbered, read_tasks

_ORDER: tuple[Split, ...] = ("train", "val", "test")


class Cell(NamedTuple):
    """A task in a column: attempts with one skill. Short, as a run has many of them."""

    column: int
    """Number of its column, counted from 0."""
    score: float | None
    """Mean hard score of its attempts, in [0, 1]; None when all of them errored."""
    after: float | None
    """In a step: the score with its candidate; None where that was not tried."""
    attempts: tuple[str, ...]


class TaskRow(Record):
    """A task with what is known of it. Columns without a cell: not attempted."""

    task: str
    split: Split
    type: str
    input: str
    """What it asks, as far as a line has room."""
    cells: tuple[Cell, ...]


class Column(Record):
    """A step, or a skill that was measured over a whole split."""

    key: str
    """As in `initial`, `steps/0003`, `best` or `none`."""
    label: str


class TaskMatrix(Record):
    """All tasks that were attempted."""

    columns: tuple[Column, ...]
    rows: tuple[TaskRow, ...]


_LONGEST = 120
_Key = tuple[Split, str]
"""Of a row: a task, and the split that it is part of."""
_Scores = dict[str, float | None]
"""Hard scores of attempts, by id."""


def task_matrix(log: Log, initial: str, best: str) -> TaskMatrix:
    """Tasks against steps. `initial` and `best` are the hashes of these skills, empty when not known."""
    found: dict[_Key, dict[str, _Scores]] = {}
    """What there is in each column of each task. Nothing but dicts: there may be a hundred thousand of them."""
    tested: dict[_Key, dict[str, Tested]] = {}
    columns = [Column(key="initial", label="initial")]
    for folder in numbered(log.path, "steps/*"):
        key = f"steps/{folder.name}"
        columns.append(Column(key=key, label=folder.name.lstrip("0")))
        for seen in log.batches.get(int(folder.name), ()):
            found.setdefault(("train", seen.task), {}).setdefault(key, {})[seen.attempt] = seen.hard
        for each in _tested(folder):
            row: _Key = ("train" if ("train", each.task) in found else "val", each.task)
            found.setdefault(row, {}).setdefault(key, {})
            tested.setdefault(row, {})[key] = each
    columns += [Column(key="best", label="best"), Column(key="none", label="no skill")]
    for seen in log.attempts:
        if seen.split != "train":
            keys = [key for key, skill in (("initial", initial), ("best", best)) if seen.skill == skill]
            for key in keys or (["none"] if seen.split == "test" and initial else []):
                found.setdefault((seen.split, seen.task), {}).setdefault(key, {})[seen.attempt] = seen.hard
    used = {key for cells in found.values() for key in cells}
    columns = [column for column in columns if column.key in used]
    places = {column.key: number for number, column in enumerate(columns)}
    asked = read_tasks(log.path)
    types = {seen.task: seen.type for seen in log.known.values()}
    rows = sorted(found, key=lambda row: (_ORDER.index(row[0]), types.get(row[1], ""), row[1]))
    return TaskMatrix(
        columns=tuple(columns),
        rows=tuple(
            # Not validated: it was made here.
            TaskRow.model_construct(
                task=row[1],
                split=row[0],
                type=types.get(row[1], ""),
                input=" ".join(asked.get(row[1], AskedTask()).input[: 2 * _LONGEST].split())[:_LONGEST],
                cells=tuple(sorted(_cells(found[row], tested.get(row, {}), places))),
            )
            for row in rows
        ),
    )


def _cells(found: dict[str, _Scores], tested: dict[str, Tested], places: dict[str, int]) -> Iterator[Cell]:
    for key, attempts in found.items():
        scores = [hard for hard in attempts.values() if hard is not None]
        each = tested.get(key)
        if not scores and each is not None and each.before is not None:
            scores = [each.before]
        mean = sum(scores) / len(scores) if scores else None
        yield Cell(places[key], mean, None if each is None else each.after, tuple(attempts))


def _tested(folder: Path) -> tuple[Tested, ...]:
    try:
        gate = GateView.model_validate_json((folder / "gate.json").read_bytes())
    except (OSError, ValueError):
        return ()
    return () if gate.verdict is None else gate.verdict.tasks
