"""Data made for fine-tuning: chats and instructions. The last reply is what a good answer looks like."""

from collections.abc import Sequence

from pydantic import JsonValue

from etude.cli.scaffold.answers import guess_scorer
from etude.cli.scaffold.forms.built_tasks import BuiltTasks, task
from etude.cli.scaffold.forms.table import Table, listed
from etude.envs.files import Row
from etude.errors import DataError
from etude.records import Metric, canonical

_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant", "chatbot": "assistant"}


def conversations(table: Table) -> BuiltTasks | None:
    """`messages` with role and content, or `conversations` with from and value."""
    column = table.find("messages", "conversations", "conversation", "dialog", "chat")
    if column is None or turns(table.value(table.rows[0], column)) is None or table.wished_input:
        return None
    rows: list[Row] = []
    golds: list[JsonValue] = []
    for row in table.rows:
        said = turns(table.value(row, column))
        if not said:
            raise DataError(f"{row.place}: {column!r} is no list of messages with texts", hint="remove the row")
        if said[-1][0] == "assistant":
            gold: JsonValue = said[-1][1]
            said = said[:-1]
        else:
            gold = None
        if not any(role == "user" for role, _ in said):
            raise DataError(f"{row.place}: nobody asks anything in {column!r}", hint="remove the row")
        golds.append(gold)
        rows.append(task(table, row, transcript(said), gold))
    what = f"the last reply in {column} is the reference, what was said before is the task"
    if table.wishes.rubric:
        return _graded(what, rows, table)
    if any(gold is None for gold in golds):
        at = golds.index(None)
        raise DataError(
            f"{table.rows[at].place}: the last of the {column} is not the assistant's: there is no right answer",
            hint="say what makes a reply good with --rubric TEXT",
        )
    return _compared(what, rows, golds)


def instructions(table: Table) -> BuiltTasks | None:
    """Instruction, a further input that may be empty, and an output."""
    asked, more, gold = table.find("instruction"), table.find("input", "context"), table.gold("output", "response")
    if asked is None or more is None or gold is None or table.wished_input:
        return None
    rows: list[Row] = []
    golds = [table.value(row, gold) for row in table.rows]
    for row, answer in zip(table.rows, golds, strict=True):
        texts = [table.value(row, column) for column in (asked, more)]
        text = "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())
        if not text or answer is None:
            raise DataError(f"{row.place}: instruction or output is missing", hint="remove the row")
        rows.append(task(table, row, text, answer))
    what = f"{asked} and, where there is one, {more}"
    return _graded(what, rows, table) if table.wishes.rubric else _compared(what, rows, golds)


def turns(value: JsonValue) -> list[tuple[str, str]] | None:
    """Role and text of each message; None where it is no list of them."""
    items = listed(value)
    if not items:
        return None
    found: list[tuple[str, str]] = []
    for item in items:
        if not isinstance(item, dict):
            return None
        role, text = item.get("role", item.get("from")), item.get("content", item.get("value"))
        if isinstance(text, list):
            parts = [part.get("text") for part in text if isinstance(part, dict)]
            text = "\n".join(part for part in parts if isinstance(part, str)) or None
        if not isinstance(role, str) or not isinstance(text, str):
            return None
        found.append((_ROLES.get(role, role), text))
    return found


def transcript(said: Sequence[tuple[str, str]]) -> str:
    """What was said as one text; who said it only where more than one question was asked."""
    if [role for role, _ in said if role != "system"] == ["user"]:
        return "\n\n".join(text for _, text in said)
    return "\n\n".join(text if role == "system" else f"{role.capitalize()}: {text}" for role, text in said)


def _compared(what: str, rows: Sequence[Row], golds: Sequence[JsonValue]) -> BuiltTasks:
    scorer, why = guess_scorer(golds)
    metric: Metric = "soft" if scorer == "f1" else "hard"
    notes: list[str] = []
    if scorer == "f1":
        words = "long replies are compared by the words they share, which says little about how good they are"
        notes = [f"{words}: --rubric TEXT has a model judge them"]
    return BuiltTasks(what, rows, scorer, why, metric=metric, notes=notes)


def _graded(what: str, rows: Sequence[Row], table: Table) -> BuiltTasks:
    named = table.wishes.rubric
    column = named if named in table.names else None
    if column is None:
        return BuiltTasks(what, rows, "rubric", "a model judges", options={"rubric": named}, metric="soft")
    added = [
        Row(built.place, {**built.columns, "rubric": _text(table.value(row, column))})
        for built, row in zip(rows, table.rows, strict=True)
    ]
    return BuiltTasks(what, added, "rubric", "a model judges", options={"column": "rubric"}, metric="soft")


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical(value)
