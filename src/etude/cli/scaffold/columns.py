"""Which column is which part of a task, where columns are parts of tasks as they are: guesses that a person can
correct."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from pydantic import JsonValue

from etude.cli.scaffold.answers import ends_in_number, guess_scorer, is_number
from etude.cli.scaffold.forms.table import CONTEXT, GOLD, GROUP, TYPE, Table, Unclear, Wishes, first_picture
from etude.envs.files import Row
from etude.envs.images import is_web
from etude.errors import DataError
from etude.records import Metric

MOST_LABELS = 30
"""A column with more different values is no column of labels."""
_LABEL_CHARS = 40
_FEW_OTHERS = 5
_OPTIONS = ("choices", "options")
_LABELS = re.compile(
    r"(.*_)?(label|category|class|intent|sentiment|topic|department|queue|priority|team|tag|stars|rating)(_.*)?"
)


@dataclass(frozen=True)
class Columns:
    """Which column is which field of a task, and how answers are compared."""

    fields: Mapping[str, str]
    """Field of a task to column."""
    template: str = ""
    """Builds the input when one column does not hold all of it."""
    scorer: str = "exact"
    metric: Metric = "hard"
    why: str = ""
    """What in the gold answers speaks for the scorer."""
    notes: Sequence[str] = field(default=())
    scorer_options: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


def guess_columns(rows: Sequence[Row], folder: Path = Path(), wishes: Wishes | None = None) -> Columns:
    """Look at the first rows; paths of pictures count from `folder`.
    Raises Unclear: no column can be the input, or none the gold answer."""
    table = Table(rows, wishes)
    asked = _asked(table)
    gold, notes = _gold(table, asked)
    fields = {**({"id": id_} if (id_ := table.id_column()) else {}), "input": asked[-1], "gold": gold}
    for name, names in (("type", TYPE), ("group", GROUP)):
        column = table.find(*names)
        if column is not None and column not in (*fields.values(), *asked) and table.is_plain(column):
            fields[name] = column
    if fields.get("id") in (gold, *asked):
        del fields["id"]
    pictures = find_pictures(table, {*fields.values(), *table.wished_input})
    images, more = _chosen(pictures, folder)
    if images is not None:
        fields["images"] = images
    golds = [value for value in table.values(gold) if value is not None]
    scorer, why = guess_scorer(golds)
    notes = [*notes, *_mixed(table, gold)]
    template, labels = _template(table, asked, pictures), _labels(table, asked, gold, scorer)
    if labels:
        scorer, why = "exact", "the answer is one of the labels"
        whole = template or f"{{{asked[-1]}}}"
        template = f"{whole}\n\nAnswer with one of: {_escaped(', '.join(labels))}"
    if template:
        del fields["input"]
    if table.wishes.scorer:
        scorer, why = table.wishes.scorer, "as you said"
    metric: Metric = "soft" if scorer in ("f1", "anls", "rubric") else "hard"
    return Columns(fields, template, scorer, metric, why, [*notes, *more])


def find_pictures(table: Table, used: set[str]) -> dict[str, str]:
    """Columns that hold pictures, with the first value of each."""
    return {
        column: value
        for column in table.folded().values()
        if column not in used and (value := first_picture(table.values(column)))
    }


def picture_column(table: Table, folder: Path) -> str | None:
    """The column of pictures that are there."""
    return _chosen(find_pictures(table, set()), folder)[0]


def _asked(table: Table) -> tuple[str, ...]:
    """The columns of what is asked. Raises Unclear: none looks like it."""
    rest = [name for name in table.names if name not in (table.wished_gold, table.id_column())]
    if table.question and not isinstance(table.value(table.sample[0], table.question[-1]), dict | list):
        return table.question
    if len(rest) == 1:
        return (rest[0],)
    labels = [name for name in rest if _is_label(table, name)]
    others = [name for name in rest if name not in labels]
    if len(others) == 1 and labels:
        return (others[0],)
    header = " (does the file begin with a line of column names?)" if any(map(_reads, table.names)) else ""
    raise Unclear(
        f"{table.sample[0].place}: no column looks like the input of a task; columns: {table.columns}{header}",
        "--input",
        others or rest,
    )


def _gold(table: Table, asked: Sequence[str]) -> tuple[str, list[str]]:
    """The column of right answers, and what is doubtful about it. Raises Unclear: none looks like it."""
    named = table.gold(*(name for name in GOLD))
    if named is not None and named not in asked:
        return named, []
    rest = [name for name in table.names if name not in asked and name != table.id_column()]
    if len(rest) == 1:
        return rest[0], []
    labels = [name for name in rest if _is_label(table, name)]
    if len(labels) == 1:
        return labels[0], [f"{labels[0]!r} is taken for the right answer; --gold COLUMN names another"]
    if not rest:
        raise DataError(
            f"{table.sample[0].place}: no column holds right answers; columns: {table.columns}",
            hint="--rubric TEXT has a model judge the answers by that text",
        )
    raise Unclear(
        f"{table.sample[0].place}: no column looks like the gold of a task; columns: {table.columns}",
        "--gold",
        labels or rest,
    )


def _reads(name: str) -> bool:
    """A column name that is rather a question."""
    return "?" in name or len(name.split()) > 5


def _mixed(table: Table, gold: str) -> list[str]:
    """Gold answers of which nearly all are numbers, with one that is none."""
    others = [row for row in table.sample if not is_number(table.value(row, gold))]
    if not 0 < len(others) * _FEW_OTHERS <= len(table.sample) or ends_in_number(table.value(others[0], gold)):
        return []
    odd = str(table.value(others[0], gold))[:60]
    return [f"most gold answers are numbers, not all: {odd!r} at {others[0].place}; they are compared as texts"]


def _is_label(table: Table, column: str) -> bool:
    """Few different short values, each of which occurs often."""
    values = [value for value in table.values(column) if value not in (None, "")]
    if not all(isinstance(value, str | int) for value in values) or len(values) < len(table.sample):
        return False
    counts = Counter(map(str, values))
    return 1 < len(counts) <= min(MOST_LABELS, len(values) // 3) and all(
        len(value) <= _LABEL_CHARS for value in counts
    )


def _labels(table: Table, asked: Sequence[str], gold: str, scorer: str) -> list[str]:
    """The labels to choose from, in order; empty where the task is none of choosing, or names them already."""
    if table.wishes.scorer or not _is_label(table, gold):
        return []
    called = any(name == gold and _LABELS.fullmatch(folded) for folded, name in table.folded().items())
    if scorer != "exact" and not called:
        return []
    texts = [str(table.value(row, asked[-1])) for row in table.sample]
    labels = sorted({str(value) for value in table.values(gold)})
    if not called and median(len(text.split()) for text in texts) < 3:
        return []
    shown = sum(all(label in text for label in labels) for text in texts)
    return [] if shown * 2 > len(texts) else labels


def _template(table: Table, asked: Sequence[str], pictures: Mapping[str, str]) -> str:
    """Several columns as one input; empty where one is enough."""
    if table.wished_input and len(asked) == 1:
        return ""
    after = table.find(*_OPTIONS)
    columns = [name for name in (*asked, *([after] if after else [])) if name not in pictures]
    if len(columns) < 2 or any("{" in name or "}" in name for name in columns):
        return ""
    named = (len(asked) > 1 and not table.wished_input and table.find(*CONTEXT) != asked[0]) or "hypothesis" in asked
    if named:
        return "\n\n".join(f"{name.capitalize()}: {{{name}}}" for name in columns)
    return "\n\n".join(f"{{{name}}}" for name in columns)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _chosen(pictures: Mapping[str, str], folder: Path) -> tuple[str | None, list[str]]:
    """The column of pictures, if there is one, and what is doubtful about the choice. Paths have to lead to a file:
    they may be about something else."""
    found = [column for column, value in pictures.items() if _is_there(value, folder)]
    if found:
        rest = ", ".join(map(repr, found[1:]))
        more = [f"{rest} may be pictures too; env.fields.images names one column, {found[0]!r}"] if rest else []
        return found[0], more
    return None, [
        f"the values of {column!r} look like pictures, but {value[:80]!r} is not there: if tasks need them, "
        f"put them there and set env.fields.images: {column}"
        for column, value in pictures.items()
    ]


def _is_there(picture: str, folder: Path) -> bool:
    return is_web(picture) or picture.lower().startswith("data:") or os.path.isfile(folder / picture)
