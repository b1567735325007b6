"""Compare two skills: the same tasks and trials under both, over the facts of a run folder."""

from pathlib import Path
from typing import Unpack

from etude.build import open_workbench
from etude.comparison import compare_on
from etude.config import TrainConfig
from etude.display import seen
from etude.errors import ConfigError, SkillError
from etude.events import ATTEMPTING, StageFinished, StageStarted
from etude.records import Skill, Split, digest
from etude.records.summary import Comparison
from etude.skill import Document, load_skill
from etude.workbench import Given, takes_given

TRIALS = 3
"""Attempts at each task under each skill unless given. Two are the fewest that show how much of a difference
is luck of the attempt; with three that luck has a third of its variance left, and further ones add little."""


@takes_given
async def acompare_skills(
    config: TrainConfig,
    a: Skill | Path | str | None,
    b: Skill | Path | str | None,
    split: Split = "test",
    trials: int | range = TRIALS,
    *,
    margin: float = 0.0,
    **given: Unpack[Given],
) -> Comparison:
    """Attempt every task of a split `trials` times under both skills and decide whether B should replace A.

    The run folder's journal is used and added to, so that nothing is paid for twice; the run itself is not changed.
    Trials on training and validation tasks are such as no search has chosen by. Method:
    `etude.comparison.compare_on`.

    Args:
        a: a skill, or the path of one; None for no skill. The same for `b`.
        trials: how many, or their numbers: what was attempted with the same numbers elsewhere may come out alike, as
            they are the seeds of attempts.
        margin: the smallest gain worth having, from 0 to below 1: `do not ship` needs no proof of harm, only that a
            larger gain is excluded. Below 0, down to above -1, it is a loss that is allowed: `ship` needs no proof
            of a gain, only that a larger loss is excluded.

    Raises:
        InputError: the skills are equal, the split is empty, or something cannot be used as it is.
        StopRun: a budget is used up, an endpoint is dead, or attempts errored.
    """
    if not -1 < margin < 1:
        hint = "a gain in mean score, or as a negative number a loss, between -1 and 1"
        raise ConfigError(f"margin = {margin!r} is out of range", hint=hint)
    skills = _loaded(a), _loaded(b)
    if skills[0].hash == skills[1].hash:
        raise SkillError("both skills are the same", hint="compare two skills that differ in text or files")
    given["skill"] = skills[0]
    # The workbench warns of repeated attempts by the settings, and other splits need no test tasks.
    count, named = (trials, trials) if isinstance(trials, int) else (len(trials), list(trials))
    config = config.model_copy(update={"test": config.test.model_copy(update={"trials": count, "enabled": False})})
    async with open_workbench(config, given, claim=False) as bench:
        tasks = bench.split(split)
        stage = ATTEMPTING[split]
        bench.emit(StageStarted(stage=stage, step=0, epoch=0, total=2 * len(tasks) * count))
        comparison = await compare_on(bench, skills, split, trials, margin)
        bench.emit(StageFinished(stage=stage, step=0, note=comparison.verdict))
        asked = digest([bench.rollout.agent.fingerprint(), split, named, margin])[:8]
        path = bench.folder.write_json(f"comparisons/{skills[0].hash}-{skills[1].hash}-{asked}.json", comparison)
        return comparison.model_copy(update={"file": str(path)})


compare_skills = seen(acompare_skills)


def _loaded(skill: Skill | Path | str | None) -> Skill:
    loaded = skill if isinstance(skill, Skill) else load_skill(skill)
    Document.parse(loaded.text)
    return loaded
