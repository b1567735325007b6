"""From data files to tasks: read, recognised, divided and tried on their scorer. Nothing is written here."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import ne
from pathlib import Path

from etude.cli.scaffold.data_files import FileRows, has_cases, read_cases, read_file, split_of
from etude.cli.scaffold.forms import make_tasks
from etude.cli.scaffold.forms.evals import WHICH_SKILL, needing_the_skill
from etude.cli.scaffold.forms.made import MadeTasks, built
from etude.cli.scaffold.forms.promptfoo import read_tests
from etude.cli.scaffold.table import Table, Wishes, fold_name
from etude.comparison import FEWEST
from etude.envs.dataset import DatasetEnvironment
from etude.envs.files import Row
from etude.envs.gold import check_gold, check_varied
from etude.envs.scorers.answer_scorer import Judge
from etude.envs.scorers.choice import read_options
from etude.errors import ConfigError, DataError
from etude.records import SPLITS, Split, Task

TRAINABLE, FEW = 5, 20
"""Fewer tasks leave a split empty, so all are for the test; and with fewer, only a large difference shows."""
LARGE = 1000
"""This many tasks or more are divided as published, most of them for the test; fewer are spread more evenly."""
MOST: Mapping[Split, int] = {"train": 200, "val": 100, "test": 300}
"""Tasks in each split of a large dataset: more would cost much and show little."""


@dataclass(frozen=True)
class Data:
    """Tasks as a project will have them."""

    made: MadeTasks
    rows: Mapping[str, Sequence[Row]]
    """By split, or all as `path`."""
    files: Mapping[str, Path]
    """What these rows are called."""
    folder: Path
    """Where paths of pictures count from."""
    ratio: Sequence[float] | None
    limit: Mapping[Split, int] | None = None
    written: bool = True
    """The rows were built or converted: the project needs a file of them."""
    unused: Sequence[str] = ()
    """Columns that no task shows and no scorer sees."""
    notes: Sequence[str] = ()
    """What is doubtful about them."""

    @property
    def judged(self) -> bool:
        """Whether a model judges the answers."""
        golds = (row.columns.get("gold") for rows in self.rows.values() for row in rows)
        return self.made.scorer == "rubric" or (
            self.made.scorer == "checks" and any(isinstance(gold, dict) and gold.get("rubric") for gold in golds)
        )

    @cached_property
    def env(self) -> DatasetEnvironment:
        """The environment before anything is written; nothing is graded by it."""
        return self.environment(_no_judge)

    @property
    def tasks(self) -> Mapping[Split, int]:
        """How many there are in each split."""
        return {split: len(self.env.tasks(split)) for split in SPLITS}

    def environment(self, judge: Callable[[], Judge]) -> DatasetEnvironment:
        """The environment of these tasks. Raises DataError: they cannot be used."""
        made, options = self.made, dict[str, object]({key: str(path) for key, path in self.files.items()})
        more = {"template": made.template or None, "ratio": self.ratio, "limit": self.limit}
        options |= {"fields": dict(made.fields), "scorer": scorer_setting(made)}
        options |= {name: value for name, value in more.items() if value is not None}
        held = {path: self.rows[key] for key, path in self.files.items()}
        return DatasetEnvironment(options, read=lambda path, form: held[path], judge=judge)


def read_data(files: Mapping[str, Path], wishes: Wishes, *, delimiter: str = "", split: str = "") -> Data:
    """The tasks of these files. Raises DataError: they cannot be used; Unclear: one answer of the user settles it."""
    sources = {key: read_source(path, delimiter) for key, path in files.items()}
    notes = [note for source in sources.values() for note in source.notes]
    rows: dict[str, Sequence[Row]] = {}
    for key, source in sources.items():
        rows[key], quiet = needing_the_skill(source.rows)
        notes += quiet
    first = next(iter(files.values()))
    folder = first if first.is_dir() else first.parent
    names = {key: folder / ("*.json" if path.is_dir() else path.name) for key, path in files.items()}
    shares = _shares(split)
    if split and "path" not in rows:
        raise ConfigError("--split: the data has a file for each split already", hint="leave the option out")
    by_column = bool(split) and shares is None
    if by_column:
        rows = _by_column(rows["path"], split)
        names = {key: folder / f"{key} of {first.name}" for key in rows}
    elif not split:
        notes += _unused_split(rows)
    table = Table([row for found in rows.values() for row in found], wishes, folder)
    made = make_tasks(table)
    given = sum(len(source.rows) for source in sources.values())
    changed = made.built or len(made.rows) < given or any(map(ne, made.rows, table.rows))
    rows = _divided(made.rows, rows)
    if made.scorer != "rubric":
        _check_answers(made)
    if "path" in rows and shares is None:
        shares = _usual_shares(len(made.rows))
    written = bool(changed) or by_column or not all(source.direct for source in sources.values())
    data = _fitted(Data(made, rows, names, folder, shares, written=written), not wishes.scorer and not made.built)
    if any(count > MOST[part] for part, count in data.tasks.items()):
        data = replace(data, limit=MOST)
    used = {*table.used, *(name for name in table.names if fold_name(name) in WHICH_SKILL)}
    unused = [name for name in table.names if name.strip() and name not in used]
    return replace(data, unused=unused, notes=[*notes, *data.made.notes, *_odd(made), *_few(data), *_doubts(data)])


def drafted_data(rows: Sequence[Row], file: Path, author: str, notes: Sequence[str]) -> Data:
    """Tasks of which each says what its answer must have, for `file`."""
    scorer = "checks", "each task says what its answer must have"
    made = built(f"requests and criteria, drafted by {author}", rows, scorer)
    data = Data(made, {"path": rows}, {"path": file}, file.parent, _usual_shares(len(rows)))
    return replace(data, notes=[*notes, *_few(data), *data.env.warnings])


def _fitted(data: Data, may_change: bool) -> Data:
    """The tasks with the scorer `exact` if theirs does not accept all gold answers: the guess came from the first
    rows; later ones can be of another kind. Raises DataError: they cannot be used."""
    try:
        asyncio.run(check_gold(data.env, _all(data.env)))
    except DataError as error:
        if not may_change:
            raise
        why = "not all gold answers are of one kind"
        note = f"{why}, so they are compared as texts: {error.message}"
        made = replace(data.made, scorer="exact", why=why, notes=[*data.made.notes, note])
        data = replace(data, made=made)
        asyncio.run(check_gold(data.env, _all(data.env)))
    return data


def read_source(path: Path, delimiter: str = "") -> FileRows:
    """The rows of a file or folder, in any form that has tasks. Raises DataError: it cannot be read."""
    if path.suffix.lower() in (".yaml", ".yml") and path.is_file():
        return FileRows(read_tests(path), False)
    if path.is_dir() and has_cases(path):
        return FileRows(read_cases(path), False)
    return read_file(path, delimiter)


def _shares(split: str) -> list[float] | None:
    """Shares of train, val and test; None for the name of a column."""
    parts = re.split(r"[,:/\s]+", split.strip())
    if not all(re.fullmatch(r"\d+(\.\d+)?", part) for part in parts):
        return None
    return [float(part) if "." in part else int(part) for part in parts]


def _usual_shares(count: int) -> list[float]:
    """How so many tasks are divided."""
    if count < TRAINABLE:
        return [0, 0, 1]
    return [2, 1, 7] if count >= LARGE else [4, 3, 3]


def _few(data: Data) -> list[str]:
    """What so few tasks can show, before anything is paid for."""
    train, val, test = data.tasks.values()
    if not train:
        some, they = ("1 task is", "it is") if test == 1 else (f"{test} tasks are", "all are")
        what = f"{some} too few to train on: {they} for `etude evaluate` and `etude compare`"
        return [f"{what}, which can show that a skill helps on just these"] if test < TRAINABLE else []
    if test < FEWEST:
        verdict = f"a test of {test} has no verdict on tasks like these, which takes {FEWEST}"
        return [f"{verdict}: bring more, or only compare skills, with --split 0,0,1"]
    if train + val + test < FEW:
        return [f"{train + val + test} tasks show only a large difference: `etude plan` says how large"]
    return []


def _odd(made: MadeTasks) -> list[str]:
    cures = ("correct the row if it is a slip", "if so, remove these rows")
    return [f"{odd.what}: {cures[odd.times > 1]}" for odd in made.odd]


def _divided(tasks: Sequence[Row], rows: Mapping[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
    """The tasks in the place of the rows they come from."""
    keys = {row.place: key for key, found in rows.items() for row in found}
    divided: dict[str, list[Row]] = {key: [] for key in rows}
    for task in tasks:
        divided[keys[task.place]].append(task)
    return dict(divided)


def _by_column(rows: Sequence[Row], name: str) -> dict[str, Sequence[Row]]:
    column, found = Table(rows).named(name, "--split"), {split: list[Row]() for split in SPLITS}
    for row in rows:
        split = split_of(row.columns.get(column))
        if split is None:
            raise DataError(
                f"{row.place}: {column} = {row.columns.get(column)!r} is none of train, val and test",
                hint="correct the row, or divide by shares, as in --split 4,3,3",
            )
        found[split].append(Row(row.place, {key: value for key, value in row.columns.items() if key != column}))
    for split in SPLITS:
        if not found[split]:
            raise DataError(f"--split {name!r}: no row is for {split}", hint="divide by shares, as in --split 4,3,3")
    return {split: found[split] for split in SPLITS}


def _unused_split(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    if "path" not in rows:
        return []
    column = next((name for name in rows["path"][0].columns if name.casefold() in ("split", "fold", "subset")), None)
    values = {split_of(row.columns.get(column)) for row in rows["path"]} if column is not None else {None}
    if None in values or len(values) < len(SPLITS):
        return []
    return [f"column {column!r} names train, val and test and is not used: --split {column} uses it"]


def _check_answers(made: MadeTasks) -> None:
    """Make sure that every task has a right answer: an empty one would be solved by saying nothing."""
    table, column = Table(made.rows), made.fields["gold"]
    empty = [row for row in made.rows if table.value(row, column) in (None, "", [])]
    if empty:
        raise DataError(
            f"{len(empty)} of {len(made.rows)} rows have no right answer in {column!r}, as {empty[0].place}",
            hint="fill down what stood in merged cells, remove the rows, name another column with --gold, or have a "
            "model judge with --rubric TEXT",
        )


def _all(env: DatasetEnvironment) -> list[Task]:
    return [task for split in SPLITS for task in env.tasks(split)]


def scorer_setting(made: MadeTasks) -> object:
    """The scorer as settings name it."""
    return {"name": made.scorer, **made.options} if made.options else made.scorer


def _no_judge() -> Judge:
    """In place of the model that grades: nothing is graded while a project is made."""
    raise ConfigError("no model is asked while a project is made", hint="give another --scorer")


def _doubts(data: Data) -> list[str]:
    """What may make the tasks useless, with an example."""
    doubts, env = list[str](), data.env
    train = env.tasks("train")
    if data.made.scorer == "choice" and (hidden := [task for task in train if not read_options(task.input)]):
        doubts.append(
            f"the answer to {len(hidden)} of {len(train)} training tasks is a letter, and their input lists no "
            f"options, as in {hidden[0].input[:80]!r}: name their columns with --input"
        )
    try:
        asyncio.run(check_varied(env, {split: env.tasks(split) for split in SPLITS}))
    except DataError as error:
        doubts.append(f"{error.message}; see whether the right column is the gold answer")
    return [*doubts, *env.warnings]
