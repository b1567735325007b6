"""Columns that are parts of tasks as they are: guesses that a person can correct."""

import re
from collections.abc import Mapping, Sequence
from statistics import median

from pydantic import JsonValue

from etude.cli.scaffold.forms.labels import (
    decided,
    extracted,
    is_label,
    joined_labels,
    labels_of,
    odd_labels,
    spellings,
)
from etude.cli.scaffold.forms.made import MadeTasks, built, task
from etude.cli.scaffold.scorers import ends_in_number, guess_scorer, is_number
from etude.cli.scaffold.table import CONTEXT, GOLD, UNNAMED, Table, Unclear, as_text, fold_name, listed
from etude.envs.files import Row
from etude.envs.rows import GUESSES
from etude.errors import DataError
from etude.records import canonical

_FEW_OTHERS = 5
_SHORT_WORDS = 6
_OPTIONS = ("choices", "options")
_COMMA = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*%?")
"""A number with a decimal comma."""


def fits(table: Table) -> bool:
    """Any table has columns."""
    return True


def tasks(table: Table) -> MadeTasks:
    """Which column is which field of a task. Rows stay as they are unless several right answers stand in a cell.
    Raises Unclear: no column can be the input, or none the gold answer."""
    asked = _asked(table)
    gold, notes = _gold(table, asked)
    said, table = spellings(table, gold), decided(table, gold)
    several = _several(table, gold)
    if several:
        rows = [
            task(table, row, table.asked(row, asked), found) for row, found in zip(table.rows, several, strict=True)
        ]
        what = f"{' and '.join(asked)}; any of the answers in {gold} is right"
        return built(what, rows, guess_scorer(several), notes=notes)
    return _as_they_are(table, asked, gold, (notes, said))


def _as_they_are(
    table: Table, asked: Sequence[str], gold: str, said: tuple[Sequence[str], Sequence[str]]
) -> MadeTasks:
    """`said`: notes on the column of right answers, and those on it if it has labels."""
    for row in table.rows:
        table.asked(row, asked)
    besides = table.besides({gold, *asked, *table.wished_input})
    pictures = table.pictures({gold, *asked, *table.wished_input})
    scorer, why = guess_scorer([value for value in table.values(gold) if value is not None])
    template, labels = _template(table, asked, set(pictures)), labels_of(table, asked, gold, scorer)
    notes = [*said[0], *([*said[1], *joined_labels(labels)] if labels else ())]
    odd = odd_labels(table, gold) if labels else []
    if scorer == "exact" and is_label(table, gold) and extracted(table, asked, gold):
        why = "answers stand in their own inputs, so they are compared and not chosen from labels"
    if labels:
        scorer, why = "exact", "the answer is one of the labels"
        whole = template or f"{{{asked[-1]}}}"
        signs = (", ", "; ", " | ", "\n")
        between = next(sign for sign in signs if not any(sign.strip(" ") in each for each in labels))
        template = f"{whole}\n\nAnswer with one of: {_escaped(between.join(labels))}"
    place = {} if template else {"input": asked[-1]}
    order = ("id", "input", "gold", "type", "group", "images")
    found = {**besides, **place, "gold": gold}
    fields = {name: found[name] for name in order if name in found}
    shown = (*fields.values(), *re.findall(r"{([^{}]+)}", template))
    table.used.clear()
    table.used.update(name for column in shown for name in (column, column.partition(".")[0]))
    more = [*notes, *_mixed(table, gold), *_doubtful_pictures(table, pictures)]
    # What only some rows have, as a context or a type, is empty in the others.
    blank = [{name: "" for name in shown if table.value(row, name) is None} for row in table.rows]
    rows = [Row(row.place, {**row.columns, **lacks}) for row, lacks in zip(table.rows, blank, strict=True)]
    if "id" not in fields and (names := [name for name in table.names if fold_name(name) in GUESSES["id"]]):
        # They would be read as ids, and are not different.
        rows = [Row(row.place, {key: row.columns[key] for key in row.columns if key not in names}) for row in rows]
        more.append(f"{names[0]!r} has a value more than once, so it is no id of tasks")
    return MadeTasks(rows, fields, scorer, why, template=template, notes=more, labels=labels, odd=odd)


def _asked(table: Table) -> tuple[str, ...]:
    """The columns of what is asked. Raises Unclear: none looks like it."""
    rest = [name for name in table.names if name not in (table.wished_gold, table.id_column())]
    if table.question and not isinstance(table.value(table.sample[0], table.question[-1]), dict | list):
        return table.question
    if len(rest) == 1:
        return (rest[0],)
    labels = [name for name in rest if is_label(table, name)]
    others = [name for name in rest if name not in labels]
    if len(others) == 1 and labels:
        return (others[0],)
    header = ""
    if any(map(_reads, table.names)) or UNNAMED.format(1) in table.names:
        header = " (does the file begin with a line of column names?)"
    raise Unclear(
        f"{table.sample[0].place}: no column looks like the input of a task; columns: {table.columns}{header}",
        "--input",
        # What is asked has most to read.
        sorted(others or rest, key=lambda name: -median(len(as_text(value)) for value in table.values(name))),
    )


def _gold(table: Table, asked: Sequence[str]) -> tuple[str, list[str]]:
    """The column of right answers, and what is doubtful about it. Raises Unclear: none looks like it."""
    named = table.gold(*GOLD)
    if named is not None and named not in asked:
        return named, []
    rest = [name for name in table.names if name not in asked and name != table.id_column()]
    if len(rest) == 1:
        return rest[0], []
    labels = [name for name in rest if is_label(table, name)]
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
    return "?" in name or len(name.split()) > 2


def _mixed(table: Table, gold: str) -> list[str]:
    """Gold answers of which nearly all are numbers, with one that is none."""
    others = [row for row in table.sample if not is_number(table.value(row, gold))]
    commas = [value for row in others if _COMMA.fullmatch(value := str(table.value(row, gold)).strip())]
    if commas and len(commas) == len(others):
        some = f"{len(commas)} gold answers have a decimal comma, as {commas[0]!r}"
        return [f"{some}, and are compared as texts: with a point they are numbers"]
    if not 0 < len(others) * _FEW_OTHERS <= len(table.sample) or ends_in_number(table.value(others[0], gold)):
        return []
    odd = str(table.value(others[0], gold))[:60]
    return [f"most gold answers are numbers, not all: {odd!r} at {others[0].place}; they are compared as texts"]


def _template(table: Table, asked: Sequence[str], pictures: set[str]) -> str:
    """Several columns as one input; empty where one is enough."""
    if table.wished_input and len(asked) == 1:
        return ""
    after = table.find(*_OPTIONS)
    columns = [name for name in (*asked, *([after] if after else [])) if name not in pictures]
    if len(columns) < 2 or any("{" in name or "}" in name for name in columns):
        return ""
    alike = len(asked) > 1 and not table.wished_input and table.find(*CONTEXT, "instruction") != asked[0]
    named = alike or "hypothesis" in asked
    if named:
        return "\n\n".join(f"{name.capitalize()}: {{{name}}}" for name in columns)
    return "\n\n".join(f"{{{name}}}" for name in columns)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _doubtful_pictures(table: Table, pictures: Mapping[str, str]) -> list[str]:
    there = [column for column, value in pictures.items() if table.is_there(value)]
    if there:
        rest = ", ".join(map(repr, there[1:]))
        return [f"{rest} may be pictures too; env.fields.images names one column, {there[0]!r}"] if rest else []
    return [
        f"the values of {column!r} look like pictures, but {value[:80]!r} is not there: if tasks need them, "
        f"put them there and set env.fields.images: {column}"
        for column, value in pictures.items()
    ]


def _several(table: Table, column: str) -> list[JsonValue]:
    """The right answers of each row, where a cell has several as text: a list, or parted by the sign that the user
    named. Empty where gold answers are taken as they are. Raises Unclear: a cell may have several."""
    golds = [table.value(row, column) for row in table.rows]
    if table.how in ("|", ";"):
        return [[part.strip() for part in str(gold).split(table.how) if part.strip()] for gold in golds]
    if all(isinstance(gold, str) and listed(gold) is not None for gold in golds):
        return [listed(gold) for gold in golds]
    if table.wished_gold is None:
        _ask_if_several(table, column)
    return []


def _ask_if_several(table: Table, column: str) -> None:
    """Raises Unclear: gold answers look like several in one."""
    golds = [gold for gold in table.values(column) if gold is not None]
    first = golds[0] if golds else None
    keys = [
        key for key in ("text", "spans", "answers", "value", "aliases") if isinstance(first, dict) and key in first
    ]
    if isinstance(first, dict) and keys and (isinstance(first[keys[0]], list) or "aliases" in first):
        raise Unclear(
            f"gold answers such as {canonical(first)[:60]}: which part holds the right answers?",
            "--gold",
            [*(f"{column}.{key}" for key in keys), column],
        )
    texts = [gold for gold in golds if isinstance(gold, str)]
    for sign in ("|", ";") if len(texts) == len(table.sample) else ():
        parts = {text: [part.strip() for part in text.split(sign)] for text in texts if sign in text}
        short = all(0 < len(part.split()) <= _SHORT_WORDS for each in parts.values() for part in each)
        if parts and short and sum(text in parts for text in texts) * _FEW_OTHERS >= len(texts):
            raise Unclear(
                f"gold answers such as {next(iter(parts))[:60]!r}: several right answers separated by {sign!r}, or "
                "one text?",
                "--gold",
                [f"{column}[{sign}]", column],
            )
