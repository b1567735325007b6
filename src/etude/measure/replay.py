"""An attempt of a run, made again from its journal without a call."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Unpack

from etude.build import open_workbench
from etude.concurrency import synchronous
from etude.config import TrainConfig
from etude.errors import StopRun
from etude.records import Attempt, Skill, Split
from etude.skill.folder import initial_skill
from etude.stages.evaluation import FRESH
from etude.stages.shared.rollout import attempt_id
from etude.store import SqliteJournal
from etude.store.rounds import run_folder
from etude.store.views import JOURNAL
from etude.workbench import Given

_MOST_TRIALS = 50


async def areplay_attempt(
    config: TrainConfig, place: tuple[str, str, Split], skills: Sequence[Skill], **given: Unpack[Given]
) -> Attempt | None:
    """The attempt at `place` (its id, the id of its task, the split) of the run that `config.run` names; None when it
    was made with none of the `skills`, or the journal does not hold all of it.
    Raises InputError: something that the settings name cannot be used here."""
    name, task_id, split = place
    with tempfile.TemporaryDirectory() as folder:
        journal = SqliteJournal(Path(config.run.folder) / config.run.name / JOURNAL, read_only=True)
        try:
            journal.copy_to(Path(folder) / config.run.name / JOURNAL)
        finally:
            journal.close()
        run = config.run.model_copy(update={"folder": folder})
        given["offline"] = True
        if "skill" not in given and (initial := initial_skill(run_folder(config))) is not None:
            given["skill"] = initial
        async with open_workbench(config.model_copy(update={"run": run}), given, claim=False) as bench:
            task = next((task for task in bench.tasks[split] if task.id == task_id), None)
            for skill, trial in _made_with(name, task_id, skills):
                try:
                    attempt = None if task is None else await bench.rollout.attempt(task, skill, trial)
                except StopRun:  # the journal lacks an answer
                    return None
                if attempt is not None and attempt.outcome != "void":
                    return attempt
    return None


replay_attempt = synchronous(areplay_attempt)


def _made_with(name: str, task: str, skills: Sequence[Skill]) -> Iterator[tuple[Skill, int]]:
    """The skill and the trial that give this id."""
    for trial in (*range(_MOST_TRIALS), *range(FRESH, FRESH + _MOST_TRIALS)):
        for skill in skills:
            if attempt_id(task, skill, trial) == name:
                yield skill, trial
