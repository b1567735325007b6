"""The tasks of a night: from a reviewed file, or mined from transcripts that no night has used."""

import asyncio
import os
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from etude.config.loading import is_path
from etude.errors import ConfigError, DataError, EtudeError
from etude.models.wrappers.structured import advice
from etude.readable import counted
from etude.records import canonical, digest
from etude.sleep.config import SleepConfig
from etude.sleep.report import NightIntake
from etude.sleep.state import SleepState, Surroundings, why_unreadable
from etude.sleep.tasks.clusters import by_recurrence, divide
from etude.sleep.tasks.dreams import dream, recall
from etude.sleep.tasks.files import replay
from etude.sleep.tasks.mined import MinedTask, Quote, SessionRef, Wish, learnable, untested
from etude.sleep.tasks.mining import mine
from etude.sleep.tasks.probe import GAMEABLE, probe
from etude.sleep.transcripts.harvest import Harvest, SessionQuery, harvest
from etude.sleep.transcripts.ledger import Entry, Ledger
from etude.sleep.transcripts.sources import Source, sources_named
from etude.workbench import Workbench

_FEWEST = 3
"""Tasks of earlier nights that stand in for a side."""
_ARCHIVED = 1000
"""Tasks of earlier nights that are kept, the latest ones."""


class GatheredTasks(NightIntake):
    """The tasks of a night and what was left out on the way to them."""

    tasks: tuple[MinedTask, ...] = ()
    """With their sides; rewordings and tasks of earlier nights among them."""
    wishes: tuple[Wish, ...] = ()
    """What users said outright that they want in later work."""
    overheard: tuple[Quote, ...] = ()
    """What users did not say and tasks or wishes have words of: results of tools, pages, names of files."""
    notes: tuple[str, ...] = ()
    settings: dict[str, str] = Field(default_factory=dict[str, str])
    """Digests of the settings that the tasks, or what is done with them, depend on."""
    later: tuple[MinedTask, ...] = ()
    """Tasks beyond the limit of the night: they are archived, so that later nights can recall them."""
    unmined: tuple[SessionRef, ...] = ()
    """Sessions that the next night is to try again: the optimizer gave no usable answer about them."""
    entries: tuple[Entry, ...] = ()
    """What the ledger is to know when the night succeeds."""

    def without(self, id: str, why: str) -> "GatheredTasks":
        """The same without a task."""
        changes = {
            "tasks": tuple(each for each in self.tasks if each.id != id),
            "dropped": {**self.dropped, why: self.dropped.get(why, 0) + 1},
        }
        return self.model_copy(update=changes)


def sources_of(config: SleepConfig) -> list[Source]:
    """The sources to read: those that are named, else all.

    Raises:
        ConfigError: a name is unknown; a path leads nowhere.
    """
    named = config.sleep.sources
    missing = next((name for name in named if is_path(name) and not Path(name).exists()), None)
    if missing is not None:
        raise ConfigError(
            f"sleep.sources: {missing!r} does not exist", hint="name a .jsonl file, or a folder that has such files"
        )
    return sources_named(tuple(dict.fromkeys(named)))


def settings_of(config: SleepConfig) -> dict[str, str]:
    """A digest of each setting that the result of a night depends on, by section and key; errors as `from_file`."""
    values: dict[str, JsonValue] = {}
    for name, value in config.identity().items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        values |= {f"{name}.{key}".rstrip("."): part for key, part in parts}
    if config.sleep.tasks is not None:  # what the file says, wherever it is
        values["sleep.tasks"] = from_file(config).model_dump(mode="json")
    return {name: digest(canonical(value))[:16] for name, value in sorted(values.items())}


def gleaned(config: SleepConfig, around: Surroundings, ledger: Ledger, sources: Sequence[Source]) -> Harvest:
    """The harvest of the settings. Writes nothing."""
    sleep, scope = config.sleep, os.path.realpath(config.sleep.project)
    asked = SessionQuery(
        now=around.now(),
        scope=scope,
        other_paths=sleep.other_paths,
        scripts=sleep.scripts,
        hours=sleep.lookback_hours,
        limit=sleep.max_tasks,
    )
    return harvest(sources, ledger, asked, home=around.home, environ=around.environ)


def from_file(config: SleepConfig, *, tools: bool = True) -> GatheredTasks:
    """The tasks of the reviewed file that a target (with `tools` or without) can attempt; divided here when none of
    them says on which side it is. Raises DataError: the file cannot be used, or no person has reviewed it."""
    read, redacted = replay(Path(str(config.sleep.tasks)))
    tasks, dropped = _doable(read, tools=tools)
    if any(task.split != "train" for task in tasks):
        tasks = learnable(tasks)
        return GatheredTasks(tasks=tasks, dropped=dropped, redacted=redacted, notes=untested(tasks))
    gathered = divided(config, tasks, ())
    return gathered.model_copy(update={"dropped": {**gathered.dropped, **dropped}, "redacted": redacted})


def _doable(tasks: Sequence[MinedTask], *, tools: bool) -> tuple[tuple[MinedTask, ...], dict[str, int]]:
    """The tasks that a target can attempt, and how many others there were."""
    kept = tuple(task for task in tasks if tools or not task.tools)
    more = len(tasks) - len(kept)
    return kept, {"it needs tools, and the target takes none": more} if more else {}


async def from_transcripts(
    config: SleepConfig,
    found: Harvest,
    bench: Workbench,
    known: Sequence[MinedTask],
    tried: Collection[tuple[str, str]],
    night: int,
) -> GatheredTasks:
    """Tasks mined from the sessions of a harvest, with their sides.

    Args:
        known: those of earlier nights.
        tried: sessions that an earlier night has left waiting once more (`Ledger.once_more`): this is the last time.

    Raises:
        EtudeError: nothing could be mined, so that it is more likely the model than the sessions.
        StopRun: a call failed; the same call resumes.
    """
    optimizer = bench.optimizer()
    mined = await mine(found.taken, optimizer, night)
    again = tuple(each.session for each in mined.failed if (each.session.source, each.session.id) not in tried)
    if again and len(mined.failed) == len(found.taken) and not (mined.tasks or mined.wishes):
        model = bench.models["optimizer"]
        other = "look at the optimizer's model"
        other += "" if bench.structured.rung == "prompt" else ", or set optimizer.structured: prompt"
        raise EtudeError(
            f"no session could be mined: {mined.failed[0].reason}",
            hint=advice(model) if model.answered_by_hand else other,
        )
    tools = bench.models["target"].takes_tools
    doable, undoable = _doable(mined.tasks, tools=tools)
    known, _ = _doable(known, tools=tools)
    judge = bench.models.get("judge")
    asks = judge is not None and not judge.answered_by_hand
    usable, fooled = await probe(doable, bench.rollout.env if asks else None)
    gathered = await asyncio.to_thread(divided, config, usable, known)
    tasks = gathered.tasks
    taken = {task.derived_from for task in tasks}
    past = [task for task in known if task.id not in taken]
    tasks += recall(past, tasks, config.sleep.dream * sum(task.split == "train" for task in tasks))
    dreamt = await dream(tasks, config.sleep.dream, optimizer)
    dropped = Counter((*mined.dropped, *dreamt.dropped, *fooled))
    dropped.update({**undoable, **gathered.dropped})
    failures = (
        f"{each.session.source}: session {each.session.id!r} could not be mined: {each.reason} "
        + ("(the next night tries it again)" if each.session in again else "(it was the second try, and the last)")
        for each in mined.failed
    )
    return gathered.model_copy(
        update={
            "tasks": (*tasks, *dreamt.tasks),
            "wishes": mined.wishes,
            "overheard": mined.overheard,
            **{name: getattr(found, name) for name in NightIntake.model_fields},
            "problems": (*found.problems, *failures),
            "unmined": again,
            "entries": found.entries,
            "notes": (*gathered.notes, *_marked(tasks), *found.hints, *_older(config, found, night)),
            "dropped": dict(sorted(dropped.items())),
        }
    )


def _older(config: SleepConfig, found: Harvest, night: int) -> list[str]:
    """What the first night may take in besides."""
    older, hours = found.skipped.get("too old", 0), config.sleep.lookback_hours
    if night != 1 or not older or hours is None:
        return []
    how = f"older than sleep.lookback_hours = {hours:g}; `--sleep.lookback_hours null` takes in those of this project"
    return [f"left out: {counted(older, 'session')} of all projects, {how}"]


def _marked(tasks: Sequence[MinedTask]) -> list[str]:
    """How many of the held-out tasks prove little."""
    held = [task.gameable for task in tasks if task.split == "val"]
    return [f"{sum(held)} of {len(held)} held-out tasks are {GAMEABLE}"] if any(held) else []


def divided(config: SleepConfig, tasks: Sequence[MinedTask], known: Sequence[MinedTask]) -> GatheredTasks:
    """The tasks of a night on their sides, as many as it may have, and tasks of earlier nights (`known`, with their
    clusters and sides) for a side with none."""
    sleep = config.sleep
    found = divide(tasks, known, val=sleep.val_fraction, seed=config.train.seed)
    ranked = by_recurrence(found)
    kept, later = ranked[: sleep.max_tasks], ranked[sleep.max_tasks :]
    notes: list[str] = []
    for side in ("train", "val") if kept else ():
        if any(task.split == side for task in kept) or (side == "val" and not sleep.val_fraction):
            continue
        found = recall(known, kept, max(_FEWEST, len(kept)), side, 0.0)
        kept += found
        if found:
            notes.append(f"{side!r} has none tonight: in its place {counted(len(found), 'task')} of earlier nights")
    kept = learnable(kept)
    return GatheredTasks(
        tasks=kept,
        dropped={f"more than sleep.max_tasks = {sleep.max_tasks}": len(later)} if later else {},
        later=later,
        notes=(*notes, *untested(kept)),
    )


def archived(state: SleepState) -> tuple[MinedTask, ...]:
    """Real tasks of earlier nights. Raises DataError: the file is damaged."""
    if not state.archive.exists():
        return ()
    try:
        lines = state.archive.read_bytes().split(b"\n")  # a task may hold the line separators of Unicode as they are
        return tuple(MinedTask.model_validate_json(line) for line in lines if line)
    except (OSError, ValidationError) as error:
        raise DataError(
            f"{str(state.archive)!r} cannot be read: {why_unreadable(error)}",
            hint="move it away; earlier tasks are then forgotten",
        ) from error


def archive(state: SleepState, tasks: Sequence[MinedTask]) -> None:
    """Keep the real tasks of a night for later ones, the latest 1,000 of all; a task that is there already is
    replaced."""
    kept = {task.id: task for task in archived(state)}
    for task in tasks:
        if task.origin == "real":
            kept.pop(task.id, None)
            kept[task.id] = task
    latest = list(kept.values())[-_ARCHIVED:]
    state.write(state.archive, "".join(f"{task.model_dump_json()}\n" for task in latest))
