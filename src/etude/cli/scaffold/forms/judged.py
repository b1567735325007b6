"""Tasks without one right answer: a rubric that a model judges by, or assertions."""

import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic import JsonValue

from etude.cli.scaffold.forms.built_tasks import BuiltTasks, task
from etude.cli.scaffold.forms.chat import transcript, turns
from etude.cli.scaffold.forms.table import GOLD, Table, Unclear, listed
from etude.envs.files import Row
from etude.errors import DataError
from etude.records import canonical

RUBRIC = ("rubric", "rubrics", "criteria", "criterion", "expectations", "grading", "grading_criteria", "checklist")
_REFERENCE = ("reference", "reference_answer", "expected_output", "gold", "answer", "output", "ideal")


def graded_by_rubric(table: Table) -> BuiltTasks | None:
    """A column that says what makes an answer good, or one rubric for all tasks."""
    named = table.wishes.rubric
    column = table.find(named) or (named if named in table.names else None) if named else table.find(*RUBRIC)
    if table.wishes.scorer and table.wishes.scorer != "rubric":
        return None
    if column is None and not named:
        return None
    if not table.question:
        raise Unclear(f"which column is the prompt? columns: {table.columns}", "--input", table.names)
    reference = table.wished_gold or table.find(*(_REFERENCE if column else GOLD))
    rows: list[Row] = []
    for row in table.rows:
        more: dict[str, JsonValue] = {}
        if column is not None:
            more["rubric"] = rubric_text(table.value(row, column))
            if not more["rubric"]:
                raise DataError(f"{row.place}: {column!r} is empty", hint="remove the row, or write its rubric")
        gold = None if reference is None else table.value(row, reference)
        rows.append(task(table, row, _asked(table, row), gold, **more))
    what = f"{' and '.join(table.question)}, judged by {column if column is not None else 'the rubric given'}"
    why = "no comparison decides it: a model judges"
    options: Mapping[str, JsonValue] = {"column": "rubric"} if column is not None else {"rubric": named}
    return BuiltTasks(what, rows, "rubric", why, options, "soft")


def _asked(table: Table, row: Row) -> str:
    said = turns(table.value(row, table.question[-1]))
    return transcript(said) if said else table.asked(row)


def rubric_text(value: JsonValue) -> str:
    """A rubric as text: a list becomes a line for each criterion, with its points."""
    items = listed(value)
    if items is None:
        return value.strip() if isinstance(value, str) else "" if value is None else canonical(value)
    lines: list[str] = []
    for item in items:
        if isinstance(item, dict):
            said = next((item[key] for key in ("criterion", "text", "description", "value") if key in item), item)
            points = item.get("points", item.get("weight"))
            worth = "" if points is None else f" ({points} points)"
            lines.append(f"- {said if isinstance(said, str) else canonical(said)}{worth}")
        else:
            lines.append(f"- {item if isinstance(item, str) else canonical(item)}")
    return "\n".join(lines)


def assertions(table: Table) -> BuiltTasks | None:
    """Tests of promptfoo: variables of a prompt, and assertions about the answer."""
    asserted, variables = table.find("assert"), table.find("vars")
    if asserted is None or not isinstance(table.value(table.rows[0], asserted), list):
        return None
    rows: list[Row] = []
    for row in table.rows:
        values = table.value(row, variables) if variables else {}
        text = _filled(row.columns.get("prompt"), values if isinstance(values, dict) else {}, row)
        rows.append(task(table, row, text, _criteria(table.value(row, asserted), row)))
    return BuiltTasks("prompts with assertions", rows, "checks", "assertions are checks of the answer", metric="soft")


def _filled(prompt: JsonValue, values: Mapping[str, JsonValue], row: Row) -> str:
    texts = {name: value if isinstance(value, str) else canonical(value) for name, value in values.items()}
    if not isinstance(prompt, str):
        text = "\n\n".join(texts.values())
    else:
        text = prompt
        for name, value in texts.items():
            text = text.replace("{{" + name + "}}", value).replace("{{ " + name + " }}", value)
    if not text.strip() or "{{" in text:
        raise DataError(f"{row.place}: the prompt {text[:60]!r} is not filled by vars", hint="give all its variables")
    return text


def _criteria(value: JsonValue, row: Row) -> JsonValue:
    """What is asserted, as the scorer `checks` reads it. Raises DataError: an assertion that has no equal there."""
    checks: list[JsonValue] = []
    rubrics: list[str] = []
    for item in cast(list[Any], value if isinstance(value, list) else []):
        kind, arg = str(item.get("type")), item.get("value")
        if kind == "llm-rubric":
            rubrics.append(str(arg))
            continue
        found = _check(kind, arg)
        if found is None:
            raise DataError(
                f"{row.place}: the assertion {kind!r} has no equal among the checks of etude",
                hint="remove it, or use one of contains, icontains, equals, starts-with, regex, their not- forms, "
                "contains-all, llm-rubric",
            )
        checks += found
    if not checks and not rubrics:
        raise DataError(
            f"{row.place}: no assertion says what is right", hint="add one, as {type: contains, value: x}"
        )
    if not rubrics:
        return checks
    return {"checks": checks, "rubric": "\n".join(rubrics)}


def _check(kind: str, arg: Any) -> list[JsonValue] | None:
    negated = kind.startswith("not-")
    name, prefix = kind.removeprefix("not-"), "not_" if negated else ""
    if name == "contains-all" and not negated and isinstance(arg, list):
        return [{"op": "contains", "arg": str(each), "ignore_case": False} for each in cast(list[Any], arg)]
    if name in ("contains", "icontains"):
        return [{"op": f"{prefix}contains", "arg": str(arg), "ignore_case": name == "icontains"}]
    patterns = {
        "equals": rf"\A\s*{re.escape(str(arg))}\s*\Z",
        "starts-with": rf"\A{re.escape(str(arg))}",
        "regex": str(arg),
    }
    return [{"op": f"{prefix}regex", "arg": patterns[name]}] if name in patterns else None
