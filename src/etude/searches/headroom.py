"""Headroom: what the initial skill does on the validation tasks, attempted twice. The second trial is an A/A
comparison: what differs between the two is luck, and no improvement that is smaller can be seen.

That a task is always or never solved tells whether there is anything to learn from it: where a run begins with all
tasks solved, or with none ever solved, it has little to go by.
"""

import statistics
from collections.abc import Mapping, Sequence

from etude.events import CallFinished, Event
from etude.intervals import mean_interval
from etude.records import Evaluation, Record, Score
from etude.records.summary import Interval
from etude.stages.evaluation import evaluate, known_evaluation
from etude.workbench import Workbench

__all__ = ["TRIALS", "CallMeter", "Headroom", "Measurement", "headroom_of", "known_measurement", "measure"]

TRIALS = 2
"""Attempts at each validation task: the fewest that differ."""


class CallSizes(Record):
    """Means over answered requests of the target."""

    calls: int
    per_attempt: float | None
    """Requests in an attempt; None where another process had made some of the attempts."""
    input_tokens: float
    output_tokens: float
    seconds: float


class Measurement(Record):
    """What `plan --measure` found. A decision, and so a fact: a run in the same folder forecasts with it."""

    evaluation: Evaluation
    sizes: CallSizes | None
    """None where everything was known before."""


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


class CallMeter:
    """A sink that adds up the requests of the target."""

    def __init__(self) -> None:
        self._done: list[CallFinished] = []

    def emit(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, CallFinished) and event.role == "target" and not event.error:
            self._done.append(event)

    def sizes(self, attempts: int | None) -> CallSizes | None:
        """Means over what was sent for so many attempts, where that is known; None when nothing was."""
        if not self._done:
            return None
        return CallSizes(
            calls=len(self._done),
            per_attempt=None if attempts is None else max(1.0, len(self._done) / attempts),
            input_tokens=statistics.fmean(event.usage.input_tokens for event in self._done),
            output_tokens=statistics.fmean(event.usage.output_tokens for event in self._done),
            seconds=statistics.fmean(event.seconds for event in self._done),
        )


async def measure(bench: Workbench, meter: CallMeter) -> Measurement:
    """Attempt the validation tasks `TRIALS` times with the initial skill; what is known is not attempted again.

    Args:
        meter: a sink of the workbench.

    Raises:
        StopRun: a budget is used up, an endpoint is dead, or attempts errored.
    """
    tasks = bench.tasks["val"]

    async def work() -> Measurement:
        begun = {**_key(bench), "stage": "headroom begun"}
        alone = journal.get("decision", begun, bool) is None
        known = known_evaluation(bench.rollout, bench.skill, tasks, "val") is not None
        await journal.once("decision", begun, bool, _true)
        evaluation = await evaluate(bench.rollout, bench.skill, tasks, "val", trials=TRIALS)
        return Measurement(evaluation=evaluation, sizes=meter.sizes(len(tasks) * (TRIALS - known) if alone else None))

    journal = bench.rollout.journal
    return await journal.once("decision", _key(bench), Measurement, work)


async def _true() -> bool:
    return True


def known_measurement(bench: Workbench) -> Measurement | None:
    """What `measure` has found before; None if it has not."""
    return bench.rollout.journal.get("decision", _key(bench), Measurement)


def _key(bench: Workbench) -> dict[str, object]:
    rollout = bench.rollout
    return {
        "stage": "headroom",
        "agent": rollout.agent.fingerprint(),
        "env": rollout.env.fingerprint(),
        "skill": bench.skill.hash,
        "tasks": [task.id for task in bench.tasks["val"]],
    }


def headroom_of(bench: Workbench, evaluation: Evaluation) -> Headroom | None:
    """What the evaluation of the initial skill says; None when no task has a score."""
    gate = bench.config.gate
    values = list(evaluation.values(gate.metric, gate.mixed_weight).values())
    if not values:
        return None
    scores = {task: trials for task, trials in evaluation.scores.items() if trials}
    pairs = [trials for trials in scores.values() if len(trials) > 1]
    differences = [
        one.value(gate.metric, gate.mixed_weight) - other.value(gate.metric, gate.mixed_weight)
        for one, other, *_ in pairs
    ]
    return Headroom(
        trials=max(len(trials) for trials in scores.values()),
        score=mean_interval(values),
        always=sum(all(score.hard == 1 for score in trials) for trials in scores.values()),
        never=_never(scores),
        noise=sum((one.hard == 1) != (other.hard == 1) for one, other, *_ in pairs) / len(pairs) if pairs else None,
        spread=(sum(each * each for each in differences) / 2) ** 0.5 / len(pairs) if pairs else None,
    )


def _never(scores: Mapping[str, Sequence[Score]]) -> tuple[str, ...]:
    return tuple(task for task, trials in scores.items() if not any(score.hard == 1 for score in trials))
