"""Multiple choice: options in one column, in a column each, or apart from the right one."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from etude.cli.scaffold.forms.made import MadeTasks, built, task
from etude.cli.scaffold.table import GOLD, Table, Unclear, as_text, fold_name, listed, mapped
from etude.envs.files import Row
from etude.envs.splits import fold
from etude.errors import DataError
from etude.records import canonical, digest

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FEW = 5
"""Fewer rows than this can have the right option in the same place by chance."""

_SHUFFLED = (
    "the right option is always in the same place in the data: the options were put in another order, which stays "
    "the same for each task"
)
_LISTS = ("choices", "options", "endings", "answer_choices", "candidates", "possible_answers", "alternatives")
_GOLD = (
    *("answerkey", "answer_key", "correct_choice", "correct_option", "correct_answer", "answer_index", "answer_idx"),
    *("answer_letter", "answer", "label", "gold", "gold_index", "target", "correct", "cop", "solution", "key"),
)
_FAMILY = re.compile(r"(option|opt|op|choice|answer|ending|sol|alternative|)_?([a-j]|\d)")
_WRONG = re.compile(r"(incorrect|wrong)_(answer|option|choice)_?\d*|distractor_?\d*")
_BEFORE = re.compile(r"\s*\(?([A-Z])\s?[).:]\s*")


@dataclass(frozen=True)
class Options:
    """What there is to choose from in one row."""

    labels: tuple[str, ...]
    """As in the data; empty where the options have none."""
    texts: tuple[str, ...]
    right: int | None = None
    """The place of the right one, where the form of the data says it."""


@dataclass(frozen=True)
class _Found:
    """Where the options of a table are."""

    read: Callable[[Row], Options | None]
    columns: frozenset[str]
    ordered: bool = False
    """The right one is always in the same place."""


def fits(table: Table) -> bool:
    """Whether the rows have options."""
    return _where(table) is not None


def tasks(table: Table) -> MadeTasks:
    """Question and lettered options; the gold is a letter."""
    found = _where(table)
    assert found is not None
    if not table.question:
        raise Unclear(
            f"the rows have options, and no column looks like the question; columns: {table.columns}",
            "--input",
            [name for name in table.names if name not in found.columns],
        )
    given, how = [_read(found, row) for row in table.rows], ""
    if any(options.right is None for options in given):
        given, how = _with_gold(table, given, found)
    shuffle = found.ordered or (len({options.right for options in given}) == 1 and len(given) >= FEW)
    made = [_task(table, row, options, shuffle) for row, options in zip(table.rows, given, strict=True)]
    what = f"multiple choice: {' and '.join(table.question)}, with lettered options{how}"
    return built(what, made, ("choice", "the answer is a letter"), notes=[_SHUFFLED] if shuffle else [])


def _where(table: Table) -> _Found | None:
    """Where the options are; None: there are none."""
    return _targets(table) or _apart(table) or _in_list(table) or _in_columns(table)


def _task(table: Table, row: Row, options: Options, shuffle: bool) -> Row:
    asked = table.asked(row, table.question)
    order = list(range(len(options.texts)))
    if shuffle:
        random.Random(digest([asked, sorted(options.texts)])).shuffle(order)
    lines = [f"({LETTERS[at]}) {' '.join(options.texts[place].split())}" for at, place in enumerate(order)]
    gold = LETTERS[order.index(0 if options.right is None else options.right)]
    return task(table, row, asked + "\n\n" + "\n".join(lines), gold)


def _read(found: _Found, row: Row) -> Options:
    options = found.read(row)
    if options is None or not 2 <= len(options.texts) <= len(LETTERS):
        columns = ", ".join(repr(name) for name in sorted(found.columns) if name)
        raise DataError(
            f"{row.place}: no list of at least two options in {columns}; other rows have one",
            hint="remove the row, or write its options like the others",
        )
    return options


def _targets(table: Table) -> _Found | None:
    """`{"choices": [...], "labels": [1, 0, 0]}`, as TruthfulQA writes it."""
    column = table.find("mc1_targets")
    return (column and _Found(lambda row: _marked(table.value(row, column)), frozenset({column}), True)) or None


def _marked(value: JsonValue) -> Options | None:
    marks = mapped(value) or {}
    texts, labels = marks.get("choices"), marks.get("labels")
    if not isinstance(texts, list) or not isinstance(labels, list) or labels.count(1) != 1:
        return None
    return Options((), tuple(map(_text, texts)), labels.index(1))


def _apart(table: Table) -> _Found | None:
    """The right option in one column, wrong ones in others, as in GPQA and SciQ."""
    right = table.find("correct_answer", "right_answer", "correct_option", "correct_choice", "answer")
    wrong = [column for name, column in table.folded.items() if _WRONG.fullmatch(name)]
    if right is None or not wrong or any(isinstance(value, list) for value in table.values(wrong[0])):
        return None
    if table.find("best_answer") is not None:
        return None

    def read(row: Row) -> Options:
        texts = [_text(table.value(row, column)) for column in (right, *wrong)]
        if not texts[0]:
            raise DataError(f"{row.place}: {right!r} is empty", hint="remove the row, or write its right answer")
        return Options((), tuple(text for text in texts if text), 0)

    return _Found(read, frozenset({right, *wrong}), True)


def _in_list(table: Table) -> _Found | None:
    column = table.find(*_LISTS)
    if column is None or column in table.question or options_of(table.value(table.rows[0], column)) is None:
        return None
    return _Found(lambda row: options_of(table.value(row, column)), frozenset({column}))


def options_of(value: JsonValue) -> Options | None:
    """The options that a cell holds: texts, `{label, text}` objects, two lists side by side, letters to texts, or
    one of these written as text."""
    if (items := listed(value)) is not None:
        objects = [item for item in items if isinstance(item, dict)]
        if not objects:
            return _without_letters([_text(item) for item in items])
        pairs = [(_first(item, "label", "key", "id", "letter"), _first(item, "text", "content")) for item in objects]
        if len(objects) < len(items) or any(text is None for _, text in pairs):
            return None
        labels = tuple(_text(label) for label, _ in pairs if label is not None)
        return Options(labels if len(labels) == len(items) else (), tuple(_text(text) for _, text in pairs))
    named = mapped(value)
    if named is None:
        return None
    texts, labels = named.get("text"), named.get("label")
    if isinstance(texts, list):
        known = labels if isinstance(labels, list) and len(labels) == len(texts) else []
        return Options(tuple(map(_text, known)), tuple(map(_text, texts)))
    if len(named) > 1 and all(re.fullmatch(r"[A-Za-z]|\d{1,2}", key) for key in named):
        filled = {key: _text(text) for key, text in named.items() if text is not None}
        return Options(tuple(filled), tuple(filled.values()))
    return None


def _without_letters(texts: Sequence[str]) -> Options:
    """Options that bring letters along (`"A) red"`) lose them: the task has its own."""
    matches = [_BEFORE.match(text) for text in texts]
    letters = "".join(match[1] for match in matches if match is not None)
    if len(letters) == len(texts) and LETTERS.startswith(letters):
        return Options(tuple(letters), tuple(_BEFORE.sub("", text, count=1).strip() for text in texts))
    return Options((), tuple(texts))


def _in_columns(table: Table) -> _Found | None:
    """A column for each option: `A`, `B`, `C`; `option1`, `option2`; `ending0`, `ending1`."""
    families: dict[str, list[tuple[str, str]]] = {}
    for name, column in table.folded.items():
        held = fold_name(column.partition(".")[0]) in GOLD and "." in column
        if (match := _FAMILY.fullmatch(name)) and (match[1] or match[2].isalpha()) and not held:
            families.setdefault(match[1], []).append((match[2].upper(), column))
    for family in families.values():
        labels = "".join(sorted(label for label, _ in family))
        if len(labels) > 1 and any(labels in run for run in (LETTERS, "0123456789")) and labels[0] in "A01":
            columns = dict(sorted(family))
            if len(_filled(table, table.rows[0], columns).texts) < 2:
                continue
            return _Found(lambda row, columns=columns: _filled(table, row, columns), frozenset(columns.values()))
    return None


def _filled(table: Table, row: Row, columns: dict[str, str]) -> Options:
    texts = {label: _text(table.value(row, column)) for label, column in columns.items()}
    return Options(
        tuple(label for label, text in texts.items() if text), tuple(text for text in texts.values() if text)
    )


def _with_gold(table: Table, given: Sequence[Options], found: _Found) -> tuple[list[Options], str]:
    """The options of each row with the place of the right one, and how the data say it. Raises DataError: some do not
    say it; Unclear: no column is known to, or numbers can be counted from 0 or from 1."""
    columns = (*_GOLD, *(("output",) if table.find("output") else ()))
    column = table.wished_gold or next(
        (named for name in columns if (named := table.find(name)) and named not in found.columns), None
    )
    if column is None:
        rest = [name for name in table.names if name not in (*found.columns, *table.question)]
        raise Unclear(f"which column says the right option? columns: {table.columns}", "--gold", rest)
    golds = [table.value(row, column) for row in table.rows]
    if any(isinstance(gold, dict) for gold in golds):
        return [_joined(*each) for each in zip(given, golds, table.rows, strict=True)], ""
    readings = {
        how: [read(_text(gold), options) for gold, options in zip(golds, given, strict=True)]
        for how, read in _READINGS.items()
        if table.how not in ("0", "1") or how.endswith(table.how)
    }
    fits = [how for how, places in readings.items() if None not in places]
    if fits[:2] == [*_READINGS][2:]:
        raise Unclear(
            f"{column!r} numbers the right option, and nothing tells whether the first one is 0 or 1",
            "--gold",
            [f"{column}[0]", f"{column}[1]"],
        )
    best = fits[0] if fits else min(readings, key=lambda how: readings[how].count(None))
    if None in readings[best]:
        at = readings[best].index(None)
        texts, place = "; ".join(text[:30] for text in given[at].texts[:3]), table.rows[at].place
        raise DataError(
            f"{place}: {column} = {canonical(golds[at])[:80]} is neither label, number nor text of one of the "
            f"{len(given[at].texts)} options ({texts})",
            hint="correct the row, or name the column with the right option: --gold COLUMN",
        )
    placed = [replace(options, right=place) for options, place in zip(given, readings[best], strict=True)]
    return placed, f", the right one {best} in {column}"


def _by_label(gold: str, options: Options) -> int | None:
    labels = options.labels or LETTERS[: len(options.texts)]
    return _at(gold.strip("(). ").upper(), [label.upper() for label in labels])


_READINGS: Mapping[str, Callable[[str, Options], int | None]] = {
    "by label": _by_label,
    "by text": lambda gold, options: _at(fold(gold), [fold(text) for text in options.texts]),
    "by number from 0": lambda gold, options: _at(gold, [str(at) for at in range(len(options.texts))]),
    "by number from 1": lambda gold, options: _at(gold, [str(at + 1) for at in range(len(options.texts))]),
}
"""How data say which option is right, the surest first."""


def _joined(options: Options, gold: JsonValue, row: Row) -> Options:
    """The right option, written apart as `{label, text}`, among the others."""
    text = _first(gold, "text", "content") if isinstance(gold, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{row.place}: the right option has no text: {canonical(gold)[:80]}", hint="correct the row")
    if text in options.texts:
        return replace(options, right=options.texts.index(text))
    return Options((), (text, *options.texts), 0)


def _at(value: str, among: Sequence[str]) -> int | None:
    return among.index(value) if value and list(among).count(value) == 1 else None


def _first(value: dict[str, JsonValue], *keys: str) -> JsonValue:
    folded = {fold_name(key): item for key, item in value.items()}
    return next((folded[key] for key in keys if key in folded), None)


def _text(value: JsonValue) -> str:
    return as_text(value).strip()
