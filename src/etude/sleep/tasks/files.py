"""Task files: mined tasks as JSON that a person reads, corrects and approves before a night works on them.

Reading a file executes nothing and opens nothing that it names.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self, cast

from pydantic import JsonValue, StrictBool, model_validator

from etude.config.loading import parse
from etude.errors import ConfigError, DataError
from etude.files import write_atomically
from etude.records import Record
from etude.redaction.redactor import Redactor
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.transcripts.sources.lines import open_regular

_ASK_FOR_A_TEXT = ("contains", "section_contains", "section_present")


class TaskFile(Record):
    """What a task file holds."""

    format: Literal["etude.tasks"] = "etude.tasks"
    version: Literal[1] = 1
    reviewed: StrictBool = False
    """A person has read the tasks and wants them to be used."""
    project: str = ""
    """The project whose documents they are for."""
    tasks: tuple[MinedTask, ...]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        ids = [task.id for task in self.tasks]
        twice = next((name for at, name in enumerate(ids) if name in ids[:at]), None)
        if twice is not None:
            raise ValueError(f"two tasks have the id {twice!r}")
        return self


def write(path: Path, tasks: Iterable[MinedTask], *, project: str = "") -> TaskFile:
    """Write tasks to a file that is not reviewed yet, readable by its owner only: it quotes from conversations. An
    existing file is replaced in one move. Raises DataError: the file cannot be written."""
    file = TaskFile(tasks=tuple(tasks), project=project)
    text = json.dumps(file.model_dump(mode="json"), indent=2, ensure_ascii=False)
    try:
        write_atomically(path, text.encode() + b"\n", mode=0o600)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be written: {error}", hint="give another place") from None
    return file


def read(path: Path) -> TaskFile:
    """The tasks of a file, reviewed or not. A list of tasks alone counts as not reviewed.

    Raises:
        DataError: there is no such file; it is not JSON; a key is unknown or missing; a value cannot be used; two
            tasks have one id.
    """
    data = _json(path)
    try:
        return parse(TaskFile, {"tasks": data} if isinstance(data, list) else data, where=str(path))
    except ConfigError as error:
        raise DataError(error.message, hint=error.hint if error.key else "correct it, or leave it out") from None


def replay(path: Path) -> tuple[tuple[MinedTask, ...], dict[str, int]]:
    """The tasks of a reviewed file, to be worked on, without what looks like a secret in intent, context, rubric and
    what their checks say is required, which are sent to models and stored; and how many were taken out, by kind.

    Raises:
        DataError: as `read`; it has no tasks, no person has reviewed it, or an answer would need what looks like a
            secret.
    """
    file = read(path)
    if not file.reviewed:
        raise DataError(
            f"{path}: no person has reviewed these tasks (reviewed: false)",
            hint="read them: their texts are sent to models; then set 'reviewed' to true",
        )
    _check_usable(file, path)
    redactor, counts = Redactor.for_transcripts(os.environ), Counter[str]()

    def clean(text: str) -> str:
        kept, found = redactor.redact_counted(text)
        counts.update(found)
        return kept

    def cleaned(task: MinedTask) -> MinedTask:
        texts = {name: clean(getattr(task, name)) for name in ("intent", "context", "rubric")}
        checks = [check.model_copy(update={"requirement": clean(check.requirement)}) for check in task.checks]
        return task.model_copy(update={**texts, "checks": tuple(checks)})

    tasks = tuple(cleaned(task) for task in file.tasks)
    return tasks, dict(sorted(counts.items()))


def _check_usable(file: TaskFile, path: Path) -> None:
    """Refuse a file without tasks, and tasks whose answers would need what looks like a secret: a criterion is not
    changed, and no agent can know what is taken out of the texts that it is sent."""
    if not file.tasks:
        raise DataError(f"{path} has no tasks", hint="give it at least one")
    redactor = Redactor.for_transcripts(os.environ)
    for task in file.tasks:
        needed = [("exact", answer) for answer in task.exact]
        needed += [(f"check {check.op!r}", str(check.arg)) for check in task.checks if check.op in _ASK_FOR_A_TEXT]
        for where, text in needed:
            if kinds := redactor.redact_counted(text)[1]:
                raise DataError(
                    f"{path}: task {task.id!r}: {where} asks for what looks like a secret "
                    f"({', '.join(sorted(kinds))}), which is taken out of all that is sent",
                    hint="put an invented text in its place that looks like none, in 'intent' and 'context' too",
                )


def _json(path: Path) -> JsonValue:
    try:
        with open_regular(path) as file:  # a pipe has no end
            return cast(JsonValue, json.loads(file.read().decode(), parse_constant=_no_constant))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}", hint="give a JSON file in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}", hint="fix it, or write it again") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a value")
