"""Compare two skills: the same tasks and trials under both, over the facts of a run folder."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Literal, Unpack

from skillgrad.build import Given, Workbench, open_workbench
from skillgrad.config import GateSection, TrainConfig
from skillgrad.errors import DataError, SkillError, StopRun
from skillgrad.events import StageFinished, StageStarted
from skillgrad.records import Attempt, Metric, Record, Score, Skill, Split, Task, digest
from skillgrad.skill import Document, load_skill
from skillgrad.stages.rollout import Rollout, Try, too_many_voids
from skillgrad.statistics import difference_interval, mean_interval
from skillgrad.summary import Interval
from skillgrad.threads import run_to_end

__all__ = ["Compared", "Comparison", "Flip", "acompare_skills", "compare_skills"]


class Compared(Record):
    """One of two skills, over the tasks that both have a score on."""

    skill: str
    hash: str
    score: Interval


class Flip(Record):
    """A task on which the two skills differ: means over the trials, in [0, 1]."""

    task: str
    a: float
    b: float


class Comparison(Record):
    """How two skills did on the same tasks."""

    a: Compared
    b: Compared
    split: Split
    metric: Metric
    trials: int
    difference: Interval
    """B minus A, paired by task."""
    verdict: Literal["better", "worse", "no clear difference"]
    """B against A: whether the interval of the difference is above, below or around zero."""
    gained: tuple[Flip, ...]
    """Tasks on which B is better."""
    lost: tuple[Flip, ...]
    """Tasks on which B is worse."""
    equal: int
    """How many tasks are left."""
    voids: int
    """Attempts without a score. A trial that is void under one skill counts for neither."""
    simulated: bool
    file: str = ""
    """Where this record was written."""


class _Pair(Record):
    """Scores of one task in one trial."""

    task: str
    a: Score
    b: Score


class _Paired(Record):
    """What a comparison is made of. A decision, and so a fact: its voids stay void when it is asked for again."""

    pairs: tuple[_Pair, ...]
    voids: tuple[str, ...]


async def acompare_skills(
    config: TrainConfig,
    a: Skill | Path | str,
    b: Skill | Path | str,
    split: Split = "test",
    trials: int = 1,
    **given: Unpack[Given],
) -> Comparison:
    """Attempt every task of a split `trials` times under both skills and compare, pair by pair.

    Attempts of both are interleaved, so that a model that changes meanwhile favours neither. The run folder's journal
    is used and added to, so that nothing is paid for twice; the run itself is not changed. With one trial and scores
    of 0 and 1 the interval is that of paired proportions; else tasks, each with its mean over the trials, are
    resampled (`skillgrad.statistics`).

    Raises:
        InputError: the skills are equal, the split is empty, or something cannot be used as it is.
        StopRun: a budget is used up, an endpoint is dead, or attempts have no score.
    """
    skills = _loaded(a), _loaded(b)
    if skills[0].hash == skills[1].hash:
        raise SkillError("both skills are the same", hint="compare two skills that differ in text or files")
    given["skill"] = skills[0]
    async with open_workbench(config, given, claim=False) as bench:
        tasks = bench.tasks[split]
        if not tasks:
            raise DataError(f"split {split!r} has no tasks", hint="choose another split or give it tasks")
        bench.emit(StageStarted(stage="test", step=0, epoch=0, total=2 * len(tasks) * trials))
        try:
            paired = await _attempt_both(bench.rollout, skills, tasks, split, trials)
        except StopRun:
            await bench.rollout.executor.drain()
            raise
        comparison = _comparison(bench, skills, paired, split, trials)
        bench.emit(StageFinished(stage="test", step=0, note=comparison.verdict))
        asked = digest([bench.rollout.agent.fingerprint(), split, trials])[:8]
        name = f"comparisons/{skills[0].hash}-{skills[1].hash}-{asked}.json"
        comparison = comparison.model_copy(update={"file": str(bench.folder.path / name)})
        bench.folder.write_json(name, comparison)
        return comparison


def compare_skills(
    config: TrainConfig,
    a: Skill | Path | str,
    b: Skill | Path | str,
    split: Split = "test",
    trials: int = 1,
    **given: Unpack[Given],
) -> Comparison:
    """`acompare_skills` for synchronous code; works inside a running event loop as well."""
    return run_to_end(acompare_skills(config, a, b, split, trials, **given))


def _loaded(skill: Skill | Path | str) -> Skill:
    loaded = skill if isinstance(skill, Skill) else load_skill(skill)
    Document.parse(loaded.text)
    return loaded


async def _attempt_both(
    rollout: Rollout, skills: tuple[Skill, Skill], tasks: Sequence[Task], split: Split, trials: int
) -> _Paired:
    items = [Try(task, skill, trial) for trial in range(trials) for task in tasks for skill in skills]

    async def work() -> _Paired:
        found: dict[int, Attempt] = {}
        voids = 0
        async with aclosing(rollout.stream_each(items, split)) as attempts:
            async for index, attempt in attempts:
                found[index] = attempt
                voids += attempt.outcome == "void"
                if voids > rollout.limits.max_void_eval * len(items):
                    raise too_many_voids(split, attempt, voids, len(items), "limits.max_void_eval")
        return _paired([found[index] for index in range(len(items))])

    key = {
        "stage": "compare",
        "agent": rollout.agent.fingerprint(),
        "env": rollout.env.fingerprint(),
        "skills": [skill.hash for skill in skills],
        "split": split,
        "trials": trials,
        "tasks": digest([task.model_dump(mode="json") for task in tasks]),
    }
    return await rollout.journal.once("decision", key, _Paired, work)


def _paired(attempts: Sequence[Attempt]) -> _Paired:
    """Pair what stands side by side."""
    pairs = [
        _Pair(task=a.task.id, a=a.score, b=b.score)
        for a, b in zip(attempts[::2], attempts[1::2], strict=True)
        if a.score is not None and b.score is not None
    ]
    return _Paired(pairs=tuple(pairs), voids=tuple(attempt.id for attempt in attempts if attempt.outcome == "void"))


def _comparison(
    bench: Workbench, skills: tuple[Skill, Skill], paired: _Paired, split: Split, trials: int
) -> Comparison:
    gate = bench.config.gate
    means = _means(paired, gate)
    before, after = [a for a, _ in means.values()], [b for _, b in means.values()]
    if not means:
        raise DataError(
            f"no task of split {split!r} has a score under both skills", hint="lower limits.max_void_eval"
        )
    difference = difference_interval(before, after)
    flips = [Flip(task=task, a=a, b=b) for task, (a, b) in means.items() if a != b]
    gained = tuple(flip for flip in flips if flip.b > flip.a)
    lost = tuple(flip for flip in flips if flip.b < flip.a)
    return Comparison(
        a=Compared(skill=skills[0].name, hash=skills[0].hash, score=mean_interval(before)),
        b=Compared(skill=skills[1].name, hash=skills[1].hash, score=mean_interval(after)),
        split=split,
        metric=gate.metric,
        trials=trials,
        difference=difference,
        verdict="better" if difference.low > 0 else "worse" if difference.high < 0 else "no clear difference",
        gained=gained,
        lost=lost,
        equal=len(means) - len(flips),
        voids=len(paired.voids),
        simulated=bench.simulated,
    )


def _means(paired: _Paired, gate: GateSection) -> Mapping[str, tuple[float, float]]:
    """Means over trials under both skills, by task, in the order of the tasks."""
    values: dict[str, list[tuple[float, float]]] = {}
    for pair in paired.pairs:
        both = pair.a.value(gate.metric, gate.mixed_weight), pair.b.value(gate.metric, gate.mixed_weight)
        values.setdefault(pair.task, []).append(both)
    return {
        task: (sum(a for a, _ in both) / len(both), sum(b for _, b in both) / len(both))
        for task, both in values.items()
    }
