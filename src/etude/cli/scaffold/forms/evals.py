"""Tasks that come with an Agent Skill, `evals/evals.json`: prompts, and what is expected of the answers."""

import os
from pathlib import Path

from pydantic import JsonValue

from etude.cli.scaffold.forms.built_tasks import BuiltTasks, task
from etude.cli.scaffold.forms.table import Table
from etude.envs.files import Row
from etude.errors import DataError

FEW = 20
"""With fewer tasks, only a large difference shows."""


def skill_evals(table: Table) -> BuiltTasks | None:
    """Rows with a prompt and expectations, or those of a file called evals.json."""
    prompt, expectations = table.find("prompt"), table.find("expectations", "assertions")
    named = all("evals.json" in row.place for row in table.rows)
    if prompt is None or table.wishes.scorer or table.wishes.rubric or not (named or expectations):
        return None
    expected, files = table.find("expected_output"), table.find("files")
    rows: list[Row] = []
    for row in table.rows:
        text = table.value(row, prompt)
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{row.place}: {prompt!r} is empty", hint="write what the agent is asked")
        gold = table.value(row, expected) if expected else None
        more: dict[str, JsonValue] = {"expectations": _criteria(row, table, expectations, gold)}
        if files and (found := table.value(row, files)):
            more["files"] = _places(found, row)
        rows.append(task(table, row, text, gold, **more))
    few = f"{len(rows)} tasks show only a large difference, and say nothing about rare cases: `etude plan` says more"
    return BuiltTasks(
        "prompts, judged by their expectations",
        rows,
        "rubric",
        "a model judges each expectation; solved is an answer that meets them all",
        {"column": "expectations", "threshold": 1},
        "soft",
        [few] if len(rows) < FEW else [],
    )


def _criteria(row: Row, table: Table, column: str | None, expected: JsonValue) -> list[JsonValue]:
    """What an answer has to fulfil. Raises DataError: nothing is said."""
    value = table.value(row, column) if column else None
    texts = [text for text in value if isinstance(text, str) and text.strip()] if isinstance(value, list) else []
    if isinstance(value, list) and len(texts) < len(value):
        raise DataError(f"{row.place}: {column!r} holds something else than texts", hint="write each as a sentence")
    if not texts and isinstance(expected, str) and expected.strip():
        texts = [f"What is expected: {expected.strip()}"]
    if not texts:
        raise DataError(
            f"{row.place}: neither expectations nor an expected output say what a good answer is",
            hint='add "expectations": a list of sentences',
        )
    return list(texts)


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
