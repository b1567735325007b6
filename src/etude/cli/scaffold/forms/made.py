"""Tasks that a form makes of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from etude.cli.scaffold.forms.labels import OddLabel
from etude.cli.scaffold.table import Table
from etude.envs.files import Row
from etude.records import Metric

SAYS = ("text", "criterion", "description", "assertion", "expectation")
"""Where an object says what an answer has to fulfil, the plainest first."""


@dataclass(frozen=True)
class MadeTasks:
    """Tasks, one for each row, and how their answers are compared."""

    rows: Sequence[Row]
    fields: Mapping[str, str]
    """Field of a task to column."""
    scorer: str
    why: str
    """What speaks for the scorer."""
    options: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Options of the scorer."""
    template: str = ""
    """Builds the input when one column does not hold all of it."""
    built: str = ""
    """What rows were built from, in a few words; empty where they are those of the file."""
    notes: Sequence[str] = ()
    labels: Sequence[str] = ()
    """What the answer is one of, where that is so."""
    odd: Sequence[OddLabel] = ()
    """Labels that may be slips."""

    @property
    def metric(self) -> Metric:
        """Partial credit counts where few answers match in full."""
        return "soft" if self.scorer in ("f1", "anls", "rubric", "checks") else "hard"


def built(
    what: str,
    rows: Sequence[Row],
    scorer: tuple[str, str],
    options: Mapping[str, JsonValue] | None = None,
    notes: Sequence[str] = (),
) -> MadeTasks:
    """Tasks from rows made by `task`; `scorer` is its name and what speaks for it. A field that some rows lack is not
    named: settings ask for the fields that they name in each row."""
    everywhere = [
        name for name in ("id", "input", "gold", "type", "group") if all(name in row.columns for row in rows)
    ]
    somewhere = [name for name in ("images", "files") if any(name in row.columns for row in rows)]
    fields = {name: name for name in (*everywhere, *somewhere)}
    return MadeTasks(rows, fields, *scorer, options or {}, built=what, notes=notes)


def task(table: Table, row: Row, text: str, gold: JsonValue, **more: JsonValue) -> Row:
    """The row of `tasks.jsonl` for a task; what else the table knows of the task belongs to it."""
    columns: dict[str, JsonValue] = {"input": text, "gold": gold, **more}
    if gold is None:
        del columns["gold"]
    found = {name: table.value(row, column) for name, column in table.kept.items()}
    return Row(row.place, {**{name: value for name, value in found.items() if value is not None}, **columns})


def said(value: JsonValue) -> str:
    """What a criterion says, which is a text or an object with one; empty where it says nothing."""
    if isinstance(value, dict):
        texts = {name: each.strip() for name, each in value.items() if isinstance(each, str) and each.strip()}
        plain = next((texts[name] for name in SAYS if name in texts), "")
        # Without a sentence, all that is there: a value alone says little, as in `{type: output_contains, value: x}`.
        return plain or ": ".join(text for name, text in texts.items() if name != "id")
    return value.strip() if isinstance(value, str) else ""
