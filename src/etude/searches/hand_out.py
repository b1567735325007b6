"""The hand-out: the skill of a search that does not steer by validation is shown to be better there, or not."""

from collections.abc import Sequence
from functools import reduce
from math import ceil, fsum

from etude.concurrency import together
from etude.config import another_trial_tells
from etude.records import Evaluation, Skill, Task, TrainState
from etude.records.summary import ComparedTask
from etude.run_log import RunLog, counted
from etude.stages.evaluation import FRESH, best_of, by_task, evaluate, evaluate_race, shuffled
from etude.stages.shared.contest import ERROR, SUSPECTED, Claim, decide, exchanged, losing, raced
from etude.stages.shared.history import rivals
from etude.workbench import Workbench

RIVALS = 5
"""Skills of earlier steps that the last one is compared with, at most. With draws of 60 validation tasks from six
runs of a small real model, the skill chosen is worse than the best one of its run by .018 on average, with three by
.038, and by .048 where the last one is taken; with all of them by .019, for a fifth more attempts."""
_MORE, _LOOKS = 80, 2
"""Fresh attempts at validation tasks with each skill, about, where one at each points to a gain and does not show it,
and how often, if the first do the same: of 100 gains of .15, with 40 tasks, the first show 52 and both 72
(benchmarks/verdicts.py). With training tasks, four of six skills passed that had only memorized these."""
_FEW, _TRIALS = 20, 3
"""With fewer training and validation tasks, only a gain of more than a half is mostly shown on tasks like them: so
the skill has to be better on just these, in so many fresh attempts at each."""
_HALF = 1 / 2
"""Of the error: the race has one, and what follows it the other. In all `ERROR`: one in twenty skills that do nothing
is handed out, at most."""
MOST_MORE = 2 * max(_LOOKS * (_MORE + _MORE // 2), _FEW * _TRIALS)
"""Fresh attempts with both skills, at most, and `_LOOKS` more at each validation task."""


async def validated(bench: Workbench, log: RunLog, state: TrainState) -> TrainState:
    """Score the best and the initial skill on validation tasks, until it is clear that the best one is better. Where
    that does not show it, or one of several targets seems to lose, they are attempted again; where it is the same
    then, the initial one is what the run hands out.

    Raises:
        VoidStop: more attempts are void than `limits.max_void_eval` allows.
    """
    state, compared = await _best_of_run(bench, log, state)
    error = _HALF * ERROR / compared  # any of these may seem better by chance
    skills = [bench.skill] if state.best.hash == bench.skill.hash else [bench.skill, state.best]
    log.begin("validation", state.step, state.epoch, len(skills) * len(bench.tasks["val"]))
    first, *others = await _raced(bench, skills, error)
    best = others[0] if others else first
    why = await _unproven(bench, state, (first, best), error) if others else ""
    means = ["every attempt errored" if mean is None else f"{mean:.3f}" for mean in map(log.mean, (first, *others))]
    log.end("validation", state.step, ", then ".join(means))
    voids = state.voids + sum(len(each.voids) for each in (first, *others))
    update = {"initial_val": first, "current_val": best, "best_val": best, "voids": voids}
    if why:
        update |= {"best": bench.skill, "best_val": first, "withheld": state.best, "withheld_why": why}
    return state.model_copy(update=update)


async def _best_of_run(bench: Workbench, log: RunLog, state: TrainState) -> tuple[TrainState, int]:
    """With the skill of an earlier step as the best one, where it scores more on validation tasks than the last one.
    Edits may do harm that no task shows alone, and a right one may have been taken back. Not for several targets, of
    which one may lose by it. Also, how many skills were compared."""
    earlier, tasks = rivals(state)[:RIVALS], shuffled(bench.tasks["val"], bench.config.train.seed)
    if not earlier or not tasks or len(bench.config.targets) > 1:
        return state, 1
    log.begin("validation", state.step, state.epoch, (1 + len(earlier)) * len(tasks))
    best, voids = await best_of(bench.rollout, [state.best, *earlier], tasks, "val", bench.config.gate)
    step = max(step for step, skill in state.skills.items() if skill.hash == best.hash)
    log.end("validation", state.step, f"of {1 + len(earlier)} skills of the run, that of step {step} scores most")
    return state.model_copy(update={"voids": state.voids + voids, "best": best}), 1 + len(earlier)


async def _raced(bench: Workbench, skills: Sequence[Skill], error: float) -> list[Evaluation]:
    """Both skills on validation tasks, as far as it takes to decide. One skill alone, and those for several targets,
    each of which has to be shown not to lose, attempt all tasks."""
    tasks = shuffled(bench.tasks["val"], bench.config.train.seed)
    if tasks and len(skills) == 2 and len(bench.config.targets) < 2:
        both = (skills[0], skills[1])
        return (await evaluate_race(bench.rollout, both, tasks, "val", bench.config.gate, Claim(error=error)))[1]
    return await together(evaluate(bench.rollout, skill, tasks, "val") for skill in skills)


async def _unproven(bench: Workbench, state: TrainState, both: tuple[Evaluation, Evaluation], error: float) -> str:
    """Why the best skill is not handed out; empty where validation shows that it is better, or, where it points that
    way but not clearly, fresh attempts do: at validation tasks, and of few tasks at all of them."""
    old, new = (_values(bench, each) for each in both)
    before, after = _both(bench, old, new)
    gains, what = [b - a for a, b in zip(before, after, strict=True)], "validation does not"
    shown = raced(gains, Claim(error=error))[0] == "ship"
    if shown and not _losing(bench, old, new, SUSPECTED):
        return ""
    few = len(bench.tasks["val"]) + len(bench.tasks["train"]) < _FEW
    if few or (sum(gains) > 0 and _repeats(bench, bench.tasks["val"])):
        fresh, looks, shown = list[Evaluation](), 1 if few else _LOOKS, shown and not few
        train, val = ([task.id for task in bench.tasks[split]] for split in ("train", "val"))
        written_from = set[str]() if few else {*train} - {*val}  # a description is validated by the same ones
        for first in range(FRESH, FRESH + looks * _MORE, _MORE):  # no task has more trials in one look
            more = await together(_fresh(bench, skill, first, few=few) for skill in (bench.skill, state.best))
            fresh = [one.plus(other) for one, other in zip(fresh, more, strict=True)] if fresh else more
            tried = [one for one in _tried(bench, *fresh) if one.task not in written_from]
            # A skill that does nothing was not chosen by these, of however many.
            verdict = exchanged(tried, strict=False, error=_HALF * ERROR / looks).verdict
            if (shown := shown or verdict == "ship") or verdict == "do not ship":
                break
        (old, new), what = (_values(bench, each) for each in fresh), "fresh attempts do not"
    elif gains and not shown:
        shown = decide(before, after, error=error).verdict == "ship"
    why = f"{what} show that the skill of the search is better ({_change(*_both(bench, old, new))})"
    return _losing(bench, old, new, ERROR) or ("" if shown else why)


async def _fresh(bench: Workbench, skill: Skill, first: int, *, few: bool) -> Evaluation:
    """Attempts at validation tasks, from a trial on; of few tasks at all of them. Of several targets one may lose by
    training tasks as well: only what is gained there may be what lines were written from."""
    val, train = bench.tasks["val"], shuffled(bench.tasks["train"], bench.config.train.seed)[: _MORE // 2]
    made: list[Evaluation] = []
    if few or len(bench.config.targets) > 1:
        end = first + (_TRIALS if few and _repeats(bench, train) else 1)
        made.append(await evaluate(bench.rollout, skill, train, "train", trials=range(first, end)))
    if val:
        end = first + ((_TRIALS if few else ceil(_MORE / len(val))) if _repeats(bench, val) else 1)
        made.append(await evaluate(bench.rollout, skill, val, "val", trials=range(first, end)))
    return reduce(Evaluation.plus, made)


def _repeats(bench: Workbench, tasks: Sequence[Task]) -> bool:
    return all(another_trial_tells(bench.config, task) for task in tasks)


def _tried(bench: Workbench, old: Evaluation, new: Evaluation) -> list[ComparedTask]:
    gate = bench.config.gate
    before, after = (
        {task: [score.value(gate.metric, gate.mixed_weight) for score in some] for task, some in each.scores.items()}
        for each in (old, new)
    )
    return [ComparedTask(task=task, a=tuple(before[task]), b=tuple(after[task])) for task in before if task in after]


def _losing(bench: Workbench, old: dict[str, float], new: dict[str, float], error: float) -> str:
    """That one of several targets seems to lose by more than is allowed, the first one that does; else empty."""
    loss = losing((*bench.tasks["val"], *bench.tasks["train"]), old, new, bench.config.gate.allow_loss, error)
    if loss is None:
        return ""
    return f"{loss.target} seems to do worse with the skill of the search ({_change(loss.before, loss.after)})"


def _both(bench: Workbench, old: dict[str, float], new: dict[str, float]) -> tuple[list[float], list[float]]:
    """The values of tasks that have both, in the random order in which they were attempted."""
    order = [task for split in ("val", "train") for task in shuffled(bench.tasks[split], bench.config.train.seed)]
    tasks = [task for task in order if task.id in old and task.id in new]
    return by_task(old, tasks), by_task(new, tasks)


def _change(before: Sequence[float], after: Sequence[float]) -> str:
    if not before:
        return "no task has a score with both"
    means = (fsum(values) / len(values) for values in (before, after))
    return "from {:.2f} to {:.2f}".format(*means) + f" over {counted(len(before), 'task')}"


def _values(bench: Workbench, evaluation: Evaluation) -> dict[str, float]:
    return evaluation.values(bench.config.gate.metric, bench.config.gate.mixed_weight)
