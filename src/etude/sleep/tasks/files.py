"""Task files: mined tasks as JSON that a person reads, corrects and approves before a night works on them.

Reading a file executes nothing and opens nothing that it names.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self, cast

from pydantic import JsonValue, StrictBool, model_validator

from etude.config.loading import parse
from etude.envs.scorers.checks import Criteria, read_criteria
from etude.errors import ConfigError, DataError
from etude.files import write_atomically
from etude.records import Record
from etude.redaction.redactor import Redactor
from etude.sleep.tasks.mined import Feedback, MinedTask, SessionRef
from etude.sleep.transcripts.sources.lines import open_regular

__all__ = ["Replayed", "TaskFile", "read", "replay", "review", "write"]

PUBLISHED = "skillopt_sleep.tasks.v1"
"""The format of SkillOpt-Sleep, which is read and not written."""
_OUTCOMES: dict[str, Feedback] = {"success": "satisfied", "fail": "unsatisfied"}
_SPLITS = {"replay": "train", "holdout": "val"}
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


class Replayed(Record):
    """The tasks of a file that a person has read."""

    tasks: tuple[MinedTask, ...]
    """Without secrets: their texts are sent to models and stored."""
    redacted: dict[str, int]
    """Secrets that were taken out, by kind."""


class _PublishedTask(Record):
    id: str
    project: str | None = None
    intent: str
    context_excerpt: str = ""
    system: Literal[""] = ""
    """A system prompt of the task's own is not supported."""
    attempted_solution: JsonValue = None
    """What the agent answered then; not used."""
    outcome: Literal["success", "fail", "mixed", "unknown"] = "unknown"
    reference_kind: Literal["none", "exact", "rubric", "rule"] = "none"
    reference: str = ""
    judge: JsonValue = None
    tags: tuple[str, ...] = ()
    source_sessions: tuple[str, ...] = ()
    split: Literal["train", "val", "test", "replay", "holdout"] = "train"
    origin: str = "real"
    derived_from: str = ""
    skill_hint: str = ""

    def translated(self, file: "_PublishedFile", where: str) -> dict[str, Any]:
        """The task in our words."""
        criteria = read_criteria(self.judge, where) if self.judge else Criteria()
        rubric = self.reference if self.reference_kind == "rubric" and self.reference else criteria.rubric
        if self.reference_kind == "none" and not criteria.checks and not rubric:
            rubric = f"The answer does what is asked: {self.intent}"
        return {
            **self.model_dump(include={"id", "intent", "tags", "origin", "derived_from"}),
            "split": _SPLITS.get(self.split, self.split),
            "context": self.context_excerpt,
            "checks": criteria.checks,
            "rubric": rubric,
            "exact": [self.reference] if self.reference_kind == "exact" and self.reference else [],
            "project": file.project if self.project is None else self.project,
            "sessions": [
                SessionRef(source=file.transcript_source or "unknown", id=name) for name in self.source_sessions
            ],
            "feedback": _OUTCOMES.get(self.outcome, "unknown"),
            "skill": self.skill_hint,
        }


class _PublishedFile(Record):
    format: Literal["skillopt_sleep.tasks.v1"]
    project: str = ""
    transcript_source: str = ""
    n_sessions: JsonValue = None
    target_skill_path: JsonValue = None
    reviewed: StrictBool = False
    tasks: tuple[_PublishedTask, ...]


def write(path: Path, tasks: Iterable[MinedTask], *, project: str = "") -> TaskFile:
    """Write tasks to a file that is not reviewed yet, readable by its owner only: it quotes from conversations. An
    existing file is replaced in one move.

    Raises:
        DataError: the file cannot be written.
    """
    return _write(path, TaskFile(tasks=tuple(tasks), project=project))


def read(path: Path) -> TaskFile:
    """The tasks of a file, reviewed or not: in the own format, the published one, or a list of tasks of either alone,
    which counts as not reviewed.

    Raises:
        DataError: there is no such file; it is not JSON; a key is unknown or missing; a value cannot be used; two
            tasks have one id.
    """
    data = _json(path)
    if isinstance(data, list):
        data = {"format": PUBLISHED, "tasks": data} if _is_published(data) else {"tasks": data}
    try:
        if not isinstance(data, dict) or data.get("format") != PUBLISHED:
            return parse(TaskFile, data, where=str(path))
        file = parse(_PublishedFile, data, where=str(path))
        tasks = [task.translated(file, f"{path}: tasks.{at}") for at, task in enumerate(file.tasks)]
        own = {"reviewed": file.reviewed, "project": file.project, "tasks": tasks}
        return parse(TaskFile, own, where=str(path))
    except ConfigError as error:
        raise DataError(error.message, hint=error.hint if error.key else "correct it, or leave it out") from None


def review(path: Path) -> TaskFile:
    """Write down that a person has reviewed the file, in the own format. Only for use on a person's word.

    Raises:
        DataError: as `read` and `write`; it has no tasks; an answer would need what looks like a secret.
    """
    file = read(path)
    _check_usable(file, path)
    return _write(path, file.model_copy(update={"reviewed": True}))


def replay(path: Path) -> Replayed:
    """The tasks of a reviewed file, to be worked on, without what looks like a secret in intent, context, rubric and
    what their checks say is required.

    Raises:
        DataError: as `review`; no person has reviewed it.
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
    return Replayed(tasks=tasks, redacted=dict(sorted(counts.items())))


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


def _write(path: Path, file: TaskFile) -> TaskFile:
    text = json.dumps(file.model_dump(mode="json"), indent=2, ensure_ascii=False)
    try:
        write_atomically(path, text.encode() + b"\n", mode=0o600)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be written: {error}", hint="give another place") from None
    return file


def _json(path: Path) -> JsonValue:
    try:
        with open_regular(os.path.realpath(path)) as file:  # a person may link to a file, and a pipe has no end
            return cast(JsonValue, json.loads(file.read().decode(), parse_constant=_no_constant))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}", hint="give a JSON file in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}", hint="fix it, or write it again") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a value")


def _is_published(rows: list[JsonValue]) -> bool:
    """Whether tasks without a file around them are the published ones: those that have a key only these have."""
    only = _PublishedTask.model_fields.keys() - MinedTask.model_fields.keys()
    return any(isinstance(row, dict) and only & row.keys() for row in rows)
