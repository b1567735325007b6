"""What the columns of a dataset mean, and which scorer fits its gold answers: guesses that a person can correct."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from pydantic import JsonValue

from etude.cli.parsing.arguments import DEFAULT_CONFIG
from etude.envs.files import Row
from etude.envs.images import is_web
from etude.envs.rows import GUESSES
from etude.envs.scorers.numeric import read_number
from etude.envs.splits import fold
from etude.errors import DataError
from etude.records import Metric

SAMPLE = 1000
"""Rows that are looked at."""
LONG_WORDS = 8
"""Gold answers of this many words and more, in sentences, are compared by overlap."""

_MORE_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("uid", "qid", "question_id", "example_id"),
    "input": ("query", "instruction", "problem", "text", "sentence", "user"),
    "gold": (
        "output",
        "solution",
        "response",
        "completion",
        "reference",
        "ground_truth",
        "correct_answer",
        "correct",
    ),
    "type": ("kind", "subject", "topic"),
    "group": ("group_id",),
}
_CONTEXT = ("context", "passage", "document", "article")
_OPTIONS = ("choices", "options")
_PICTURE = re.compile(r"data:image/.*|.+\.(?:png|jpe?g|gif|webp)(?:\?.*)?", re.IGNORECASE | re.DOTALL)
_LETTER = re.compile(r"\(?[A-J]\)?\.?")
_NUMBER = re.compile(r"[-+]?\s?[$€£]?\s?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?\s?%?")
_SENTENCE = re.compile(r"[,.;:!?](?:\s|$)")


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


def guess_columns(rows: Sequence[Row], folder: Path = Path()) -> Columns:
    """Look at the first rows; paths of pictures count from `folder`.
    Raises DataError: no column can be the input, or none the gold answer."""
    sample = rows[:SAMPLE]
    names = list(sample[0].columns)
    folded = _by_folded_name(sample[0].columns)
    fields: dict[str, str] = {}
    for name in ("id", "input", "gold", "type", "group"):
        candidates = (*GUESSES[name], *_MORE_NAMES[name])
        found = next((folded[guess] for guess in candidates if guess in folded), None)
        if found is not None and found not in fields.values() and _usable(name, found, sample):
            fields[name] = found
    if "input" in fields and "gold" not in fields and len(names) == 2:
        fields["gold"] = next(name for name in names if name != fields["input"])
    for name in ("input", "gold"):
        if name not in fields:
            raise DataError(
                f"{sample[0].place}: no column looks like the {name} of a task; "
                f"columns: {', '.join(map(repr, names))}",
                hint=f"rename the column to {name!r}, or write {DEFAULT_CONFIG} by hand and name it in env.fields",
            )
    others = [column for column in folded.values() if column not in fields.values()]
    pictures = {column: value for column in others if (value := _first_picture(column, sample))}
    images, notes = _chosen(pictures, folder)
    if images is not None:
        fields["images"] = images
    template = _template(fields["input"], {name: column for name, column in folded.items() if column not in pictures})
    golds = [_value(row, fields["gold"]) for row in sample]
    scorer, why = guess_scorer([gold for gold in golds if gold is not None])
    if template:
        del fields["input"]
    return Columns(
        fields=fields,
        template=template,
        scorer=scorer,
        metric="soft" if scorer == "f1" else "hard",
        why=why,
        notes=notes,
    )


def guess_scorer(golds: Sequence[JsonValue]) -> tuple[str, str]:
    """(name of a scorer, what speaks for it)."""
    answers = [answer for gold in golds for answer in _alternatives(gold)]
    tests: tuple[tuple[str, Callable[[JsonValue], bool], str], ...] = (
        ("json", _is_object, "gold answers are objects"),
        ("numeric", _is_number, "gold answers are numbers"),
        ("numeric", _ends_in_number, "gold answers end in #### and a number"),
        ("choice", _is_letter, "gold answers are single letters"),
    )
    for name, test, why in tests:
        if answers and all(test(answer) for answer in answers):
            return name, why
    texts = [answer for answer in answers if isinstance(answer, str)]
    long = [text for text in texts if len(text.split()) >= LONG_WORDS and _SENTENCE.search(text)]
    if texts and median(len(text.split()) for text in texts) >= LONG_WORDS and len(long) * 2 > len(texts):
        return "f1", "gold answers are long texts"
    return "exact", "gold answers are short texts"


def _by_folded_name(columns: Mapping[str, JsonValue]) -> dict[str, str]:
    """Columns by name without case; then the keys of objects in them, as in `mcq.question`."""
    found: dict[str, str] = {}
    for name in columns:
        found.setdefault(fold(name), name)
    for name, value in columns.items():
        for key in value if isinstance(value, dict) else ():
            found.setdefault(fold(key), f"{name}.{key}")
    return found


def _value(row: Row, column: str) -> JsonValue:
    if column in row.columns:
        return row.columns[column]
    name, _, key = column.partition(".")
    outer = row.columns.get(name)
    return outer.get(key) if isinstance(outer, dict) else None


def _usable(name: str, column: str, sample: Sequence[Row]) -> bool:
    """A column called `type` or `group` may hold anything; so may one called `text`."""
    values = [_value(row, column) for row in sample]
    if name == "id":
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
    if name in ("type", "group"):
        return all(value is None or isinstance(value, str | int) for value in values)
    return name != "input" or not isinstance(values[0], dict | list)


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


def _first_picture(column: str, sample: Sequence[Row]) -> str:
    """The first value, if every one is a path or an address of a picture, or a list of them, or nothing."""
    found: list[JsonValue] = []
    for value in (_value(row, column) for row in sample):
        found += value if isinstance(value, list) else [value]
    named = [value for value in found if value not in (None, "")]
    texts = [value for value in named if isinstance(value, str) and _PICTURE.fullmatch(value)]
    return texts[0] if texts and len(texts) == len(named) else ""


def _is_there(picture: str, folder: Path) -> bool:
    return is_web(picture) or picture.lower().startswith("data:") or os.path.isfile(folder / picture)


def _template(column: str, folded: Mapping[str, str]) -> str:
    before = next((folded[name] for name in _CONTEXT if name in folded and folded[name] != column), None)
    after = next((folded[name] for name in _OPTIONS if name in folded), None)
    parts = [f"{{{name}}}" for name in (before, column, after) if name is not None]
    plain = all("{" not in name[1:-1] and "}" not in name[1:-1] for name in parts)
    return "\n\n".join(parts) if len(parts) > 1 and plain else ""


def _alternatives(gold: JsonValue) -> list[JsonValue]:
    """A list of texts is several answers that are equally right."""
    if isinstance(gold, list) and gold and all(isinstance(item, str | int | float) for item in gold):
        return gold
    return [gold]


def _is_object(value: JsonValue) -> bool:
    return isinstance(value, dict | list)


def _is_number(value: JsonValue) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return True
    return isinstance(value, str) and any(map(str.isdigit, value)) and bool(_NUMBER.fullmatch(value.strip()))


def _ends_in_number(value: JsonValue) -> bool:
    return isinstance(value, str) and "####" in value and read_number(value.rpartition("####")[2]) is not None


def _is_letter(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(_LETTER.fullmatch(value.strip()))
