"""The end of a run: the best skill on disk and the summary beside it."""

from typing import NamedTuple

from skillgrad.build import Workbench
from skillgrad.events import RunFinished
from skillgrad.records import Evaluation, Skill, TrainState
from skillgrad.statistics import difference_interval, mean_interval
from skillgrad.summary import Cost, Interval, SkillScores, Summary

__all__ = ["Measured", "report"]


class Measured(NamedTuple):
    """Evaluations that are not part of the training state."""

    initial_val: Evaluation | None
    test: dict[str, Evaluation]
    """By skill hash."""


def report(bench: Workbench, state: TrainState, measured: Measured, stopped: str | None, seconds: float) -> Summary:
    """Write `best/` and `summary.json`, tell the sinks, return the summary."""
    best = bench.folder.write_best(state.best) / "SKILL.md"
    initial_test, best_test = measured.test.get(bench.skill.hash), measured.test.get(state.best.hash)
    summary = Summary(
        name=bench.config.run.name,
        folder=str(bench.folder.path),
        simulated=bench.simulated,
        metric=bench.config.gate.metric,
        initial=_scores(bench, bench.skill, "skills/0000.md", measured.initial_val, initial_test),
        best=_scores(bench, state.best, str(best.relative_to(bench.folder.path)), state.best_val, best_test),
        test_gain=_gain(bench, initial_test, best_test),
        steps=state.step,
        accepted=state.accepted,
        rejected=state.rejected,
        skipped=state.skipped,
        missed_edits=state.missed_edits,
        voids=state.voids + sum(len(evaluation.voids) for evaluation in measured.test.values()),
        stopped=stopped,
        cost=_cost(bench, seconds),
    )
    path = bench.folder.write_json("summary.json", summary)
    bench.emit(RunFinished(stopped=stopped or "", summary=str(path)))
    return summary


def _scores(
    bench: Workbench, skill: Skill, file: str, val: Evaluation | None, test: Evaluation | None
) -> SkillScores:
    return SkillScores(skill=file, hash=skill.hash, val=_interval(bench, val), test=_interval(bench, test))


def _values(bench: Workbench, evaluation: Evaluation | None) -> dict[str, float]:
    gate = bench.config.gate
    return {} if evaluation is None else evaluation.values(gate.metric, gate.mixed_weight)


def _interval(bench: Workbench, evaluation: Evaluation | None) -> Interval | None:
    values = _values(bench, evaluation)
    return mean_interval(list(values.values())) if values else None


def _gain(bench: Workbench, before: Evaluation | None, after: Evaluation | None) -> Interval | None:
    old, new = _values(bench, before), _values(bench, after)
    both = [task for task in old if task in new]
    return difference_interval([old[task] for task in both], [new[task] for task in both]) if both else None


def _cost(bench: Workbench, seconds: float) -> Cost:
    totals = bench.spend.totals()
    return Cost(
        target_calls=totals.calls.get("target", 0),
        optimizer_calls=totals.calls.get("optimizer", 0),
        judge_calls=totals.calls.get("judge", 0),
        tokens=totals.usage,
        usd=totals.usd,
        wall_seconds=round(seconds, 3),
    )
