"""Plan: what a run may use, what its tasks can show and where it cannot succeed, before anything is paid for."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

from etude.build import open_workbench
from etude.comparison import MANY_TRIALS
from etude.concurrency import synchronous
from etude.config import RunSection, Settings, TrainConfig, another_trial_tells, config_of
from etude.envs.splits import need_training_tasks
from etude.errors import DataError
from etude.events import Event, Notice, StageFinished, StageStarted
from etude.intervals import smallest_gain
from etude.measure.audit.suite import most_of_audit
from etude.measure.compare import TRIALS as COMPARED
from etude.measure.compare import what_few_show
from etude.measure.forecast import Forecast, forecast_run, judged
from etude.measure.pruning.prune import most_of_prune
from etude.readable import counted
from etude.records import Evaluation, Record, Split, brief
from etude.records.summary import Interval
from etude.skill import token_count
from etude.stages.evaluation import evaluate, evaluation_key, score_of
from etude.store import SqliteJournal
from etude.store.projections.log import Log
from etude.store.views import JOURNAL
from etude.workbench import Given, Workbench, takes_given

TRIALS = 2
"""Attempts at each validation task when it is measured. The second is an A/A comparison: what differs is luck, and no
smaller improvement can be seen."""
ASSUMED_NOISE = 0.2
"""Share of tasks whose outcome differs between two attempts under the same skill, when it was not measured."""
_USUAL = (3, 30)
"""Attempts of the default search for each training and validation task in simulated worlds of 7 to 300 of them, noisy
ones too: those of many tasks took the fewest. The upper bound is what no run comes near."""
_FULL = 0.8
"""Of `skill.max_tokens`: a skill that begins with more has little room for edits."""


class Advice(Record):
    """Something that makes a run hopeless or hard."""

    text: str
    hint: str
    """What to do about it."""


class Detectable(Record):
    """What a split can show."""

    split: Split
    tasks: int
    trials: int
    gain: float | None
    """The smallest true gain in mean score, in (0, 1], that four of five comparisons tell from nothing; None when not
    even the largest one. See `etude.intervals.smallest_gain`."""


class Headroom(Record):
    """How much the initial skill leaves to gain on the validation tasks."""

    trials: int
    """Attempts at each task."""
    score: Interval
    """Mean score, with its 95% interval over tasks."""
    always: int
    """Tasks solved in every trial."""
    never: tuple[str, ...]
    """Tasks solved in no trial."""
    noise: float | None
    """Share of tasks that are solved in one trial and not in the other, in [0, 1]; None with one trial."""
    spread: float | None
    """Standard deviation of the mean score when the same skill is attempted again, from the differences between the
    trials: sqrt(sum of (first - second)^2 / 2) / tasks. None with one trial."""


class Plan(Record):
    """What is known about a run before it begins."""

    name: str
    """Of the run."""
    simulated: bool
    tasks: dict[Split, int]
    epochs: int
    forecast: Forecast
    audit: tuple[int, int]
    """The most attempts of `etude audit`, and the most questions to the judge."""
    prune: int
    """The most attempts of `etude prune`."""
    noise: float
    """Share of tasks whose outcome differs between two attempts under the same skill, in [0, 1]."""
    noise_measured: bool
    """False: it is assumed."""
    detectable: tuple[Detectable, ...]
    few: str = ""
    """What a test of fewer tasks can show than a verdict on tasks like these takes."""
    headroom: Headroom | None
    """None when nothing is known yet: it takes attempts."""
    warnings: tuple[Advice, ...]

    @property
    def usual(self) -> str:
        """What the default search takes of all these attempts; empty for another one."""
        few, many = (each * (self.tasks["train"] + self.tasks["val"]) for each in _USUAL)
        told = f"as a rule {few:,} to {many:,} attempts, as simulated runs took; limits.calls caps them"
        return told if self.forecast.policy == "evidence" else ""

    def __repr__(self) -> str:
        sizes = ", ".join(f"{count} {split}" for split, count in self.tasks.items())
        most = f"at most {self.forecast.attempts:,} attempts, {counted(len(self.warnings), 'warning')}"
        return f"<Plan {brief(self.name, 30)}: {sizes}; {most}>"


class _Notices:
    """Keeps the warnings of the workbench."""

    def __init__(self) -> None:
        self.warnings: list[Advice] = []

    def emit(self, event: Event) -> None:
        if isinstance(event, Notice) and event.level == "warning":
            self.warnings.append(Advice(text=event.text, hint=event.hint))


@takes_given
async def aplan(config: Settings, measure: bool = False, **given: Unpack[Given]) -> Plan:
    """Say what the run of a config may use. What its run folder knows is used; nothing is sent and nothing written,
    unless `measure` is true.

    Args:
        config: settings, as for `Trainer`.
        measure: attempt every validation task twice with the initial skill, in the run folder, under its limits. The
            attempts are facts: the run makes none of them again, which saves `paper` its baseline. What it will take
            is reported first, as a `Notice` to the sinks.
        given: objects to use instead of building them from the config, as for `Trainer`.

    Raises:
        InputError: data, skill or settings cannot be used.
        StopRun: while measuring, a budget is used up, an endpoint is dead or attempts errored.
    """
    settings = config_of(config)
    notices = _Notices()
    given["sinks"] = [*given.get("sinks", ()), notices]
    if measure:
        async with open_workbench(settings, given, claim=False) as bench:
            _need_training_tasks(bench)
            await _measure(bench)
            measured = _plan(bench, settings, bench.folder.path, notices.warnings)
            bench.folder.write_json("plans/plan.json", measured)
            return measured
    given.pop("fork", None)
    with ExitStack() as held:
        # Everything is checked as a run checks it, in a folder that is gone afterwards.
        run = RunSection(folder=held.enter_context(TemporaryDirectory(prefix="etude-plan-")), name="plan")
        async with open_workbench(settings.model_copy(update={"run": run}), given, claim=False, asks=False) as bench:
            _need_training_tasks(bench)
            folder = Path(settings.run.folder) / settings.run.name
            if (folder / JOURNAL).exists():
                journal = SqliteJournal(folder / JOURNAL, read_only=True)
                held.callback(journal.close)
                bench = replace(bench, rollout=replace(bench.rollout, journal=journal))
            return _plan(bench, settings, folder, notices.warnings)


plan = synchronous(aplan)


def _need_training_tasks(bench: Workbench) -> None:
    """Raises DataError: there are none; what the test tasks can show all the same."""
    try:
        need_training_tasks(bench.tasks)
    except DataError as error:
        tasks = bench.tasks["test"]
        told = what_few_show(bench.config, tasks, COMPARED)
        own = len({task.own_id for task in tasks})
        gain = smallest_gain(own, ASSUMED_NOISE, COMPARED)
        shown = f"{own} tasks would detect {'no gain' if gain is None else f'a gain of {gain:.2f} or more'}"
        error.message += f"; `etude compare A B`: {shown if told is None else told.text}"
        raise


async def _measure(bench: Workbench) -> None:
    tasks = bench.tasks["val"]
    if _known(bench, TRIALS) is not None:
        return
    attempts = len(tasks) * (TRIALS - (_known(bench, 1) is not None))
    graded = ", each graded by the judge" if judged(bench) else ""
    text = f"measuring: {attempts:,} attempts at validation tasks with the initial skill{graded}"
    bench.emit(Notice(level="info", text=text))
    bench.emit(StageStarted(stage="baseline", step=0, epoch=0, total=len(tasks) * TRIALS))
    await evaluate(bench.rollout, bench.skill, tasks, "val", trials=TRIALS)
    bench.emit(StageFinished(stage="baseline", step=0, note="measured"))


def _plan(bench: Workbench, config: TrainConfig, folder: Path, notices: list[Advice]) -> Plan:
    headroom = _headroom(bench, TRIALS) or _headroom(bench, trials=1)
    noise = None if headroom is None else headroom.noise
    assumed = ASSUMED_NOISE if noise is None else noise
    log = Log(folder)
    log.read()
    forecast = forecast_run(bench, log)
    attempts, scored = most_of_audit(sum(map(len, bench.tasks.values())))
    # What several targets attempt is one task.
    tasks: dict[Split, int] = {split: len({task.own_id for task in some}) for split, some in bench.tasks.items()}
    trials: dict[Split, int] = {"val": 1}
    if config.test.enabled:
        trials["test"] = config.test.trials
    detectable = tuple(
        Detectable(split=split, tasks=tasks[split], trials=count, gain=smallest_gain(tasks[split], assumed, count))
        for split, count in trials.items()
    )
    few = what_few_show(config, bench.tasks["test"], config.test.trials) if config.test.enabled else None
    told = few is not None and few.level == "warning"
    alike = detectable if few is None else tuple(each for each in detectable if each.split != "test")
    repeats = any(another_trial_tells(config, task) for task in bench.tasks["test"])
    ours = [
        *_of_scores(headroom, alike, assumed if repeats else None),
        *([Advice(text=f"the test: {few.text}", hint="give the test split more tasks")] if few and told else []),
        *_of_limits(forecast),
        *_of_skill(bench),
    ]
    return Plan(
        name=config.run.name,
        simulated=bench.simulated,
        tasks=tasks,
        epochs=config.train.epochs,
        forecast=forecast,
        audit=(attempts, scored if judged(bench) else 0),
        prune=most_of_prune(len(bench.tasks["train"]) + len(bench.tasks["val"])),
        noise=assumed,
        noise_measured=noise is not None,
        detectable=detectable,
        few="" if few is None or told else few.text,
        headroom=headroom,
        warnings=(*ours, *notices),
    )


def _known(bench: Workbench, trials: int) -> Evaluation | None:
    """What was found before by so many attempts at each validation task; None where nothing was."""
    key = evaluation_key(bench.rollout, bench.skill, bench.tasks["val"], "val", range(trials))
    return bench.rollout.journal.get("decision", key, Evaluation)


def _headroom(bench: Workbench, trials: int) -> Headroom | None:
    """What the run folder knows from this many trials of the initial skill; None if nothing, or no task has a
    score."""
    evaluation = _known(bench, trials)
    scores = {} if evaluation is None else {task: each for task, each in evaluation.scores.items() if each}
    if evaluation is None or not scores:
        return None
    gate = bench.config.gate
    solved = {task: [score.hard == 1 for score in each] for task, each in scores.items()}
    pairs = [each[:2] for each in solved.values() if len(each) > 1]
    differences = [
        each[0].value(gate.metric, gate.mixed_weight) - each[1].value(gate.metric, gate.mixed_weight)
        for each in scores.values()
        if len(each) > 1
    ]
    return Headroom(
        trials=max(map(len, solved.values())),
        score=score_of(evaluation, bench.tasks[evaluation.split], gate),
        always=sum(map(all, solved.values())),
        never=tuple(task for task, each in solved.items() if not any(each)),
        noise=sum(one != other for one, other in pairs) / len(pairs) if pairs else None,
        spread=(sum(each * each for each in differences) / 2) ** 0.5 / len(pairs) if pairs else None,
    )


def _of_scores(
    headroom: Headroom | None, detectable: tuple[Detectable, ...], noise: float | None
) -> Iterator[Advice]:
    """`noise` is what more trials would average out; None where they tell nothing new."""
    n = 0 if headroom is None else headroom.score.n
    if headroom is not None and headroom.always == n:
        yield Advice(
            text=f"the initial skill solves all {n} validation tasks in every trial: no skill can score higher",
            hint="take harder tasks, or a scorer that asks for more",
        )
    elif headroom is not None and len(headroom.never) == n:
        yield Advice(
            text=f"the initial skill solves none of the {n} validation tasks: perhaps no skill can",
            hint="check scorer and form of the answers on one attempt, or take easier tasks or a stronger target",
        )
    most = 1.0 if headroom is None else 1 - headroom.score.mean
    for each in detectable:
        if most > 0 and (each.gain is None or each.gain > most):
            many = (
                smallest_gain(each.tasks, noise, MANY_TRIALS) if each.split == "test" and noise is not None else None
            )
            trials_help = many is not None and many <= most
            needed = "no gain" if each.gain is None else f"only a gain of {each.gain:.2f} or more"
            yield Advice(
                text=f"{each.tasks} {each.split} tasks can detect {needed}, and at most {most:.2f} is possible",
                hint=f"give the {each.split} split more tasks" + (", or raise test.trials" if trials_help else ""),
            )


def _of_limits(forecast: Forecast) -> Iterator[Advice]:
    target = forecast.roles["target"]
    least = {"calls": forecast.least}
    least |= {"tokens": target.tokens.low} if target.tokens else {}
    least |= {"usd": target.usd.low} if target.usd else {}
    least |= {"minutes": target.seconds.low / 60} if target.seconds else {}
    for name, needed in least.items():
        limit = forecast.limits.get(name)
        if limit is not None and limit < needed:
            yield Advice(
                text=f"limits.{name} = {limit:,g} is below the {_shown(needed)} that the test of a run takes: "
                "it will stop early",
                hint=f"raise limits.{name}, or plan for less: fewer train.epochs, smaller splits",
            )


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _of_skill(bench: Workbench) -> Iterator[Advice]:
    tokens, most = token_count(bench.skill.text), bench.config.skill.max_tokens
    if tokens > _FULL * most:
        room = "no candidate would fit" if tokens > most else "few edits fit in"
        yield Advice(
            text=f"the skill has about {tokens:,} tokens of skill.max_tokens = {most:,}: {room}",
            hint="shorten the skill or raise skill.max_tokens",
        )
