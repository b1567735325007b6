"""Compare two skills: the same tasks and trials under both, over the facts of a run folder."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, Unpack

from etude.comparison import FEWEST, MANY_TRIALS, compare_on, delivers, least_p, with_these
from etude.config import Settings, TrainConfig, another_trial_tells, config_of, one_answer
from etude.display import seen
from etude.errors import ConfigError, SkillError
from etude.events import ATTEMPTING, Notice, StageFinished, StageStarted
from etude.measure.evaluate import kept, measuring, need_trials
from etude.records import Skill, Split, Task
from etude.records.provenance import Provenance
from etude.records.summary import Comparison
from etude.run_log import counted
from etude.skill import Document, load_skill
from etude.skill.folder import PROVENANCE, has_provenance, place_of
from etude.stages.shared.contest import ERROR
from etude.store.views import read_view
from etude.workbench import Given, Workbench, takes_given

TRIALS = 3
"""Attempts at each task under each skill unless given. Two are the fewest that show how much of a difference
is luck of the attempt; with three that luck has a third of its variance left, and further ones add little."""


@takes_given
async def acompare_skills(
    config: Settings,
    a: Skill | Path | str | None,
    b: Skill | Path | str | None,
    split: Split | Literal["all"] = "test",
    trials: int | range = TRIALS,
    *,
    margin: float = 0.0,
    **given: Unpack[Given],
) -> Comparison:
    """Attempt every task of a split `trials` times under both skills and decide whether B should replace A.

    The run folder's journal is used and added to, so that nothing is paid for twice; the run itself is not changed.
    Trials on training and validation tasks are such as no search has chosen by. With fewer than five tasks the
    verdict is about these very tasks (`Comparison.claim`). Method: `etude.comparison.compare_on`.

    Args:
        a: a skill, or the path of one; None for no skill. The same for `b`.
        split: `all` takes the tasks of all splits, for skills that were trained on none of them.
        trials: how many, or their numbers: what was attempted with the same numbers elsewhere may come out alike, as
            they are the seeds of attempts.
        margin: the smallest gain worth having, from 0 to below 1: `do not ship` needs no proof of harm, only that a
            larger gain is excluded. Below 0, down to above -1, it is a loss that is allowed: `ship` needs no proof
            of a gain, only that a larger loss is excluded.

    Raises:
        InputError: the split is empty, a skill was trained and the split is `all`, or on tasks of the test split, or
            something cannot be used as it is.
        StopRun: a budget is used up, an endpoint is dead, or attempts errored.
    """
    if split == "all":
        for skill in (a, b):
            need_untrained(str(skill), trained=isinstance(skill, Path | str) and has_provenance(Path(skill)))
    chosen = {task for one in (a, b) if isinstance(one, Path | str) for task in lines_chosen_by(Path(one))}
    what = Asked(split, trials, margin, not margin, frozenset(chosen))
    return await compared(config_of(config), (_loaded(a), _loaded(b)), what, given)


compare_skills = seen(acompare_skills)


async def compare_alike(config: TrainConfig, a: Skill, b: Skill, trials: int, given: Given) -> Comparison:
    """As `acompare_skills` on validation tasks, with the verdict on tasks like these however few there are.
    Raises InputError, StopRun: as there."""
    return await compared(config, (a, b), Asked("val", trials), given)


class Asked(NamedTuple):
    """What a comparison is to be made of."""

    split: Split | Literal["all"]
    trials: int | range
    margin: float = 0.0
    few: bool = False
    """Fewer than five tasks have a verdict on just these."""
    chosen_by: frozenset[str] = frozenset()
    """No test tasks, whatever the split is called."""


async def compared(config: TrainConfig, skills: tuple[Skill, Skill], what: Asked, given: Given) -> Comparison:
    """As `acompare_skills`."""
    split, trials, margin, few, chosen_by = what
    if not -1 < margin < 1:
        hint = "a gain in mean score, or as a negative number a loss, between -1 and 1"
        raise ConfigError(f"margin = {margin!r} is out of range", hint=hint)
    given = {**given, "skill": next(filter(delivers, skills), skills[0])}
    count, named = (trials, trials) if isinstance(trials, int) else (len(trials), list(trials))
    need_trials(count)
    async with measuring(config, given, count) as bench:
        if split == "all":
            bench, split = _of_all_splits(bench), "test"
        tasks = bench.split(split)
        if split == "test" and (known := [task.own_id for task in tasks if chosen_by & {task.id, task.own_id}]):
            raise SkillError(
                f"{len(known)} of {len(tasks)} tasks, as {known[0]!r}, have chosen lines of a skill that is compared",
                hint="compare on tasks that no training has seen: those of the test split of its run, or new ones",
            )
        stage = ATTEMPTING[split]
        if few and (told := what_few_show(config, tasks, count)) is not None:
            bench.emit(told)
        bench.emit(StageStarted(stage=stage, step=0, epoch=0, total=2 * len(tasks) * count))
        comparison = await compare_on(bench, skills, split, trials, margin)
        if few:  # counting all ways takes seconds where there are thousands of attempts
            comparison = await asyncio.to_thread(with_these, comparison, bench)
        bench.emit(StageFinished(stage=stage, step=0, note=comparison.said))
        return kept(bench, "comparisons", comparison, skills, tasks, split, named, margin, few)


def need_untrained(skill: str, *, trained: bool) -> None:
    """Raises SkillError: a skill was trained, so some of all tasks may have chosen its lines."""
    if trained:
        raise SkillError(
            f"skill {skill!r} was trained, and some of the tasks of all splits may have chosen its lines",
            hint="compare it on the test tasks, which no training sees",
        )


def lines_chosen_by(skill: Path) -> frozenset[str]:
    """Ids of the tasks by which lines of a skill were chosen, as far as that stands beside it, or in its run folder.
    Raises DataError: it is damaged."""
    made = read_view(place_of(skill) / PROVENANCE, Provenance)
    edits = [edit for change in made.changes for edit in change.edits] if made is not None else []
    return frozenset(task for edit in edits for task in (*edit.failures.values(), *edit.needed))


def _of_all_splits(bench: Workbench) -> Workbench:
    """With all tasks as test tasks."""
    every = [task for some in bench.tasks.values() for task in some]
    return replace(bench, tasks={"train": (), "val": (), "test": tuple(every)})


def what_few_show(config: TrainConfig, tasks: Sequence[Task], trials: int) -> Notice | None:
    """What fewer tasks can show than a verdict on tasks like them takes, before anything is paid for; None for more
    of them."""
    own = len({task.own_id for task in tasks})
    if own >= FEWEST:
        return None
    counts = [trials if another_trial_tells(config, task) else 1 for task in tasks]
    few, least = counted(own, "task"), least_p(counts)
    if least <= ERROR:
        text = f"{few} can show whether a skill is better on just these tasks"
        return Notice(level="info", text=f"{text}; on tasks like these it takes {FEWEST} or more")
    how = " and ".join(filter(None, dict.fromkeys(one_answer(config).values())))
    still = f" {how}, where all trials of a task count as one," if min(counts) < trials else ""
    more = next((n for n in range(trials, MANY_TRIALS) if least_p([n] * len(counts)) <= ERROR), None)
    cure = f", or take {more} trials" if more and not still else ", or set a temperature" * ("temperature" in still)
    text = (
        f"{few} with {counted(trials, 'trial')} each{still} cannot show that a skill is better, not even on just "
        f"these tasks: luck alone may do as well in {least:.0%} of cases; bring {FEWEST} tasks or more{cure}"
    )
    return Notice(level="warning", text=text)


def _loaded(skill: Skill | Path | str | None) -> Skill:
    loaded = skill if isinstance(skill, Skill) else load_skill(skill)
    Document.parse(loaded.text)
    return loaded
