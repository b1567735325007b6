"""What a form makes of rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from etude.cli.scaffold.forms.table import Table
from etude.envs.files import Row
from etude.records import Metric

Form = Callable[[Table], "BuiltTasks | None"]


@dataclass(frozen=True)
class BuiltTasks:
    """Tasks built from rows, one for each, and how their answers are compared."""

    what: str
    """What was recognised, in a few words."""
    rows: Sequence[Row]
    scorer: str
    why: str
    options: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Options of the scorer."""
    metric: Metric = "hard"
    notes: Sequence[str] = ()


def task(table: Table, row: Row, text: str, gold: JsonValue, **more: JsonValue) -> Row:
    """The row of `tasks.jsonl` for a task; what else the table knows of the task belongs to it."""
    columns: dict[str, JsonValue] = {"input": text, "gold": gold, **more}
    if gold is None:
        del columns["gold"]
    found = {name: table.value(row, column) for name, column in table.kept.items()}
    return Row(row.place, {**{name: value for name, value in found.items() if value is not None}, **columns})
