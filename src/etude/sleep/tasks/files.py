"""Task files: mined tasks as JSON that a person reads, corrects and approves before a night works on them.

Reading a file executes nothing and opens nothing that it names.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import JsonValue, StrictBool, ValidationError

from etude.envs.scorers.base import shorten
from etude.envs.scorers.checks import Criteria, read_criteria
from etude.errors import DataError, did_you_mean, told
from etude.files import write_atomically
from etude.records import Record, canonical
from etude.redaction.redactor import Redactor
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.transcripts.sources.lines import open_regular

__all__ = ["Replayed", "TaskFile", "check_answers", "read", "replay", "review", "write"]

FORMAT: Literal["etude.tasks"] = "etude.tasks"
PUBLISHED = "skillopt_sleep.tasks.v1"
"""The format of SkillOpt-Sleep, which is read and not written."""

_PUBLISHED_FILE = ("format", "project", "transcript_source", "n_sessions", "target_skill_path", "reviewed", "tasks")
_PUBLISHED_TASK = (
    "id",
    "project",
    "intent",
    "context_excerpt",
    "system",
    "attempted_solution",
    "outcome",
    "reference_kind",
    "reference",
    "judge",
    "tags",
    "source_sessions",
    "split",
    "origin",
    "derived_from",
    "skill_hint",
)
_OUTCOMES = {"success": "satisfied", "fail": "unsatisfied", "mixed": "unknown", "unknown": "unknown"}
_KINDS = ("none", "exact", "rubric", "rule")


class TaskFile(Record):
    """What a task file holds."""

    format: Literal["etude.tasks"] = FORMAT
    version: Literal[1] = 1
    reviewed: StrictBool = False
    """A person has read the tasks and wants them to be used."""
    project: str = ""
    """The project whose documents they are for."""
    tasks: tuple[MinedTask, ...]


class Replayed(Record):
    """The tasks of a file that a person has read."""

    tasks: tuple[MinedTask, ...]
    """Without secrets: their texts are sent to models and stored."""
    redacted: dict[str, int]
    """Secrets that were taken out, by kind."""


def write(path: Path, tasks: Iterable[MinedTask], *, project: str = "") -> TaskFile:
    """Write tasks to a file that nobody has reviewed, for its owner's eyes only: it quotes from conversations. A file
    that is there is replaced in one move.

    Raises:
        DataError: the file cannot be written.
    """
    return _write(path, TaskFile(tasks=tuple(tasks), project=project))


def read(path: Path) -> TaskFile:
    """The tasks of a file, reviewed or not. Besides the own format the published one is understood, and a list of
    tasks of either alone, which nobody has reviewed.

    Raises:
        DataError: there is no such file; it is no JSON; a key is unknown or missing; a value cannot be used; two
            tasks have one id.
    """
    data = _json(path)
    if isinstance(data, list):
        data = {"format": PUBLISHED if _is_published(data) else FORMAT, "tasks": data}
    if not isinstance(data, dict):
        raise DataError(f"{path}: {canonical(data)[:80]} is no task file", hint=f"as in {_EXAMPLE}")
    name = data.get("format")
    if name == PUBLISHED:
        file = _published(data, str(path))
    elif name == FORMAT:
        file = _own(data, str(path))
    else:
        what = "'format' is missing" if name is None else f"unknown format {name!r}"
        raise DataError(f"{path}: {what}; expected {FORMAT!r} or {PUBLISHED!r}", hint=f"as in {_EXAMPLE}")
    _check_ids(file, path)
    return file


def review(path: Path) -> TaskFile:
    """Write down that a person has reviewed the file, in the own format. Only for use on a person's word.

    Raises:
        DataError: as `read` and `write`.
    """
    return _write(path, read(path).model_copy(update={"reviewed": True}))


def replay(path: Path) -> Replayed:
    """The tasks of a reviewed file, to be worked on, without what looks like a secret in intent, context, rubric and
    what their checks say is required.

    Raises:
        DataError: as `read`; nobody has reviewed it; it has no tasks; an answer would need what looks like a secret.
    """
    file = read(path)
    if not file.reviewed:
        raise DataError(
            f"{path}: nobody has reviewed these tasks (reviewed: false)",
            hint="read them: their texts are sent to models; then set 'reviewed' to true",
        )
    if not file.tasks:
        raise DataError(f"{path} has no tasks", hint="give it at least one")
    redactor, counts = Redactor.for_transcripts(os.environ), Counter[str]()

    def clean(text: str) -> str:
        kept, found = redactor.redact_counted(text)
        counts.update(found)
        return kept

    check_answers(file, path)
    tasks = tuple(
        task.model_copy(
            update={
                "intent": clean(task.intent),
                "context": clean(task.context),
                "rubric": clean(task.rubric),
                "checks": tuple(
                    check.model_copy(update={"requirement": clean(check.requirement)}) for check in task.checks
                ),
            }
        )
        for task in file.tasks
    )
    return Replayed(tasks=tasks, redacted=dict(sorted(counts.items())))


def check_answers(file: TaskFile, path: Path) -> None:
    """Refuse tasks whose answers would need what looks like a secret: a criterion is not changed, and no agent can
    know what is taken out of the texts that it is sent.

    Raises:
        DataError: there is one; names it and the criterion.
    """
    redactor = Redactor.for_transcripts(os.environ)
    needed = [(task, "exact", answer) for task in file.tasks for answer in task.exact]
    needed += [
        (task, f"check {check.op!r}", str(check.arg))
        for task in file.tasks
        for check in task.checks
        if check.op in _ASK_FOR_A_TEXT
    ]
    for task, where, text in needed:
        kinds = redactor.redact_counted(text)[1]
        if kinds:
            raise DataError(
                f"{path}: task {task.id!r}: {where} asks for what looks like a secret ({', '.join(sorted(kinds))}), "
                "which is taken out of all that is sent",
                hint="put an invented text in its place that looks like none, in 'intent' and 'context' too",
            )


_ASK_FOR_A_TEXT = ("contains", "section_contains", "section_present")
_EXAMPLE = canonical({"format": FORMAT, "version": 1, "reviewed": False, "tasks": []})


def _write(path: Path, file: TaskFile) -> TaskFile:
    text = json.dumps(file.model_dump(mode="json"), indent=2, ensure_ascii=False)
    try:
        write_atomically(path, text.encode() + b"\n", mode=0o600)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be written: {error}", hint="give another place") from None
    return file


def _json(path: Path) -> JsonValue:
    try:
        return cast(JsonValue, json.loads(_text(path), parse_constant=_no_constant))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}", hint="give a JSON file in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is no JSON: {error}", hint="fix it, or write it again") from None


def _text(path: Path) -> str:
    with open_regular(os.path.realpath(path)) as file:  # a person may link to a file, and a pipe has no end
        return file.read().decode("utf-8")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no value")


def _is_published(rows: list[JsonValue]) -> bool:
    """Whether tasks without a file around them are the published ones: those that have a key only these have."""
    only = set(_PUBLISHED_TASK) - set(MinedTask.model_fields)
    return any(isinstance(row, dict) and only & row.keys() for row in rows)


def _check_ids(file: TaskFile, path: Path) -> None:
    ids = [task.id for task in file.tasks]
    twice = next((name for at, name in enumerate(ids) if name in ids[:at]), None)
    if twice is not None:
        raise DataError(f"{path}: two tasks have the id {twice!r}", hint="give every task an id of its own")


def _own(data: Mapping[str, JsonValue], path: str) -> TaskFile:
    _check_keys(data, TaskFile.model_fields, path)
    rows = _rows(data, path)
    for number, row in enumerate(rows, start=1):
        where = f"{path}: task {number}"
        _check_keys(row, MinedTask.model_fields, where)
        if "checks" in row:
            read_criteria({"checks": row["checks"], "rubric": "-"}, where)
    try:
        return TaskFile.model_validate(data)
    except ValidationError as error:
        raise _refused(error, path) from None


def _published(data: Mapping[str, JsonValue], path: str) -> TaskFile:
    _check_keys(data, _PUBLISHED_FILE, path)
    source, project = data.get("transcript_source", ""), data.get("project", "")
    tasks: list[MinedTask] = []
    for number, row in enumerate(_rows(data, path), start=1):
        where = f"{path}: task {number}"
        _check_keys(row, _PUBLISHED_TASK, where)
        try:
            tasks.append(MinedTask.model_validate(_translated({"project": project, **row}, str(source), where)))
        except ValidationError as error:
            raise _refused(error, where) from None
    try:
        return TaskFile.model_validate({"reviewed": data.get("reviewed", False), "project": project, "tasks": tasks})
    except ValidationError as error:
        raise _refused(error, path) from None


def _translated(row: Mapping[str, JsonValue], source: str, where: str) -> dict[str, Any]:
    """A published task in our words. What the agent answered then is left out."""
    kind, outcome, judge = row.get("reference_kind", "none"), row.get("outcome", "unknown"), row.get("judge")
    reference = row.get("reference", "")
    if kind not in _KINDS:
        raise DataError(f"{where}: reference_kind = {kind!r} cannot be judged", hint=did_you_mean(str(kind), _KINDS))
    if not isinstance(outcome, str) or outcome not in _OUTCOMES:
        raise DataError(f"{where}: unknown outcome {outcome!r}", hint=did_you_mean(str(outcome), _OUTCOMES))
    if row.get("system"):
        raise DataError(
            f"{where}: a system prompt of the task's own is not supported", hint="say in 'intent' what is asked"
        )
    criteria = Criteria()
    if judge:
        criteria = read_criteria(judge, where)
    rubric = reference if kind == "rubric" and reference else criteria.rubric
    if kind == "none" and not criteria.checks and not rubric:
        rubric = f"The answer does what is asked: {row.get('intent', '')}"
    sessions = row.get("source_sessions", [])
    found = {
        "id": row.get("id"),
        "intent": row.get("intent"),
        "context": row.get("context_excerpt", ""),
        "checks": criteria.checks,
        "rubric": rubric,
        "exact": [reference] if kind == "exact" and reference else [],
        "tags": row.get("tags", []),
        "split": row.get("split", "train"),
        "origin": row.get("origin", "real"),
        "derived_from": row.get("derived_from", ""),
        "project": row.get("project", ""),
        "sessions": [{"source": source or "unknown", "id": name} for name in sessions]
        if isinstance(sessions, list)
        else sessions,
        "feedback": _OUTCOMES[outcome],
        "skill": row.get("skill_hint", ""),
    }
    return {key: value for key, value in found.items() if value is not None}


def _rows(data: Mapping[str, JsonValue], path: str) -> list[dict[str, JsonValue]]:
    rows = data.get("tasks")
    if not isinstance(rows, list):
        what = "'tasks' is missing" if rows is None else f"tasks = {canonical(rows)[:80]} is no list"
        raise DataError(f"{path}: {what}", hint=f"as in {_EXAMPLE}")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(f"{path}: task {number}: {canonical(row)[:80]} is no task", hint="give a JSON object")
    return cast(list[dict[str, JsonValue]], rows)


def _check_keys(data: Mapping[str, JsonValue], known: Iterable[str], where: str) -> None:
    names = list(known)
    unknown = next((key for key in data if key not in names), None)
    if unknown is not None:
        raise DataError(f"{where}: unknown key {unknown!r}", hint=did_you_mean(unknown, names))


def _refused(error: ValidationError, where: str) -> DataError:
    """The first problem of a file or a task as an error that names the place."""
    problem = error.errors(include_url=False)[0]
    place = [part + 1 if isinstance(part, int) else part for part in problem["loc"]]
    if place[:1] == ["tasks"] and len(place) > 1:
        where, place = f"{where}: task {place[1]}", place[2:]
    key = ".".join(map(str, place))
    if problem["type"] == "missing":
        return DataError(f"{where}: {key!r} is missing", hint=f"add {key!r}")
    text = told(problem["msg"])
    shown = f"{key} = {shorten(repr(problem['input']), 80)}: " if key else ""
    return DataError(f"{where}: {shown}{text}", hint=f"change {key!r}" if key else "fix the task, or leave it out")
