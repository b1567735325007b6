"""Ship or not: two skills on the same tasks and trials, over the facts of a workbench.

Tasks are the sampling unit. A verdict rests on one-sided 95% bounds of the mean paired difference
(`etude.intervals.difference_interval`), so that at most about one in twenty candidates that do not help is
shipped; docs/method.md says where that was measured.
"""

from collections.abc import Mapping, Sequence, Sized
from math import comb, prod
from statistics import fmean, variance
from typing import NamedTuple

from etude.config import GateSection, another_trial_tells
from etude.errors import DataError
from etude.events import Notice
from etude.intervals import difference_interval, mean_interval, tasks_needed
from etude.records import Attempt, Record, Score, Skill, Split, Task, digest
from etude.records.summary import (
    Compared,
    ComparedTask,
    Comparison,
    Flip,
    Interval,
    Loaded,
    NoSkill,
    OfTarget,
    Settle,
    TheseTasks,
)
from etude.records.tasks import counted_ends
from etude.skill import Document
from etude.stages.evaluation import FRESH, by_task, evaluate
from etude.stages.shared.contest import ERROR, PairedVerdict, decide, exchanged, losing
from etude.stages.shared.rollout import PlannedAttempt, Rollout
from etude.workbench import Workbench

_NOTHING_TO_SETTLE = (
    "the means are equal, so no number of tasks would tell which skill is better; "
    "a margin would: the smallest gain worth having, or the loss that is allowed"
)
_AT_THE_LOSS = "the loss is just the one that is allowed, so no number of tasks would tell"


FEWEST = 5
"""Tasks that a verdict on tasks like them takes: the interval of fewer differences is never above 0, even if each of
them is 1."""


MANY_TRIALS = 10
"""More are not advised: with so many hardly any noise is left, and who needs more needs more tasks."""


class _Pair(Record):
    """Scores of one task in one trial."""

    task: str
    a: Score
    b: Score
    tokens: tuple[int, int] | None = None
    """Output tokens of the two attempts."""
    read: tuple[bool | None, bool | None] | None = None
    """Whether the program opened the skill."""


class _Paired(Record):
    """What a comparison is made of: a decision, so its void attempts stay void when it is asked for again."""

    pairs: tuple[_Pair, ...]
    voids: tuple[str, ...]
    simulated: bool = False


class _Opening(Record):
    """That skills were scored on the test split for the first time, by one agent."""

    skills: tuple[str, ...]
    agent: str


class _Values(NamedTuple):
    """A task's values under both skills, trial by trial."""

    a: list[float]
    b: list[float]


def need_scores(values: Sized, split: Split) -> None:
    """Raises DataError: no task has a score under both skills, and there is nothing to compare."""
    if not values:
        raise DataError(
            f"no task of split {split!r} has a score under both skills", hint="lower limits.max_void_eval"
        )


async def compare_on(
    bench: Workbench, skills: tuple[Skill, Skill], split: Split, trials: int | range, margin: float = 0.0
) -> Comparison:
    """Attempt every task of a split under both skills (A, B), in `trials` (how many, or their numbers), and decide
    whether to ship B. `margin` in (-1, 1) is the smallest gain worth having; below 0, the loss that is allowed.

    Attempts of both are interleaved, so that a model that changes meanwhile favours neither. Equal skills are
    attempted once; there is nothing to ship then.

    Raises DataError: no task has a score under both skills; StopRun: a budget is used up, an endpoint is dead, or too
    many attempts errored."""
    openings = await open_test(bench, skills) if split == "test" else 0
    first = 0 if split == "test" else FRESH
    numbers = range(first, first + trials) if isinstance(trials, int) else trials
    paired, trials = await _attempt_both(bench.rollout, skills, bench.tasks[split], split, numbers), len(numbers)
    gate = bench.config.gate
    values = _values(paired, gate)
    need_scores(values, split)
    old, new = ({task: fmean(each[side]) for task, each in values.items()} for side in (0, 1))
    before, after = _paired_values(old, new, bench.tasks[split])
    decision = decide(before, after, margin)
    targets = _of_targets(bench, split, old, new)
    if losing(bench.tasks[split], old, new, gate.allow_loss) is not None:
        decision = decision._replace(verdict="do not ship")
    if skills[0].hash == skills[1].hash:
        nothing = Interval(mean=0.0, low=0.0, high=0.0, n=len(before))
        decision = PairedVerdict("do not ship", nothing, 0.0, 0.0)
        targets = tuple(each.model_copy(update={"difference": nothing, "verdict": "do not ship"}) for each in targets)
    verdict = decision.verdict
    differences = [new - old for old, new in zip(before, after, strict=True)]
    flips = [Flip(task=task, a=old[task], b=new[task]) for task in values if old[task] != new[task]]
    flips.sort(key=lambda flip: -abs(flip.b - flip.a))
    return Comparison(
        a=_compared(skills[0], before, paired, 0),
        b=_compared(skills[1], after, paired, 1),
        split=split,
        metric=gate.metric,
        trials=trials,
        difference=decision.difference,
        at_least=decision.at_least,
        at_most=decision.at_most,
        margin=margin,
        verdict=verdict,
        settle=_settle(differences, trials, margin) if verdict == "inconclusive" else None,
        gained=tuple(flip for flip in flips if flip.b > flip.a),
        lost=tuple(flip for flip in flips if flip.b < flip.a),
        equal=len(values) - len(flips),
        tried=tuple(ComparedTask(task=task, a=tuple(each.a), b=tuple(each.b)) for task, each in values.items()),
        targets=targets,
        voids=len(paired.voids),
        ended=counted_ends(score for pair in paired.pairs for score in (pair.a, pair.b)),
        test_openings=openings,
        simulated=paired.simulated,
    )


def with_these(found: Comparison, bench: Workbench) -> Comparison:
    """With the claim on these very tasks, which is the verdict where there are too few for one on tasks like them."""
    tried = telling(found, bench)
    exact = exchanged(tried, strict=False)
    update: dict[str, object] = {"these": TheseTasks(verdict=exact.verdict, p=exact.p)}
    verdict = found.verdict
    if found.difference.n < FEWEST:
        verdict = exact.verdict
        update |= {"verdict": verdict, "claim": "these tasks"}
    settle = found.settle if verdict == "inconclusive" else None
    if settle is not None:
        note, trials = f"on tasks like these: {settle.note}", None
        if exact.verdict == "inconclusive":
            trials = _trials_needed(tried, found.trials, _tells(bench))
        if trials is not None:
            note = f"on just these tasks: {trials} trials would say 'ship', if each task goes on as it did; {note}"
        settle = settle.model_copy(update={"note": note, "trials": trials})
    return found.model_copy(update={**update, "settle": settle})


def _trials_needed(tried: Sequence[ComparedTask], trials: int, tells: Mapping[str, bool]) -> int | None:
    """With how many trials these very tasks show the gain, if each goes on as it did. None: not with so many as one
    would make, as where further trials tell nothing new."""
    for times in range(2, MANY_TRIALS // trials + 1) if any(tells[one.task] for one in tried) else ():
        longer = [
            one.model_copy(update={"a": one.a * times, "b": one.b * times}) if tells[one.task] else one
            for one in tried
        ]
        if exchanged(longer, strict=False).verdict == "ship":
            return times * trials
    return None


def telling(found: Comparison, bench: Workbench) -> list[ComparedTask]:
    """What was tried. Where another trial tells nothing new, a task counts with its first attempts only."""
    tells = _tells(bench)
    return [
        one if tells[one.task] else one.model_copy(update={"a": one.a[:1], "b": one.b[:1]}) for one in found.tried
    ]


def _tells(bench: Workbench) -> Mapping[str, bool]:
    """Whether another trial of a task tells anything new."""
    return {task.id: another_trial_tells(bench.config, task) for some in bench.tasks.values() for task in some}


def least_p(attempts: Sequence[int]) -> float:
    """The smallest p that the claim on these tasks can come to, from attempts at each under both skills."""
    return 1 / prod(comb(2 * count, count) for count in attempts)


def _compared(skill: Skill, values: Sequence[float], paired: _Paired, side: int) -> Compared:
    tokens, read = _answer_tokens(paired, side), [pair.read[side] for pair in paired.pairs if pair.read is not None]
    known = [one for one in read if one is not None]
    loaded = Loaded(attempts=sum(known), of=len(known)) if known else None
    name = skill.name if delivers(skill) else "no skill"
    return Compared(skill=name, hash=skill.hash, score=mean_interval(values), answer_tokens=tokens, loaded=loaded)


async def worth_of(bench: Workbench, best: Skill, tested: Comparison) -> NoSkill | None:
    """What `best` is worth, from the test of the initial skill and it. Attempts the test tasks without any skill,
    unless the initial one is empty. None where `best` is empty, or no task has a score both ways."""
    if not delivers(best):
        return None
    after = {task.task: fmean(task.b) for task in tested.tried}
    if not delivers(bench.skill):
        before, voids, simulated = {task.task: fmean(task.a) for task in tested.tried}, 0, False
    else:
        asked = (bench.rollout, Skill(text=""), bench.tasks["test"], "test")
        found = await evaluate(*asked, trials=tested.trials)
        before = found.values(bench.config.gate.metric, bench.config.gate.mixed_weight)
        voids, simulated = len(found.voids), found.simulated
    scores, with_best = _paired_values(before, after, bench.tasks["test"])
    if not scores:
        return None
    gain, targets = difference_interval(scores, with_best), _of_targets(bench, "test", before, after)
    return NoSkill(score=mean_interval(scores), gain=gain, targets=targets, voids=voids, simulated=simulated)


def _paired_values(
    old: Mapping[str, float], new: Mapping[str, float], tasks: Sequence[Task]
) -> tuple[list[float], list[float]]:
    """The values of the tasks that have both, each the mean over the targets that attempted it."""
    both = [task for task in tasks if task.id in old and task.id in new]
    return by_task(old, both), by_task(new, both)


def _of_targets(
    bench: Workbench, split: Split, old: Mapping[str, float], new: Mapping[str, float]
) -> tuple[OfTarget, ...]:
    """How each of several targets did, where it has a task with both values. One verdict or more is wrong with
    probability `ERROR`."""
    found: list[OfTarget] = []
    for target in bench.config.targets:
        theirs = [task for task in bench.tasks[split] if task.target == target.called]
        before, after = _paired_values(old, new, theirs)
        if before:
            decision = decide(before, after, error=ERROR / len(bench.config.targets))
            ends = mean_interval(before), mean_interval(after)
            found.append(
                OfTarget(
                    target=target.called,
                    a=ends[0],
                    b=ends[1],
                    difference=decision.difference,
                    verdict=decision.verdict,
                )
            )
    return tuple(found)


def delivers(skill: Skill) -> bool:
    """Whether an agent is given anything by a skill: one without a body is no skill."""
    return bool(Document.parse(skill.text).body.strip())


async def open_test(bench: Workbench, skills: Sequence[Skill]) -> int:
    """Note that skills are about to be scored on the test split; returns which opening that is, 1 for the first.

    Skills that this run's agent was scored with before open nothing, and neither does no skill, which nobody chooses.
    From the second opening on, a notice says that scores are not untouched evidence any more.
    """
    journal, agent = bench.rollout.journal, digest(bench.rollout.agent.fingerprint())[:16]
    unseen = {skill.hash for skill in skills if delivers(skill)}
    number = last = 0
    while (known := journal.get("decision", _opening(number + 1), _Opening)) is not None:
        number += 1
        if known.agent == agent and unseen & set(known.skills):
            unseen -= set(known.skills)
            last = number
    if unseen:
        last = number + 1
        opening = _Opening(skills=tuple(sorted(unseen)), agent=agent)

        async def work() -> _Opening:
            return opening

        await journal.once("decision", _opening(last), _Opening, work)
    if last > 1:
        times = "once" if last == 2 else f"{last - 1} times"
        bench.emit(
            Notice(
                level="warning",
                text=f"skills were already scored on the test split of run {bench.folder.name!r}, {times}: a skill "
                "that is chosen by these scores has no unseen test left",
            )
        )
    return last


def _opening(number: int) -> dict[str, str | int]:
    return {"stage": "test opening", "number": number}


async def _attempt_both(
    rollout: Rollout, skills: tuple[Skill, Skill], tasks: Sequence[Task], split: Split, numbers: range
) -> _Paired:
    different = skills[:1] if skills[0].hash == skills[1].hash else skills
    planned = [PlannedAttempt(task, skill, trial) for trial in numbers for task in tasks for skill in different]

    async def work() -> _Paired:
        return _paired(await rollout.collect(planned, split, "max_void_eval"), len(different))

    key = {
        "stage": "compare",
        "agent": rollout.agent.fingerprint(),
        "env": rollout.env.fingerprint(),
        "skills": [skill.hash for skill in skills],
        "split": split,
        "trials": list(numbers),
        "tasks": digest([task.model_dump(mode="json") for task in tasks]),
    }
    return await rollout.journal.once("decision", key, _Paired, work)


def _paired(attempts: Sequence[Attempt], skills: int) -> _Paired:
    """Pair what stands side by side; with one skill, each attempt with itself."""
    pairs = [
        _Pair(
            task=a.task.id,
            a=a.score,
            b=b.score,
            tokens=(_tokens(a), _tokens(b)),
            read=(a.trajectory.read_skill, b.trajectory.read_skill),
        )
        for a, b in zip(attempts[::skills], attempts[skills - 1 :: skills], strict=True)
        if a.score is not None and b.score is not None
    ]
    return _Paired(
        pairs=tuple(pairs),
        voids=tuple(attempt.id for attempt in attempts if attempt.outcome == "void"),
        simulated=any(attempt.simulated for attempt in attempts),
    )


def _tokens(attempt: Attempt) -> int:
    return attempt.trajectory.usage.output_tokens


def _answer_tokens(paired: _Paired, side: int) -> float | None:
    """Mean output tokens under one of the skills; None where none were billed."""
    known = [pair.tokens[side] for pair in paired.pairs if pair.tokens is not None]
    return sum(known) / len(known) if any(known) else None


def _values(paired: _Paired, gate: GateSection) -> Mapping[str, _Values]:
    """By task, in the order of the tasks."""
    values: dict[str, _Values] = {}
    for pair in paired.pairs:
        task = values.setdefault(pair.task, _Values([], []))
        task.a.append(pair.a.value(gate.metric, gate.mixed_weight))
        task.b.append(pair.b.value(gate.metric, gate.mixed_weight))
    return values


def _settle(differences: Sequence[float], trials: int, margin: float) -> Settle:
    """Towards the verdict that the mean is farther on the side of."""
    mean = round(fmean(differences), 9)  # sums of thirds
    bar = min(margin, 0.0)
    ships = mean - bar > margin - mean
    if not ships and mean == margin:
        return Settle(tasks=None, note=_AT_THE_LOSS if margin < 0 else _NOTHING_TO_SETTLE)
    goal, away, above = ("ship", mean, bar) if ships else ("do not ship", -mean, -margin)
    tasks = tasks_needed(away, variance(differences) if len(differences) > 1 else 0.0, above)
    number = "more than 1,000,000 tasks" if tasks is None else f"about {tasks:,} tasks"
    each = f"{trials} trial{'s each' if trials > 1 else ''}"
    note = f"if the difference is the one seen ({mean:+.3f}), {number} with {each} would say {goal!r}"
    return Settle(tasks=tasks, note=note)
