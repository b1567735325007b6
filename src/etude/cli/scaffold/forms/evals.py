"""Tasks that come with an Agent Skill, `evals/evals.json`: prompts, and what is expected of the answers."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from etude.cli.scaffold.forms.built_tasks import BuiltTasks, task
from etude.cli.scaffold.forms.table import Table
from etude.envs.files import Row
from etude.errors import DataError

TRAINABLE, FEW = 5, 20
"""Fewer tasks leave a split empty, so all are for the test; and with fewer, only a large difference shows."""
_ASKED = ("prompt", "question", "query", "input", "task", "request")
_CRITERIA = ("expectations", "expected_behavior", "assertions", "expect", "rubric", "criteria")
_EXPECTED = ("expected_output", "ground_truth", "expected_workflow", "expected", "answer", "output")
_SAYS = ("text", "criterion", "description", "assertion", "expectation", "value", "name")
"""Where an object says what an answer has to fulfil, the plainest first."""
_SHORT = 8
"""Words of an answer that can be compared as it is; a longer one describes what is wanted."""


def skill_evals(table: Table) -> BuiltTasks | None:
    """Rows with a request and what is expected of the answer: a list of criteria, or prose that describes it. None
    where all that is expected is short answers, which are compared as they are."""
    asked, criteria, expected = (_found(table, names) for names in (_ASKED, _CRITERIA, _EXPECTED))
    named = all("evals.json" in row.place for row in table.rows)
    if not asked or table.wishes.scorer or table.wishes.rubric:
        return None
    if not named and not {"expectations", "expected_behavior", "assertions"}.intersection(criteria):
        return None
    wanted = [_criteria(row, table, criteria) for row in table.rows]
    prose = [_first(row, table, expected) for row in table.rows]
    if not any(wanted) and all(isinstance(said, str) and 0 < len(said.split()) <= _SHORT for said in prose):
        return None
    files = table.find("files")
    rows: list[Row] = []
    for row, texts, said in zip(table.rows, wanted, prose, strict=True):
        text = _first(row, table, asked)
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{row.place}: {next(iter(asked))!r} is empty", hint="write what the agent is asked")
        if not texts and isinstance(said, str) and said.strip():
            texts = [f"What is expected: {said.strip()}"]
        if not texts:
            raise DataError(
                f"{row.place}: neither expectations nor an expected output say what a good answer is",
                hint='add "expectations": a list of sentences',
            )
        more: dict[str, JsonValue] = {"expectations": list[JsonValue](texts)}
        if files and (found := table.value(row, files)):
            more["files"] = _places(found, row)
        rows.append(task(table, row, text, said, **more))
    few = f"{len(rows)} tasks show only a large difference, and say nothing about rare cases: `etude plan` says more"
    return BuiltTasks(
        "prompts, judged by their expectations",
        rows,
        "rubric",
        "a model judges each expectation; solved is an answer that meets them all",
        {"column": "expectations", "threshold": 1},
        "soft",
        [few] if TRAINABLE <= len(rows) < FEW else [],
    )


def needing_the_skill(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Rows without those that ask that the skill is not used, `expected_skill: null` or `should_trigger: false`, and
    a note on them. They tell when a skill is opened, not what it is worth. Raises DataError: no row is left."""
    quiet = [row for row in rows if _quiet(row.columns)]
    if not quiet:
        return list(rows), []
    if len(quiet) == len(rows):
        raise DataError(
            f"{rows[0].place.partition(':')[0]}: each row asks that the skill is not used",
            hint="add requests that need the skill: the others show only when it is opened",
        )
    rest = [row for row in rows if not _quiet(row.columns)]
    some = "1 row asks" if len(quiet) == 1 else f"{len(quiet)} rows ask"
    return rest, [f"{some} that the skill is not used, as {quiet[0].place}: no task is made of them"]


def _quiet(columns: Mapping[str, JsonValue]) -> bool:
    off = str(columns.get("should_trigger")).casefold() in ("false", "no", "0")  # in a table it is text
    return off or ("expected_skill" in columns and not columns["expected_skill"])


def _found(table: Table, names: Sequence[str]) -> dict[str, str]:
    """The columns that the table has of these names."""
    return {name: column for name in names if (column := table.find(name)) is not None}


def _first(row: Row, table: Table, columns: Mapping[str, str]) -> JsonValue:
    """The first of these that says something."""
    return next((value for column in columns.values() if (value := table.value(row, column)) not in (None, "")), None)


def _criteria(row: Row, table: Table, columns: Mapping[str, str]) -> list[str]:
    """What an answer has to fulfil, and must not do. Raises DataError: an entry says nothing."""
    found: list[str] = []
    for name, column in {**columns, **_found(table, ("must_not",))}.items():
        value = table.value(row, column)
        entries = value if isinstance(value, list) else [] if value is None else [value]
        texts = [_said(each) for each in entries]
        if not all(texts):
            raise DataError(
                f"{row.place}: {column!r} holds something else than texts", hint="write each as a sentence"
            )
        found += [f"It must not: {text}" if name == "must_not" else text for text in texts]
    return list(dict.fromkeys(found))


def _said(value: JsonValue) -> str:
    if isinstance(value, dict):
        value = next((each for name in _SAYS if isinstance(each := value.get(name), str) and each.strip()), "")
    return value.strip() if isinstance(value, str) else ""


def _places(value: JsonValue, row: Row) -> list[JsonValue]:
    """Paths of files from the folder of the data; they are named from the folder of the skill."""
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) for name in names):
        raise DataError(f"{row.place}: files = {value!r} are not paths", hint='as in ["evals/files/a.csv"]')
    folder = Path(row.place.rpartition(": item")[0]).parent
    return [
        os.path.relpath(folder.parent / str(name), folder) if (folder.parent / str(name)).exists() else str(name)
        for name in names
    ]
