"""Rows by what their columns are called, and what the user said about them."""

import ast
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import cast

from pydantic import JsonValue

from etude.envs.files import Row
from etude.envs.images import is_web
from etude.errors import DataError
from etude.records import canonical

SAMPLE = 1000
"""Rows that are looked at to learn what the columns are."""

CONTEXT = ("context", "passage", "document", "article", "premise", "background", "paragraph", "story", "text")
INPUT = (
    *("input", "question", "prompt", "task", "query", "instruction", "problem", "question_stem", "stem", "ctx"),
    *("text", "sentence", "user", "goal", "statement", "claim", "mail", "email", "message", "body", "review"),
    *("comment", "tweet", "utterance", "content", "description", "request", "q"),
)
GOLD = (
    *("gold", "answer", "answers", "target", "expected", "label", "output", "solution", "response", "completion"),
    *("reference", "ground_truth", "correct_answer", "correct", "best_answer", "expected_output", "summary", "a"),
)
TYPE = ("type", "task_type", "category", "kind", "subject", "topic")
ID = ("id", "task_id", "uid", "qid", "question_id", "example_id")
GROUP = ("group", "group_id")
LABELS = re.compile(
    r"(.*_)?(label|category|class|intent|sentiment|topic|department|queue|priority|team|tag|stars|rating)(_.*)?"
)
"""Columns of what a text is sorted into."""
RUBRIC = ("rubric", "rubrics", "criteria", "criterion", "expectations", "grading", "grading_criteria", "checklist")
UNNAMED = "column {}"
"""What a column is called that has no name, by its number."""
_PAIRS = (
    *(("premise", "hypothesis"), ("sentence1", "sentence2"), ("question1", "question2"), ("text1", "text2")),
    ("instruction", "input"),
)
_ID = re.compile(r"(.+_)?(u?id|uuid|guid)|ticket(_(no|nr|number))?")
_ID_WORDS = 2
"""Words; a name has no more."""
_HOW = re.compile(r"(.+)\[([|;01])\]")

_PICTURE = re.compile(r"data:image/.*|.+\.(?:png|jpe?g|gif|webp)(?:\?.*)?", re.IGNORECASE | re.DOTALL)


class NothingAsked(DataError):
    """A row without what is asked.

    Args:
        columns: where it would stand.
    """

    def __init__(self, row: Row, columns: Sequence[str]) -> None:
        super().__init__(
            f"{row.place}: nothing is asked: {' and '.join(map(repr, columns))} is empty",
            hint="remove the row, or name the column with --input",
        )
        self.columns = columns


class Unclear(DataError):
    """Something that one answer settles: the value of an option of `init`.

    Args:
        option: the option of `init`.
        answers: values that it can have.
    """

    def __init__(self, message: str, option: str, answers: Sequence[str]) -> None:
        example = answers[0] if answers else "COLUMN"
        shown = example if re.fullmatch(r"[\w.,-]+", example) else f"'{example}'"
        hint = f"say it with {option}, as in `{option} {shown}`"
        if option == "--gold":
            hint += "; where there are no right answers, --rubric TEXT has a model judge"
        super().__init__(message, hint=hint)
        self.option = option
        columns = "Which column is the right answer?" if option == "--gold" else "Which column is what is asked?"
        self.question = "Which one is it?" if _HOW.fullmatch(example) else columns
        self.answers = tuple(answers)


@dataclass(frozen=True)
class Wishes:
    """What the user said about the data."""

    input: tuple[str, ...] = ()
    gold: str = ""
    scorer: str = ""
    rubric: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Label that occurs once to the one that is meant; empty for none."""


class Table:
    """Rows, and which of their columns is what; paths of pictures count from `folder`.
    Raises DataError: a column that the user named does not exist."""

    def __init__(self, rows: Sequence[Row], wishes: Wishes | None = None, folder: Path = Path()) -> None:
        self.rows = rows
        self.folder = folder
        self.wishes = wishes or Wishes()
        self.sample = rows[:SAMPLE]
        self.used: set[str] = set()
        """Columns that went into tasks."""
        self.names = list(dict.fromkeys(name for row in self.sample for name in row.columns))
        gold, self.how = self.wishes.gold, ""
        if gold and gold not in self.folded and (match := _HOW.fullmatch(gold)):
            gold, self.how = match[1], match[2]
        self.wished_gold = self.named(gold, "--gold") if gold else None
        self.wished_input = tuple(self.named(name, "--input") for name in self.wishes.input)

    @cached_property
    def folded(self) -> Mapping[str, str]:
        """Column by its name in lower case with underscores, also those inside objects."""
        known: dict[str, str] = {}
        for name in self.names:
            known.setdefault(fold_name(name), name)
        for row in self.sample[:20]:
            for name, value in row.columns.items():
                for key in value if isinstance(value, dict) else ():
                    known.setdefault(fold_name(key), f"{name}.{key}")
        return known

    @cached_property
    def columns(self) -> str:
        """The names of all columns, for messages."""
        return ", ".join(map(repr, self.names))

    @cached_property
    def question(self) -> tuple[str, ...]:
        """The columns with what is asked, without those of options; empty when none looks like it."""
        if self.wished_input:
            return self.wished_input
        for pair in _PAIRS:
            found = tuple(self.find(name) for name in pair)
            if None not in found:
                return cast(tuple[str, ...], found)
        asked = self.find(*INPUT)
        outer = "" if asked is None else asked.rpartition(".")[0]
        # Inside of an object a name such as `text` says what that object is made of, as in `choices.text`.
        around = (self.find(name) for name in CONTEXT)
        before = next((one for one in around if one is not None and one.rpartition(".")[0] in ("", outer)), None)
        if asked is None:
            return () if before is None else (before,)
        if before is not None and first_picture(self.values(before)):
            before = None
        return (before, asked) if before is not None and before != asked else (asked,)

    @cached_property
    def rubric_column(self) -> str | None:
        """The column that says what makes an answer good: the one the user named, else by its name."""
        named = self.wishes.rubric
        return self.folded.get(fold_name(named)) if named else self.find(*RUBRIC)

    @property
    def judged(self) -> bool:
        """Whether a model is to judge answers by a rubric."""
        has = bool(self.wishes.rubric) or self.rubric_column is not None
        return has and self.wishes.scorer in ("", "rubric")

    @cached_property
    def kept(self) -> Mapping[str, str]:
        """Field to column of what a built task keeps as it is."""
        return self.besides({*self.question, *((self.wished_gold,) if self.wished_gold else ())})

    def besides(self, used: set[str]) -> dict[str, str]:
        """Field to column of what else belongs to a task: id, type, group, pictures that are there. Columns in `used`
        are something else."""
        found: dict[str, str] = {}
        for part, names in (("id", ID), ("type", TYPE), ("group", GROUP)):
            column = self.id_column() if part == "id" else self.find(*names)
            if column is not None and column not in {*used, *found.values()} and self.is_plain(column):
                found[part] = column
        there = next((name for name, value in self.pictures(used).items() if self.is_there(value)), None)
        return found | ({} if there is None else {"images": there})

    def pictures(self, used: set[str]) -> dict[str, str]:
        """Columns whose values look like pictures, with the first value of each."""
        return {
            column: value
            for column in self.folded.values()
            if column not in used and (value := first_picture(self.values(column)))
        }

    def is_there(self, picture: str) -> bool:
        """Whether a picture can be read: a path may be about something else."""
        return is_web(picture) or picture.lower().startswith("data:") or os.path.isfile(self.folder / picture)

    def id_column(self) -> str | None:
        """The column with a name for each task: called so, and different in every row."""
        named = [self.folded[name] for name in ID if name in self.folded]
        named += [column for name, column in self.folded.items() if _ID.fullmatch(name)]
        for column in dict.fromkeys(named):
            values = [self._at(row, column) for row in self.rows]
            if fold_name(column) not in ID and median(len(str(value).split()) for value in values) > _ID_WORDS:
                continue  # tickets may be what is asked
            plain = all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
            if plain and len({str(value) for value in values}) == len(values) and "" not in values:
                return column
        return None

    def find(self, *names: str) -> str | None:
        """The column with the first of these names that there is; case, spaces and underscores do not count."""
        return next((self.folded[name] for name in names if name in self.folded), None)

    def gold(self, *names: str) -> str | None:
        """The column with the right answers: the one the user named, else by these names."""
        return self.wished_gold or self.find(*names)

    def values(self, column: str) -> list[JsonValue]:
        """The values of a column in the rows that are looked at."""
        return [self._at(row, column) for row in self.sample]

    def value(self, row: Row, column: str) -> JsonValue:
        """The value of a column, or of a key in one, as in `mcq.question`."""
        self.used.add(column if column in row.columns else column.partition(".")[0])
        return self._at(row, column)

    def _at(self, row: Row, column: str) -> JsonValue:
        if column in row.columns:
            return row.columns[column]
        name, _, key = column.partition(".")
        outer = row.columns.get(name)
        return outer.get(key) if isinstance(outer, dict) else None

    def asked(self, row: Row, columns: Sequence[str]) -> str:
        """What these columns of a row ask. Raises NothingAsked."""
        asked = "\n\n".join(text for column in columns if (text := as_text(self.value(row, column))).strip())
        if not asked:
            raise NothingAsked(row, columns)
        return asked

    def filled(self, columns: Sequence[str]) -> tuple["Table", list[Row]]:
        """The rows in which one of these columns holds anything, and the others."""
        empty = [row for row in self.rows if not any(as_text(self._at(row, column)).strip() for column in columns)]
        places = {row.place for row in empty}
        return self.with_rows([row for row in self.rows if row.place not in places]), empty

    def with_rows(self, rows: Sequence[Row]) -> "Table":
        """The same with other rows, and one account of the columns that are used."""
        other = Table(rows, self.wishes, self.folder)
        other.used = self.used
        return other

    def named(self, name: str, option: str) -> str:
        """The column that the user names with an option. Raises DataError: there is none."""
        inner = name.partition(".")[0] in self.names and "." in name
        found = name if name in self.names or inner else self.folded.get(fold_name(name))
        if found is None:
            hint = "name one of them" + ", or give shares, as in --split 4,3,3" * (option == "--split")
            raise DataError(f"{option} {name!r} is not a column; columns: {self.columns}", hint=hint)
        return found

    def is_plain(self, column: str) -> bool:
        """Whether a column holds texts and whole numbers only."""
        return all(
            value is None or (isinstance(value, str | int) and not isinstance(value, bool))
            for value in self.values(column)
        )


def is_known(name: str) -> bool:
    """Whether columns are called so."""
    folded = fold_name(name)
    known = (CONTEXT, INPUT, GOLD, TYPE, ID, GROUP, RUBRIC, ("split", "fold"))
    return any(folded in names for names in known) or bool(LABELS.fullmatch(folded) or _ID.fullmatch(folded))


def fold_name(name: str) -> str:
    """A column name without differences in case, spaces and signs between words, as in `expectedBehavior`."""
    return re.sub(r"[\s_-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name).casefold()).strip("_")


def as_text(value: JsonValue) -> str:
    """Text to read: a list has a paragraph for each item."""
    if isinstance(value, list):
        return "\n\n".join(map(as_text, value))
    return value if isinstance(value, str) else "" if value is None else canonical(value)


def listed(value: JsonValue) -> list[JsonValue] | None:
    """A list, also one that is written as text (`"['a', 'b']"` or JSON, or as numpy prints it); else None."""
    return cast("list[JsonValue] | None", _held(value, list, "[]"))


def mapped(value: JsonValue) -> dict[str, JsonValue] | None:
    """An object, also one that is written as text; else None."""
    return cast("dict[str, JsonValue] | None", _held(value, dict, "{}"))


def _held(value: JsonValue, kind: type, ends: str) -> object:
    if isinstance(value, kind):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if not text or text[0] != ends[0] or text[-1] != ends[1]:
        return None
    text = re.sub(r"\barray\((\[.*?\])(?:,\s*dtype=\w+)?\)", r"\1", text, flags=re.DOTALL)
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            found = read(text)
            json.dumps(found)
            if isinstance(found, kind):
                return found
    return None


def first_picture(values: Sequence[JsonValue]) -> str:
    """The first value, if every one is a path or an address of a picture, or a list of them, or nothing."""
    found: list[JsonValue] = []
    for value in values:
        found += value if isinstance(value, list) else [value]
    named = [value for value in found if value not in (None, "")]
    texts = [value for value in named if isinstance(value, str) and _PICTURE.fullmatch(value)]
    return texts[0] if texts and len(texts) == len(named) else ""
