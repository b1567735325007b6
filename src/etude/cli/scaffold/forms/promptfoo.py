"""Tests of promptfoo: variables of a prompt, and assertions about the answer. Each assertion becomes a check."""

import re
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from etude.cli.scaffold.forms.made import MadeTasks, built, task
from etude.cli.scaffold.table import Table
from etude.envs.files import Row
from etude.errors import DataError
from etude.records import canonical

_CELLS = re.compile(r"__expected\d*")
"""Columns of a table whose cells are assertions."""
_CELL = re.compile(r"\s*((?:not-)?[a-z]+(?:-[a-z]+)*)(?:\(([\d.]+)\))?:\s*(.*)", re.DOTALL)
_KINDS = frozenset(
    """
    answer-relevance assert-set bleu classifier contains contains-all contains-any contains-json contains-sql
    contains-xml cost equals eval factuality finish-reason fn g-eval grade guardrails icontains icontains-all
    icontains-any is-json is-refusal is-sql is-xml javascript latency levenshtein llm-rubric moderation perplexity
    pi python regex rouge-n select-best similar starts-with webhook
    """.split()  # noqa: SIM905 - a list of so many lines is harder to read
)
"""Words before a colon that name an assertion; with any other, as in `note: call`, the whole cell is the answer."""
_LISTS = ("contains-all", "contains-any", "icontains-all", "icontains-any")
_JUDGED = ("llm-rubric", "g-eval")


def fits(table: Table) -> bool:
    """Assertions, as a list or in cells."""
    column = table.find("assert")
    return _has_cells(table.rows) or (column is not None and isinstance(table.values(column)[0], list))


def tasks(table: Table) -> MadeTasks:
    """The prompt with its variables, and the assertions as checks."""
    table.used.update(name for name in table.names if _is_used(name, in_cells=_has_cells(table.rows)))
    rows: list[Row] = []
    for test, row in zip(with_assertions(table.rows), table.rows, strict=True):
        values, prompt = test.columns.get("vars"), test.columns.get("prompt")
        text = _filled(prompt, values if isinstance(values, dict) else {}, row)
        rows.append(task(table, row, text, _checks(test.columns.get("assert"), row)))
    return built("prompts with assertions", rows, ("checks", "assertions are checks of the answer"))


def with_assertions(rows: Sequence[Row]) -> Sequence[Row]:
    """Rows of a table of tests as tests: assertions from the columns for them, variables from the others."""
    if not _has_cells(rows):
        return rows
    return [
        Row(
            row.place,
            {
                "vars": {name: value for name, value in row.columns.items() if not name.startswith("__")},
                "assert": [
                    _assertion(str(cell)) for name, cell in row.columns.items() if cell and _CELLS.fullmatch(name)
                ],
            },
        )
        for row in rows
    ]


def _is_used(column: str, *, in_cells: bool) -> bool:
    """Whether a column goes into tasks: in a table of tests its variables and its assertions."""
    if not in_cells:
        return column in ("vars", "assert", "prompt")
    return not column.startswith("__") or bool(_CELLS.fullmatch(column))


def _has_cells(rows: Sequence[Row]) -> bool:
    return any(map(_CELLS.fullmatch, rows[0].columns)) if rows else False


def _assertion(cell: str) -> dict[str, JsonValue]:
    """An assertion as a cell has it, `contains: text`; without a kind the text is the answer."""
    match = _CELL.fullmatch(cell)
    if match is None or match[1].removeprefix("not-") not in _KINDS:
        return {"type": "equals", "value": cell.strip()}
    kind, _, value = match.groups()
    if kind.removeprefix("not-") in _LISTS:
        return {"type": kind, "value": [part.strip() for part in value.split(",")]}
    return {"type": "llm-rubric" if kind == "grade" else kind, "value": value.strip()}


def _filled(prompt: JsonValue, values: Mapping[str, JsonValue], row: Row) -> str:
    texts = {name: value if isinstance(value, str) else canonical(value) for name, value in values.items()}
    text = prompt if isinstance(prompt, str) else "\n\n".join(texts.values())
    for name, value in texts.items() if isinstance(prompt, str) else ():
        text = text.replace("{{" + name + "}}", value).replace("{{ " + name + " }}", value)
    if not text.strip() or "{{" in text:
        raise DataError(f"{row.place}: the prompt {text[:60]!r} is not filled by vars", hint="give all its variables")
    return text


def _checks(value: JsonValue, row: Row) -> JsonValue:
    """What is asserted, as the scorer `checks` reads it. Raises DataError: an assertion that has no equal there."""
    checks: list[JsonValue] = []
    rubrics: list[str] = []
    for item in value if isinstance(value, list) else []:
        kind, arg = (str(item.get("type")), item.get("value")) if isinstance(item, dict) else (str(item), None)
        if kind in _JUDGED:
            rubrics += map(str, arg if isinstance(arg, list) else [arg])
            continue
        found = _check(kind, arg)
        if not found:
            raise DataError(
                f"{row.place}: the assertion {kind!r} has no equal among the checks of etude",
                hint="remove it, or use one of contains, icontains, equals, starts-with, regex, their not- forms, "
                "contains-all, contains-any, llm-rubric, g-eval",
            )
        checks += found
    if not checks and not rubrics:
        raise DataError(
            f"{row.place}: no assertion says what is right", hint="add one, as {type: contains, value: x}"
        )
    return {"checks": checks, "rubric": "\n".join(rubrics)} if rubrics else checks


def _check(kind: str, arg: JsonValue) -> list[JsonValue]:
    """The checks that an assertion is; none where it has no equal."""
    name, negated = kind.removeprefix("not-"), kind.startswith("not-")
    ignores, text = name.startswith("icontains"), re.escape(str(arg))
    parts = [str(each) for each in arg] if isinstance(arg, list) else []
    op, args = {
        "contains": ("contains", [str(arg)]),
        "contains-all": ("contains", [] if negated else parts),
        "contains-any": ("regex", ["|".join(map(re.escape, parts))] if parts else []),
        "equals": ("regex", [rf"\A\s*{text}\s*\Z"]),
        "starts-with": ("regex", [rf"\A{text}"]),
        "regex": ("regex", [str(arg)]),
    }.get(name.removeprefix("i") if ignores else name, ("", []))
    more: dict[str, JsonValue] = {"ignore_case": ignores} if "contains" in name else {}
    return [{"op": "not_" * negated + op, "arg": each, **more} for each in args]
