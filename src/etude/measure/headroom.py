"""Headroom: what the initial skill does on the validation tasks, attempted twice. The second trial is an A/A
comparison: what differs between the two is luck, and no smaller improvement can be seen.
"""

from etude.records import Record
from etude.records.summary import Interval
from etude.stages.evaluation import known_evaluation, score_of
from etude.workbench import Workbench

TRIALS = 2
"""Attempts at each validation task: the fewest that differ."""


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


def known_headroom(bench: Workbench, trials: int = TRIALS) -> Headroom | None:
    """What the run folder knows from this many trials of the initial skill; None if nothing, or no task has a
    score."""
    evaluation = known_evaluation(bench.rollout, bench.skill, bench.tasks["val"], "val", trials)
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
