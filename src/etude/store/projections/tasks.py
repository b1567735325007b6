"""Tasks against steps: what was solved when."""

from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from etude.records import Record, Split, Tested
from etude.records.base import Lenient
from etude.store.projections.log import Log
from etude.store.views import GateView

ROLLOUT = "rollout.json"
"""The attempts of a step, in its folder."""
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
    cells: tuple[Cell, ...]


class Column(Record):
    """A step, or a skill that was measured over a whole split."""

    key: str
    """As in `initial`, `steps/0003`, `best` or `none`."""
    label: str


class TaskMatrix(Record):
    """All tasks that were attempted."""

    run: str
    columns: tuple[Column, ...]
    rows: tuple[TaskRow, ...]


class _Task(Lenient):
    id: str
    type: str


class _Score(Lenient):
    hard: float


class _Attempt(Lenient):
    """What is needed of an attempt. The rest is long, and most of the time would go into it."""

    id: str
    task: _Task
    score: _Score | None


_ATTEMPTS = TypeAdapter(tuple[_Attempt, ...])


class Tried(NamedTuple):
    """An attempt without what was said in it."""

    attempt: str
    task: str
    type: str
    hard: float | None


class Rollouts:
    """The attempts of each step without what was said in them. A file is read again only when it has changed."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[int, list[Tried]]] = {}

    def of(self, folder: Path) -> list[Tried]:
        """Those of a step; none where the step has written none yet."""
        file = folder / ROLLOUT
        try:
            stamp = file.stat().st_mtime_ns
            if file not in self._known or self._known[file][0] != stamp:
                attempts = _ATTEMPTS.validate_json(file.read_bytes())
                self._known[file] = (
                    stamp,
                    [
                        Tried(each.id, each.task.id, each.task.type, None if each.score is None else each.score.hard)
                        for each in attempts
                    ],
                )
        except (OSError, ValueError):
            return []
        return self._known[file][1]


class _Found(NamedTuple):
    """What there is in a column of a task."""

    attempts: dict[str, float | None]
    """The hard score of each, by id."""
    tested: list[tuple[float | None, float | None]]
    """Before and with the candidate."""


def task_matrix(log: Log, initial: str, best: str, rollouts: Rollouts) -> TaskMatrix:
    """Tasks against steps. `initial` and `best` are the hashes of these skills, empty when not known."""
    found: dict[tuple[Split, str], dict[str, _Found]] = {}
    types: dict[str, str] = {}

    def at(split: Split, task: str, key: str) -> _Found:
        row = found.setdefault((split, task), {})
        if key not in row:
            row[key] = _Found({}, [])
        return row[key]

    columns = [Column(key="initial", label="initial")]
    for folder in sorted(log.path.glob("steps/*")):
        key = f"steps/{folder.name}"
        columns.append(Column(key=key, label=folder.name.lstrip("0")))
        for name, task, type, hard in rollouts.of(folder):
            types[task] = type
            at("train", task, key).attempts[name] = hard
        for tested in _tested(folder):
            split = "train" if ("train", tested.task) in found else "val"
            at(split, tested.task, key).tested.append((tested.before, tested.after))
    columns += [Column(key="best", label="best"), Column(key="none", label="no skill")]
    for seen in log.attempts:
        if seen.split != "train":
            keys = [key for key, skill in (("initial", initial), ("best", best)) if seen.skill == skill]
            for key in keys or (["none"] if seen.split == "test" and initial else []):
                at(seen.split, seen.task, key).attempts[seen.attempt] = seen.hard
    used = {key for row in found.values() for key in row}
    columns = [column for column in columns if column.key in used]
    places = {column.key: number for number, column in enumerate(columns)}
    rows = sorted(found.items(), key=lambda item: (_ORDER.index(item[0][0]), types.get(item[0][1], ""), item[0][1]))
    return TaskMatrix(
        run=log.path.resolve().name,
        columns=tuple(columns),
        rows=tuple(
            TaskRow(
                task=task,
                split=split,
                type=types.get(task, ""),
                cells=tuple(sorted((_cell(places[key], each) for key, each in row.items()), key=itemgetter(0))),
            )
            for (split, task), row in rows
        ),
    )


def _cell(column: int, found: _Found) -> Cell:
    scores = [hard for hard in found.attempts.values() if hard is not None]
    scores = scores or [before for before, _ in found.tested if before is not None]
    after = found.tested[-1][1] if found.tested else None
    return Cell(column, sum(scores) / len(scores) if scores else None, after, tuple(found.attempts))


def _tested(folder: Path) -> tuple[Tested, ...]:
    try:
        gate = GateView.model_validate_json((folder / "gate.json").read_bytes())
    except (OSError, ValueError):
        return ()
    return () if gate.verdict is None else gate.verdict.tasks
