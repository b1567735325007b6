"""The tasks of a night: from a reviewed file, or mined from the transcripts that nobody has used yet."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from skillgrad.build import Workbench
from skillgrad.errors import ConfigError, DataError
from skillgrad.records import Record
from skillgrad.sleep.clusters import by_recurrence, divide
from skillgrad.sleep.config import SleepConfig
from skillgrad.sleep.dreams import dream, recall
from skillgrad.sleep.harvest import Asked, Harvest, harvest
from skillgrad.sleep.ledger import Ledger
from skillgrad.sleep.mining import Mined, mine
from skillgrad.sleep.sources import SOURCES, Source, source_of
from skillgrad.sleep.sources.plain import Plain
from skillgrad.sleep.state import SleepState, state_folder
from skillgrad.sleep.taskfile import replay
from skillgrad.sleep.tasks import MinedTask, SessionRef

__all__ = [
    "Gathered",
    "Surroundings",
    "archive",
    "archived",
    "asked_of",
    "from_file",
    "from_transcripts",
    "gleaned",
    "sources_of",
    "state_of",
]

_ARCHIVED = 1000
"""Tasks of earlier nights that are kept, the latest ones."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Surroundings:
    """What a night depends on beside its settings."""

    home: Path = field(default_factory=Path.home)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    now: Callable[[], datetime] = _now
    """The clock, in UTC."""


class Gathered(Record):
    """The tasks of a night and what was left out on the way to them."""

    tasks: tuple[MinedTask, ...] = ()
    """With their sides; rewordings and tasks of earlier nights among them."""
    sessions: dict[str, int] = Field(default_factory=dict[str, int])
    """Sessions that were read for them, by source."""
    skipped: dict[str, int] = Field(default_factory=dict[str, int])
    redacted: dict[str, int] = Field(default_factory=dict[str, int])
    waiting: int = 0
    problems: tuple[str, ...] = ()
    dropped: dict[str, int] = Field(default_factory=dict[str, int])
    notes: tuple[str, ...] = ()


def state_of(config: SleepConfig, around: Surroundings) -> SleepState:
    """Where the project's nights are.

    Raises:
        ConfigError: there is no such project.
    """
    project = Path(config.sleep.project)
    if not project.is_dir():
        raise ConfigError(f"sleep.project = {config.sleep.project!r} is no folder", hint="name the project's folder")
    base = None if config.sleep.state is None else Path(config.sleep.state).absolute()
    return SleepState(state_folder(project, home=around.home, environ=around.environ, base=base))


def sources_of(config: SleepConfig) -> list[Source]:
    """The sources to read: those that are named, else all that were tried on real transcripts.

    Raises:
        ConfigError: a name is unknown, or the source `jsonl` has nothing to read.
    """
    sleep = config.sleep
    names = sleep.sources or [name for name in SOURCES if name != "jsonl" or sleep.transcripts is not None]
    if "jsonl" in names and sleep.transcripts is None:
        raise ConfigError("the source 'jsonl' has nothing to read", hint="set sleep.transcripts to a file or folder")
    found = [Plain(Path(sleep.transcripts or "")) if name == "jsonl" else source_of(name) for name in names]
    return [source for source in found if sleep.sources or source.verified]


def asked_of(config: SleepConfig, now: datetime) -> Asked:
    """Which sessions a night is to work on."""
    sleep = config.sleep
    scope = os.path.realpath(sleep.project) if sleep.scope == "project" else None
    return Asked(now=now, scope=scope, hours=sleep.lookback_hours, limit=sleep.max_sessions)


def gleaned(config: SleepConfig, around: Surroundings, ledger: Ledger, sources: Sequence[Source]) -> Harvest:
    """The harvest of the settings. Writes nothing."""
    home = around.home if config.sleep.home is None else Path(config.sleep.home)
    return harvest(sources, ledger, asked_of(config, around.now()), home=home, environ=around.environ)


def from_file(config: SleepConfig) -> Gathered:
    """The tasks of the reviewed file; divided here when none of them says on which side it is.

    Raises:
        DataError: the file cannot be used, or nobody has reviewed it.
    """
    tasks = replay(Path(str(config.sleep.tasks))).tasks
    if any(task.split != "train" for task in tasks):
        return Gathered(tasks=tasks)
    return _divided(config, tasks, ())


async def from_transcripts(
    config: SleepConfig, found: Harvest, bench: Workbench, known: Sequence[MinedTask], night: int
) -> Gathered:
    """Tasks mined from the sessions of a harvest, with their sides.

    Args:
        known: tasks of earlier nights.

    Raises:
        StopRun: a call failed; the same call goes on from there.
    """
    optimizer = bench.optimizer()
    sessions = [each.session for each in found.sessions]
    seen = {SessionRef(source=one.session.source, id=one.session.id): one.new for one in found.sessions}
    mined = await mine(sessions, optimizer, night=night, seen=seen)
    if sessions and len(mined.failed) == len(sessions):
        raise DataError(
            f"no session could be mined: {mined.failed[0].reason}",
            hint="look at the optimizer's model, or set optimizer.structured: prompt",
        )
    gathered = _divided(config, mined.tasks, known)
    tasks = gathered.tasks
    tasks += recall(known, tasks, config.sleep.recall)
    dreamt = await dream(tasks, config.sleep.dream, optimizer)
    dropped = Counter(each.reason for each in (*mined.dropped, *dreamt.dropped))
    return gathered.model_copy(
        update={
            "tasks": (*tasks, *dreamt.tasks),
            "sessions": dict(sorted(Counter(session.source for session in sessions).items())),
            "skipped": found.skipped,
            "redacted": found.redacted,
            "waiting": found.beyond,
            "problems": (*found.problems, *_failures(mined)),
            "dropped": dict(sorted((dropped + Counter(gathered.dropped)).items())),
        }
    )


def _divided(config: SleepConfig, tasks: Sequence[MinedTask], known: Sequence[MinedTask]) -> Gathered:
    sleep = config.sleep
    sides = divide(tasks, known, val=sleep.val_fraction, test=sleep.test_fraction, seed=config.train.seed)
    kept = by_recurrence(sides.tasks)
    more = len(kept) - sleep.max_tasks
    notes = [f"there is nothing to {'train on' if side == 'train' else 'hold out'}" for side in sides.lacking]
    return Gathered(
        tasks=kept[: sleep.max_tasks],
        dropped={f"more than sleep.max_tasks = {sleep.max_tasks}": more} if more > 0 else {},
        notes=tuple(notes) if tasks else (),
    )


def _failures(mined: Mined) -> Iterable[str]:
    for each in mined.failed:
        yield f"{each.session.source}: session {each.session.id!r} could not be mined: {each.reason}"


def archived(state: SleepState) -> tuple[MinedTask, ...]:
    """Real tasks of earlier nights.

    Raises:
        DataError: the file is damaged.
    """
    if not state.archive.exists():
        return ()
    try:
        lines = state.archive.read_text(encoding="utf-8").splitlines()
        return tuple(MinedTask.model_validate_json(line) for line in lines)
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise DataError(
            f"{str(state.archive)!r} cannot be read: {error}", hint="move it away; earlier tasks are then forgotten"
        ) from error


def archive(state: SleepState, tasks: Sequence[MinedTask]) -> None:
    """Keep the real tasks of a night for later ones; a task that is there already is replaced."""
    kept = {task.id: task for task in archived(state)}
    for task in tasks:
        if task.origin == "real":
            kept.pop(task.id, None)
            kept[task.id] = task
    latest = list(kept.values())[-_ARCHIVED:]
    state.write(state.archive, "".join(f"{task.model_dump_json()}\n" for task in latest))
