"""Reading a run folder, also while the run is under way. Nothing here writes."""

import json
import re
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeVar, cast

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from etude.errors import DataError
from etude.files import is_locked
from etude.records import AppliedEdit, Edit, EditFate, Record, Verdict
from etude.records.record import Lenient
from etude.records.summary import Summary
from etude.skill import token_count

JOURNAL = "journal.db"
LOCK = "journal.db.lock"
EVENTS = "events.jsonl"
SUMMARY = "summary.json"
TASKS = "tasks.json"
"""What each task asks, and its gold answer."""
STOP = "stop"
"""A file of this name asks the run of the folder to stop."""

_TRAINED = ("config.yaml", "skills")
"""What a run writes at once. What measures skills only borrows its folder."""
_BORROWED = ("evaluations", "comparisons", "audits", "pruned", "rechecks", "plans")

_WRITTEN_AGAIN = "run `train` again with the same settings: it writes the file again, all answers are cached"
T = TypeVar("T")


class AskedTask(Lenient):
    """A task of `tasks.json`."""

    id: str = ""
    input: str = ""
    """What it asks."""
    gold: JsonValue = None
    """The reference that a scorer compares with."""


class GateView(Lenient):
    """`gate.json` of a step or a slow update."""

    verdict: Verdict | None = None
    """None when there was nothing to decide."""
    action: Literal["accepted", "rejected", "skipped"]
    best: bool = False
    """The candidate became the best skill."""
    origin: Literal["step", "slow_update", "tidy"] = "step"
    reason: str = ""
    """Why, in a sentence."""


class UpdateView(Lenient):
    """`update.json` of a step or a slow update."""

    edits: tuple[AppliedEdit, ...] = ()


class UntestedView(Lenient):
    """An edit that was not tried."""

    edit: Edit
    why: str


class SelectedView(Lenient):
    """`selected.json` of a step."""

    left_out: tuple[UntestedView, ...] = ()


class StepView(Record):
    """One step, or the slow update of one epoch, as a person sees it. What was not written yet is None or empty."""

    number: int
    """Of the step, or of the epoch."""
    action: Literal["accepted", "rejected", "skipped"] | None = None
    """None while the step is under way."""
    best: bool = False
    origin: Literal["step", "slow_update", "tidy"] = "step"
    reason: str = ""
    current: float | None = None
    """Mean validation score of the skill the step began with, in [0, 1]."""
    candidate: float | None = None
    """Mean validation score of the candidate, in [0, 1]; None when it was rejected before the end."""
    edits: dict[EditFate, int] = Field(default_factory=dict[EditFate, int])
    """How many edits had which fate."""
    skill_tokens: int | None = None
    """Estimated tokens of the candidate."""


class RunView(Record):
    """A run folder."""

    name: str
    path: str
    summary: Summary | None
    """None before the run has written one."""
    outdated: bool
    """The summary says why the run stopped, but it was continued since and has not ended yet."""
    steps: tuple[StepView, ...]
    epochs: tuple[StepView, ...]
    """The slow updates."""
    skills: tuple[str, ...]
    """The skill after each step, as paths within the folder; `skills/0000.md` is the initial one."""
    running: bool
    """A process holds the folder's lock."""
    resumable: bool
    """No process works on it and it is not finished: it has no summary, or one that says why it `stopped`."""
    evaluations_only: bool
    """No run was ever trained in the folder: other verbs borrowed it."""


def run_names(folder: Path | str) -> tuple[str, ...]:
    """Names of the runs in a folder, sorted, also of those that lost their journal; none when there is no such
    folder."""
    root = Path(folder)
    return tuple(sorted(path.name for path in root.glob("*/") if is_run(path))) if root.is_dir() else ()


def is_run(path: Path) -> bool:
    """Whether a folder holds a run, or what is left of one."""
    return (path / JOURNAL).exists() or trained_in(path)


def holds_work(path: Path) -> bool:
    """Whether a run has decided, or skills were scored, in a folder: that rests on facts."""
    return any(
        next(path.glob(pattern), None) for pattern in ("steps/*/gate.json", *(f"{name}/*" for name in _BORROWED))
    )


def trained_in(path: Path) -> bool:
    """Whether a run was begun in a folder: it writes its skill once its settings are in the journal."""
    return (path / EVENTS).exists() and (path / "skills").exists()


def lost_journal(path: Path, what: str) -> DataError:
    """The error for a folder with what a run came to, without the facts that it rests on."""
    return DataError(
        f"the journal {str(path / JOURNAL)!r} {what}, and the folder holds what a run came to",
        hint="restore the journal from a copy, or move the folder away to begin anew",
    )


def missing_run(path: Path) -> DataError:
    """The error for a folder that holds no run; its hint names the other runs of that folder."""
    return DataError(f"there is no run in {str(path)!r}", hint=runs_in(path.parent))


def runs_in(*folders: Path) -> str:
    """The runs in the first folder that holds any, as a hint."""
    for folder in folders:
        if names := run_names(folder):
            return f"runs in {str(folder)!r}: {', '.join(names)}"
    return f"{str(folders[-1])!r} holds no runs"


def is_running(path: Path | str) -> bool:
    """Whether a process works in the run folder."""
    return is_locked(Path(path) / LOCK)


def read_run(path: Path | str) -> RunView:
    """Read a run folder. Raises DataError: there is no run, or one of its files is damaged."""
    root = Path(path)
    if not (root / JOURNAL).exists():
        raise lost_journal(root, "is missing") if trained_in(root) else missing_run(root)
    running = is_running(root)
    summary = read_view(root / SUMMARY, Summary)
    stopped = summary is not None and summary.stopped is not None
    borrowed = not any((root / name).exists() for name in _TRAINED)
    return RunView(
        name=root.resolve().name,
        path=str(root),
        summary=summary,
        # A process that comes to its end says so; one that is killed does not.
        outdated=stopped and last_event(root, "run_started", "run_finished").get("kind") == "run_started",
        steps=tuple(map(_step, numbered(root, "steps/*"))),
        epochs=tuple(map(_step, numbered(root, "epochs/*"))),
        skills=tuple(f"skills/{file.name}" for file in numbered(root, "skills/*.md")),
        running=running,
        resumable=not running and not borrowed and (summary is None or stopped),
        evaluations_only=borrowed,
    )


def read_events(path: Path | str, *kinds: str) -> Iterator[dict[str, JsonValue]]:
    """The events of a run folder, oldest first; only those of the given kinds, if any are given. Lines that a killed
    process left unfinished are left out."""
    log = Path(path) / EVENTS
    if not log.exists():
        return
    with log.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if kinds and not any(f'"{kind}"' in line for kind in kinds):
                continue  # most lines are attempts and calls, and parsing them takes long
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(event, dict):
                found = cast(dict[str, JsonValue], event)
                if not kinds or found.get("kind") in kinds:
                    yield found


def last_event(path: Path | str, *kinds: str) -> dict[str, JsonValue]:
    """The last of `read_events`; empty where there is none."""
    return next(iter(deque(read_events(path, *kinds), 1)), dict[str, JsonValue]())


def read_tasks(path: Path) -> dict[str, AskedTask]:
    """What the tasks of a run ask, by id; nothing where the run has not written it. Raises DataError: it is
    damaged."""
    return {task.id: task for task in read_view(path / TASKS, tuple[AskedTask, ...]) or ()}


def numbered(root: Path, pattern: str) -> list[Path]:
    """What a run has numbered, as `steps/0001` or `skills/0001.md`; other files were put there by somebody else."""
    named = ((path.relative_to(root).parts[1], path) for path in root.glob(pattern))
    ours = [(len(name), name, path) for name, path in named if re.fullmatch(r"\d+(?:\.md)?", name)]
    return [path for _, _, path in sorted(ours)]


def _step(folder: Path) -> StepView:
    gate = read_view(folder / "gate.json", GateView)
    update = read_view(folder / "update.json", UpdateView)
    candidate = text_of(folder / "candidate.md")
    verdict = None if gate is None else gate.verdict
    return StepView(
        number=int(folder.name),
        action=None if gate is None else gate.action,
        best=gate is not None and gate.best,
        origin="step" if gate is None else gate.origin,
        reason="" if gate is None else gate.reason,
        current=None if verdict is None else verdict.current,
        candidate=None if verdict is None else verdict.candidate,
        edits={} if update is None else Counter(edit.fate for edit in update.edits),
        skill_tokens=None if candidate is None else token_count(candidate),
    )


def read_view(path: Path, kind: type[T]) -> T | None:
    """What a file of a run folder holds; None where it is not written yet. Raises DataError: it is damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror}", hint="fix its permissions") from None
    try:
        return TypeAdapter(kind).validate_json(data)
    except ValidationError as error:
        raise DataError(f"{str(path)!r} is damaged: {error.errors()[0]['msg']}", hint=_WRITTEN_AGAIN) from None


def skill_text(path: Path) -> str:
    """The skill that a file of a run folder is. Raises DataError: it is gone, or is no text."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}", hint=_WRITTEN_AGAIN) from None


def text_of(path: Path) -> str | None:
    """The text of a file of a run folder, whatever bytes it has; None where it is not written yet."""
    try:
        return path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return None
