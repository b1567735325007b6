"""From rows to tasks: which column means what, inputs built from several columns, ids where there are none."""

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import cast

from pydantic import JsonValue

from etude.config import Section
from etude.envs.files import Row
from etude.envs.splits import file_marks, fold
from etude.errors import ConfigError, DataError
from etude.records import File, Task, canonical, digest

GUESSES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "task_id"),
    "input": ("input", "question", "prompt", "task"),
    "gold": ("gold", "answer", "answers", "target", "expected", "label"),
    "type": ("type", "task_type", "category"),
    "group": ("group",),
}
"""Column names tried in this order, in any case, where `fields` names none."""


class Fields(Section):
    """Which column is which field of a task. `a.b` reads key `b` of the object in column `a`."""

    id: str | None = None
    """A name of the task; made from the input when there is none."""
    input: str | None = None
    """What the agent has to do."""
    gold: str | None = None
    """What the scorer compares with."""
    type: str | None = None
    """Kind of task; splits by ratio divide every kind."""
    group: str | None = None
    """Tasks of one group stay in one split."""
    images: str | None = None
    """Pictures that go with the input: a path inside the data file's folder, an http(s) or data URL, or a list."""
    files: str | None = None
    """Files that an agent with a workspace finds there: a path inside the data file's folder, a list of paths, or a
    mapping of path in the workspace to path. The content of a folder goes to the top of the workspace."""


class Template:
    """Text with `{column}` placeholders; `{{` and `}}` are plain braces.
    Raises ConfigError: a brace without its partner, or an empty placeholder."""

    def __init__(self, text: str, where: str) -> None:
        try:
            self._parts = [(text, name) for text, name, _, _ in Formatter().parse(text)]
        except ValueError as error:
            raise ConfigError(f"{where}: template = {text!r}: {error}", hint="write plain braces twice") from None
        names = [name for _, name in self._parts if name is not None]
        if not names or "" in names:
            raise ConfigError(f"{where}: template = {text!r} names no column", hint="as in '{question}'")

    def fill(self, row: Row) -> str:
        """The input of one task."""
        return "".join(
            text + ("" if name is None else _as_text(_required(row, name, "template"))) for text, name in self._parts
        )


def tasks_from_rows(
    rows: Sequence[Row],
    fields: Fields,
    *,
    template: Template | None = None,
    needs_gold: bool = True,
    image: Callable[[str, str], str] = lambda value, place: value,
    files: Callable[[JsonValue, str], dict[str, File]] = lambda value, place: {},
) -> tuple[Task, ...]:
    """Tasks in the order of the rows; the id of a row without one is empty, `with_ids` fills it in.

    Columns without a meaning of their own go to `Task.data`. Columns that `fields` does not name are guessed from the
    first row, except images and files. `image` makes of each picture's value, and its place, what the task holds;
    `files` makes the task's files in the same way.
    Raises DataError: a column is missing, or its value cannot be used; names place and columns."""
    named = {field: column for field, column in fields if column is not None}
    columns = {**_guess(rows[0].columns), **named}
    if template is not None:
        columns.pop("input", None)
    required = set(named) - {"images", "files"}
    if template is None:
        required.add("input")
    if needs_gold:
        required.add("gold")
    for field, column in (("images", fields.images), ("files", fields.files)):
        if column is not None and all(_lookup(row.columns, column) is None for row in rows):
            _required(rows[0], column, field)
    tasks: list[Task] = []
    for row in rows:
        for field in sorted(required):
            _required(row, columns.get(field), field)
        values = {field: _lookup(row.columns, column) for field, column in columns.items()}
        text = template.fill(row) if template is not None else _input_text(row, values["input"])
        if not text.strip():
            raise DataError(f"{row.place}: the task's input is empty", hint="give the agent something to do")
        tasks.append(
            Task(
                id=_as_text(values.get("id")),
                input=text,
                gold=values.get("gold"),
                type=_as_text(values.get("type")).replace("\n", ", "),
                group=_as_text(values.get("group")),
                images=tuple(image(value, row.place) for value in _images(row, values.get("images"))),
                files=files(values.get("files"), row.place),
                data={name: value for name, value in row.columns.items() if name not in columns.values()},
            )
        )
    return tuple(tasks)


def with_ids(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks, each with an id. A task without one is named after its input, so that its id stays the same when
    other tasks come and go; the second task with that input gets `-2` behind it, and so on."""
    used = {task.id for task in tasks if task.id}
    result: list[Task] = []
    for task in tasks:
        if not task.id:
            besides = [*task.images, *file_marks(task)]
            base = name = digest([task.input, *besides] if besides else task.input)[:10]
            count = 1
            while name in used:
                count += 1
                name = f"{base}-{count}"
            used.add(name)
            task = task.model_copy(update={"id": name})
        result.append(task)
    return tuple(result)


def _guess(columns: Mapping[str, JsonValue]) -> dict[str, str]:
    folded = {fold(name): name for name in reversed(list(columns))}
    found: dict[str, str] = {}
    for field, guesses in GUESSES.items():
        name = next((folded[guess] for guess in guesses if guess in folded), None)
        if name is not None:
            found[field] = name
    return found


def _lookup(columns: Mapping[str, JsonValue], name: str) -> JsonValue:
    """The value of a column, or of a key path into one; None when it is not there."""
    if name in columns:
        return columns[name]
    value: JsonValue = dict(columns)
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _required(row: Row, column: str | None, field: str) -> JsonValue:
    value = _lookup(row.columns, column) if column is not None else None
    if value is not None:
        return value
    found = ", ".join(map(repr, row.columns)) or "none"
    what = f"no column for the task's {field}" if column is None else f"no value in column {column!r} for {field}"
    hint = "name columns that exist in `template`" if field == "template" else f"name the column in `fields.{field}`"
    raise DataError(f"{row.place}: {what}; columns: {found}", hint=hint)


def _images(row: Row, value: JsonValue) -> list[str]:
    found = value if isinstance(value, list) else [value] if value not in (None, "") else []
    if not all(isinstance(each, str) and each for each in found):
        raise DataError(
            f"{row.place}: images = {canonical(value)[:80]}: neither a path or address nor a list of them",
            hint="name another column in `fields.images`",
        )
    return cast(list[str], found)


def _input_text(row: Row, value: JsonValue) -> str:
    if isinstance(value, list | dict):
        raise DataError(
            f"{row.place}: the task's input is {type(value).__name__}, not text", hint="build it with `template`"
        )
    return _as_text(value)


def _as_text(value: JsonValue) -> str:
    """Text for a person or a model: lists one item to a line, `{label, text}` objects as listed options."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(_as_text, value))
    if isinstance(value, dict) and set(value) == {"label", "text"}:
        return f"({_as_text(value['label'])}) {_as_text(value['text'])}"
    return canonical(value)
