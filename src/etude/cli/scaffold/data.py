"""From data files to tasks: read, recognised, divided and tried on their scorer. Nothing is written here."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from etude.cli.scaffold.columns import Columns, guess_columns, picture_column
from etude.cli.scaffold.files import env_options, fit_scorer, no_judge
from etude.cli.scaffold.forms import build
from etude.cli.scaffold.forms.built_tasks import BuiltTasks
from etude.cli.scaffold.forms.evals import TRAINABLE, needing_the_skill
from etude.cli.scaffold.forms.table import Table, Wishes
from etude.cli.scaffold.reading import read_source
from etude.envs.dataset import DatasetEnvironment
from etude.envs.files import Row
from etude.envs.gold import check_varied
from etude.envs.scorers.choice import read_options
from etude.errors import ConfigError, DataError
from etude.records import SPLITS, Split

LARGE = 1000
"""This many tasks or more are divided as published, most of them for the test; fewer are spread more evenly."""
MOST: Mapping[Split, int] = {"train": 200, "val": 100, "test": 300}
"""Tasks in each split of a large dataset: more would cost much and show little."""
SPLIT_NAMES: Mapping[Split, str] = {"train": r"train(ing)?", "val": r"val(id(ation)?)?|dev", "test": r"test(ing)?"}


@dataclass(frozen=True)
class Data:
    """Tasks as a project will have them."""

    env: DatasetEnvironment
    columns: Columns
    rows: Mapping[str, Sequence[Row]]
    """By split, or all as `path`."""
    folder: Path
    """Where paths of pictures count from."""
    written: bool
    """The rows were built or converted: the project needs a file of them."""
    what: str
    """What was recognised; empty where columns are used as they are."""
    unused: tuple[str, ...]
    """Columns that no task shows and no scorer sees."""
    ratio: Sequence[float] | None
    limit: Mapping[Split, int] | None

    @property
    def judged(self) -> bool:
        """Whether a model judges the answers."""
        golds = (row.columns.get("gold") for rows in self.rows.values() for row in rows)
        return self.columns.scorer == "rubric" or (
            self.columns.scorer == "checks" and any(isinstance(gold, dict) and gold.get("rubric") for gold in golds)
        )


def read_data(files: Mapping[str, Path], wishes: Wishes, *, delimiter: str = "", split: str = "") -> Data:
    """The tasks of these files. Raises DataError: they cannot be used; Unclear: one answer of the user settles it."""
    sources = {key: read_source(path, delimiter) for key, path in files.items()}
    rows: dict[str, Sequence[Row]] = {key: source.rows for key, source in sources.items()}
    notes = [note for source in sources.values() for note in source.notes]
    for key, found in rows.items():
        rows[key], more_notes = needing_the_skill(found)
        notes += more_notes
    first = next(iter(files.values()))
    folder = first if first.is_dir() else first.parent
    places = {key: path / "*.json" if path.is_dir() else path for key, path in files.items()}
    ratio = _ratio(split)
    divided = bool(split) and ratio is None
    if split and "path" not in rows:
        raise ConfigError("--split: the data has a file for each split already", hint="leave the option out")
    if divided:
        rows = _by_column(rows["path"], split)
        places = {key: folder / f"{key} of {first.name}" for key in rows}
    elif not split:
        notes += _unused_split(rows)
    everything = [row for found in rows.values() for row in found]
    made = build(table := Table(everything, wishes))
    if made is not None:
        rows, columns = built(made, rows, picture_column(table, folder), table)
    else:
        columns = guess_columns(everything, folder, wishes)
        shown = (*columns.fields.values(), *re.findall(r"{([^{}]+)}", columns.template))
        table.used = {name for column in shown for name in (column, column.partition(".")[0])}
    if columns.scorer != "rubric":
        _check_answers([row for found in rows.values() for row in found], columns.fields["gold"])
    columns = replace(columns, notes=[*notes, *columns.notes])
    if "path" in rows and ratio is None:
        ratio = [2, 1, 7] if len(everything) >= LARGE else [4, 3, 3] if len(everything) >= TRAINABLE else [0, 0, 1]
        if len(everything) < TRAINABLE:
            some = "1 task is" if len(everything) == 1 else f"{len(everything)} tasks are"
            few = f"{some} too few to train on: all are for `etude evaluate` and `etude compare`"
            columns = replace(columns, notes=[*columns.notes, few])
    more: dict[str, object] = {} if ratio is None else {"ratio": ratio}

    def read(path: Path, form: object) -> Sequence[Row]:
        return rows[next(key for key, place in places.items() if place == path)]

    may_change = not wishes.scorer and made is None
    env, columns = fit_scorer(places, columns, more, read=read, may_change=may_change)
    limit = MOST if any(len(env.tasks(split)) > MOST[split] for split in SPLITS) else None
    if limit is not None:
        env = DatasetEnvironment(env_options(places, columns, more | {"limit": limit}), read=read, judge=no_judge)
    columns = replace(columns, notes=[*columns.notes, *_doubts(env, columns)])
    written = made is not None or divided or not all(source.direct for source in sources.values())
    what = made.what if made is not None else ""
    unused = tuple(name for name in table.names if name not in table.used)
    return Data(env, columns, rows, folder, written, what, unused, ratio, limit)


def _ratio(split: str) -> list[float] | None:
    """Shares of train, val and test; None for the name of a column."""
    parts = re.split(r"[,:/\s]+", split.strip())
    if not all(re.fullmatch(r"\d+(\.\d+)?", part) for part in parts):
        return None
    return [float(part) if "." in part else int(part) for part in parts]


def _split_of(value: JsonValue) -> Split | None:
    text = str(value).strip().casefold()
    return next((split for split, names in SPLIT_NAMES.items() if re.fullmatch(names, text)), None)


def _by_column(rows: Sequence[Row], name: str) -> dict[str, Sequence[Row]]:
    column = Table(rows).find(name.casefold()) or name
    found: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for row in rows:
        if column not in row.columns:
            raise DataError(
                f"--split {name!r} is neither three shares nor a column; columns: "
                f"{', '.join(map(repr, row.columns))}",
                hint="as in --split 4,3,3 or --split COLUMN",
            )
        split = _split_of(row.columns[column])
        if split is None:
            raise DataError(
                f"{row.place}: {column} = {row.columns[column]!r} is none of train, val and test",
                hint="correct the row, or divide by shares, as in --split 4,3,3",
            )
        found[split].append(Row(row.place, {key: value for key, value in row.columns.items() if key != column}))
    missing = [split for split in SPLITS if not found[split]]
    if missing:
        raise DataError(
            f"--split {name!r}: no row is for {missing[0]}", hint="divide by shares instead, as in --split 4,3,3"
        )
    return {split: found[split] for split in SPLITS}


def _unused_split(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    if "path" not in rows:
        return []
    column = next((name for name in rows["path"][0].columns if name.casefold() in ("split", "fold", "subset")), None)
    values = {_split_of(row.columns.get(column)) for row in rows["path"]} if column is not None else {None}
    if None in values or len(values) < len(SPLITS):
        return []
    return [f"column {column!r} names train, val and test and is not used: --split {column} uses it"]


def built(
    made: BuiltTasks, rows: Mapping[str, Sequence[Row]], pictures: str | None, table: Table
) -> tuple[dict[str, Sequence[Row]], Columns]:
    """The tasks of a form in the place of the rows they come from, and the columns that they have."""
    tasks = list(made.rows)
    if pictures is not None:
        tasks = [
            Row(task.place, {**task.columns, "images": table.value(row, pictures)})
            for task, row in zip(tasks, table.rows, strict=True)
        ]
    divided: dict[str, Sequence[Row]] = {}
    start = 0
    for key, found in rows.items():
        divided[key] = tasks[start : start + len(found)]
        start += len(found)
    names = dict.fromkeys(name for task in tasks for name in task.columns)
    fields = {name: name for name in ("id", "input", "gold", "type", "group", "images", "files") if name in names}
    wished = table.wishes.scorer
    scorer, why = (wished, "as you said") if wished and wished != made.scorer else (made.scorer, made.why)
    columns = Columns(fields, "", scorer, made.metric, why, made.notes)
    return divided, replace(columns, scorer_options=made.options) if scorer == made.scorer else columns


def _check_answers(rows: Sequence[Row], column: str) -> None:
    """Make sure that every task has a right answer: an empty one would be solved by saying nothing."""
    table = Table(rows)
    empty = [row for row in rows if table.value(row, column) in (None, "", [])]
    if empty:
        raise DataError(
            f"{len(empty)} of {len(rows)} rows have no right answer in {column!r}, as {empty[0].place}",
            hint="remove them, name another column with --gold, or have a model judge with --rubric TEXT",
        )


def _doubts(env: DatasetEnvironment, columns: Columns) -> list[str]:
    """What may make the tasks useless, with an example."""
    doubts: list[str] = []
    train = env.tasks("train")
    if columns.scorer == "choice" and (hidden := [task for task in train if not read_options(task.input)]):
        doubts.append(
            f"the answer to {len(hidden)} of {len(train)} training tasks is a letter, and their input lists no "
            f"options, as in {hidden[0].input[:80]!r}: name their columns with --input"
        )
    try:
        asyncio.run(check_varied(env, {split: env.tasks(split) for split in SPLITS}))
    except DataError as error:
        doubts.append(f"{error.message}; see whether the right column is the gold answer")
    return doubts
