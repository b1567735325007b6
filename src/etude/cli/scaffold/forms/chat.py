"""Chats, as they are made for fine-tuning: the last reply is what a good answer looks like."""

from collections.abc import Sequence

from pydantic import JsonValue

from etude.cli.scaffold.forms.made import MadeTasks, built, task
from etude.cli.scaffold.scorers import guess_scorer
from etude.cli.scaffold.table import GOLD, Table, listed
from etude.envs.files import Row
from etude.errors import DataError

_COLUMNS = ("messages", "conversations", "conversation", "dialog", "chat", "prompt")
_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant", "chatbot": "assistant"}


def fits(table: Table) -> bool:
    """`messages` with role and content, or `conversations` with from and value."""
    return column_of(table) is not None


def tasks(table: Table) -> MadeTasks:
    """What was said before the last reply is the task."""
    column = column_of(table) or ""
    rows = rows_of(table, column)
    without = next((row for row in rows if row.columns.get("gold") is None), None)
    if without is not None:
        raise DataError(
            f"{without.place}: the last of the {column} is not the assistant's: there is no right answer",
            hint="say what makes a reply good with --rubric TEXT, or where the right answers are with --gold COLUMN",
        )
    what = f"the last reply in {column} is the reference, what was said before is the task"
    return built(what, rows, guess_scorer([row.columns["gold"] for row in rows]))


def column_of(table: Table) -> str | None:
    """The column with chats; None where there is none."""
    named = [table.find(name) for name in _COLUMNS]
    columns = table.wished_input if len(table.wished_input) == 1 else () if table.wished_input else named
    return next((name for name in columns if name and turns(table.value(table.rows[0], name))), None)


def rows_of(table: Table, column: str) -> list[Row]:
    """What was said before the last reply, and that reply, if it is the assistant's. Raises DataError: a row is no
    chat."""
    right = table.gold(*GOLD)
    rows: list[Row] = []
    for row in table.rows:
        said = turns(table.value(row, column))
        if not said:
            raise DataError(f"{row.place}: {column!r} is no list of messages with texts", hint="remove the row")
        if table.wished_gold is None and said[-1][0] == "assistant":
            gold: JsonValue = said.pop()[1]
        else:
            gold = None if right is None else table.value(row, right)
        if not any(role == "user" for role, _ in said):
            raise DataError(f"{row.place}: nobody asks anything in {column!r}", hint="remove the row")
        rows.append(task(table, row, transcript(said), gold))
    return rows


def turns(value: JsonValue) -> list[tuple[str, str]]:
    """Role and text of each message; empty where it is no list of them."""
    found: list[tuple[str, str]] = []
    for item in listed(value) or []:
        if not isinstance(item, dict):
            return []
        role, text = item.get("role", item.get("from")), item.get("content", item.get("value"))
        if isinstance(text, list):
            parts = [part.get("text") for part in text if isinstance(part, dict)]
            text = "\n".join(part for part in parts if isinstance(part, str)) or None
        if not isinstance(role, str) or not isinstance(text, str):
            return []
        found.append((_ROLES.get(role, role), text))
    return found


def transcript(said: Sequence[tuple[str, str]]) -> str:
    """What was said as one text; who said it only where more than one question was asked."""
    if [role for role, _ in said if role != "system"] == ["user"]:
        return "\n\n".join(text for _, text in said)
    return "\n\n".join(text if role == "system" else f"{role.capitalize()}: {text}" for role, text in said)
