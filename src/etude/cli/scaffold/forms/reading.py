"""Questions with several right answers, with pages to read, or with yes and no."""

from collections.abc import Sequence

from pydantic import JsonValue

from etude.cli.scaffold.forms.built_tasks import BuiltTasks, task
from etude.cli.scaffold.forms.table import GOLD, Table, Unclear, listed, mapped
from etude.envs.files import Row
from etude.errors import DataError
from etude.records import canonical

UNANSWERABLE = "unanswerable"
_SHORT_WORDS = 6
_EVERY_FIFTH = 5


def several_answers(table: Table) -> BuiltTasks | None:
    """Answers as SQuAD, TriviaQA and DROP nest them, lists written as text, and pages written as objects."""
    column = table.gold("answers_spans", "answers", "answer", *GOLD)
    if column is None or not table.question:
        return None
    golds = [table.value(row, column) for row in table.rows]
    nested = all(_nested(gold) is not None for gold in golds)
    as_text = all(isinstance(gold, str) and listed(gold) is not None for gold in golds)
    pages = [name for name in table.question if any(isinstance(each, dict | list) for each in table.values(name))]
    if not nested and not as_text and not pages:
        return None
    found = [_answers(gold) for gold in golds]
    none = sum(answers == [] for answers in found)
    extra = f'\n\nIf the text does not tell, answer "{UNANSWERABLE}".' if none else ""
    rows: list[Row] = []
    for row, answers in zip(table.rows, found, strict=True):
        if answers is None:
            raise DataError(
                f"{row.place}: {column} = {canonical(table.value(row, column))[:80]}: no answers are found in it",
                hint="correct the row, or name the column with the right answers: --gold COLUMN",
            )
        gold: JsonValue = answers if len(answers) > 1 else answers[0] if answers else UNANSWERABLE
        rows.append(task(table, row, table.asked(row) + extra, gold))
    notes = [f"{none} of {len(rows)} questions have no answer: {UNANSWERABLE!r} is right there"] if none else []
    what = f"{' and '.join(table.question)}; any of the answers in {column} is right"
    if table.find("image", "image_path", "docid", "questionid") and as_text:
        return BuiltTasks(what, rows, "anls", "answers read from a page: slips of reading lose little", notes=notes)
    return BuiltTasks(what, rows, "f1", "short answers in words: exact match after SQuAD normalisation", notes=notes)


def yes_or_no(table: Table) -> BuiltTasks | None:
    """True and false as the answer to a question: yes and no."""
    column = table.gold(*GOLD)
    if column is None or not table.question:
        return None
    golds = [table.value(row, column) for row in table.rows]
    if not all(isinstance(gold, bool) for gold in golds):
        return None
    words = ("yes", "no") if "question" in table.question[-1].casefold() else ("true", "false")
    rows = [
        task(table, row, f"{table.asked(row)}\n\nAnswer with {' or '.join(words)}.", words[0] if gold else words[1])
        for row, gold in zip(table.rows, golds, strict=True)
    ]
    what = f"{' and '.join(table.question)}; {column}: {' or '.join(words)}"
    return BuiltTasks(what, rows, "exact", f"the answer is {' or '.join(words)}")


def split_cells(table: Table) -> BuiltTasks | None:
    """Several right answers in one text cell, where the user says so. Raises Unclear: it looks like it, and the user
    has said nothing."""
    column = table.gold(*GOLD)
    if column is None or not table.question:
        return None
    golds = [gold for gold in table.values(column) if isinstance(gold, str)]
    if table.how not in ("|", ";"):
        if table.wished_gold is None and len(golds) == len(table.sample):
            for sign in ("|", ";"):
                _ask_if_split(column, golds, sign)
        return None
    rows: list[Row] = []
    for row in table.rows:
        cell = table.value(row, column)
        parts = [part.strip() for part in str(cell).split(table.how) if part.strip()]
        rows.append(task(table, row, table.asked(row), list[JsonValue](parts)))
    what = f"{' and '.join(table.question)}; answers in {column}, separated by {table.how!r}, any is right"
    return BuiltTasks(what, rows, "exact", "gold answers are short texts")


def _ask_if_split(column: str, golds: Sequence[str], sign: str) -> None:
    parts = {gold: [part.strip() for part in gold.split(sign)] for gold in golds}
    several = [gold for gold in golds if len(parts[gold]) > 1]
    short = all(0 < len(part.split()) <= _SHORT_WORDS for gold in several for part in parts[gold])
    if several and short and len(several) * _EVERY_FIFTH >= len(golds):
        raise Unclear(
            f"gold answers such as {several[0][:60]!r}: several right answers separated by {sign!r}, or one text?",
            "--gold",
            [f"{column}[{sign}]", column],
        )


def _nested(gold: JsonValue) -> list[JsonValue] | None:
    """The answers in an object that has them side by side."""
    found = mapped(gold)
    if found is None:
        return None
    if isinstance(found.get("value"), str):
        aliases = found.get("aliases")
        return [found["value"], *(aliases if isinstance(aliases, list) else [])]
    return next(
        (listed(found[key]) for key in ("text", "spans", "answers") if listed(found.get(key)) is not None), None
    )


def _answers(gold: JsonValue) -> list[JsonValue] | None:
    """Right answers, each once, of any of these nestings. None: there is nothing that could be one."""
    found = _nested(gold)
    if found is None:
        found = listed(gold)
    if found is None:
        found = [gold] if isinstance(gold, str | int | float) and not isinstance(gold, bool) else None
    if found is None:
        return None
    texts = [_answer(each) for each in found]
    if any(text is None for text in texts):
        return None
    return list(dict.fromkeys(text for text in texts if text))


def _answer(value: JsonValue) -> str | None:
    if isinstance(value, dict):
        value = value.get("text", value.get("answer"))
    if isinstance(value, str):
        return value.strip()
    return canonical(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
