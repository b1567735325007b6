"""Tasks whose answers a model judges: by a rubric that the user gave, or that stands in a column."""

from pydantic import JsonValue

from etude.cli.scaffold.forms.chat import column_of, rows_of
from etude.cli.scaffold.forms.made import MadeTasks, built, said, task
from etude.cli.scaffold.table import GOLD, Table, Unclear, as_text, listed
from etude.envs.files import Row
from etude.errors import DataError
from etude.records import canonical

_WHY = ("rubric", "no comparison decides it: a model judges")
_REFERENCE = ("reference", "reference_answer", "expected_output", "gold", "answer", "output", "ideal")


def fits(table: Table) -> bool:
    """There is a rubric, and no other scorer is wished."""
    return table.judged


def tasks(table: Table) -> MadeTasks:
    """What is asked, with a reference where there is one. Raises Unclear: no column can be what is asked."""
    column, chat = table.rubric_column, column_of(table)
    if chat is not None:
        what, rows = f"what was said in {chat}", rows_of(table, chat)
    elif not table.question:
        raise Unclear(f"which column is the prompt? columns: {table.columns}", "--input", table.names)
    else:
        what, right = " and ".join(table.question), table.gold(*(GOLD if column is None else _REFERENCE))
        golds = [None if right is None else table.value(row, right) for row in table.rows]
        asked = [table.asked(row, table.question) for row in table.rows]
        rows = [task(table, *each) for each in zip(table.rows, asked, golds, strict=True)]
    if column is None:
        return built(f"{what}, judged by the rubric given", rows, _WHY, {"rubric": table.wishes.rubric})
    rubrics = [_rubric(table.value(row, column)) for row in table.rows]
    for row, text in zip(rows, rubrics, strict=True):
        if not text:
            raise DataError(f"{row.place}: {column!r} is empty", hint="remove the row, or write its rubric")
    rows = [Row(row.place, {**row.columns, "rubric": text}) for row, text in zip(rows, rubrics, strict=True)]
    return built(f"{what}, judged by {column}", rows, _WHY, {"column": "rubric"})


def _rubric(value: JsonValue) -> str:
    """A rubric as text: a list becomes a line for each criterion, with its points."""
    items = listed(value)
    if items is None:
        return as_text(value).strip()
    lines: list[str] = []
    for item in items:
        points = item.get("points", item.get("weight")) if isinstance(item, dict) else None
        lines.append(f"- {said(item) or canonical(item)}" + ("" if points is None else f" ({points} points)"))
    return "\n".join(lines)
