"""The end of a run: the best skill on disk and the summary beside it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from skillgrad.build import Workbench
from skillgrad.events import RunFinished
from skillgrad.records import Evaluation, TrainState
from skillgrad.statistics import difference_interval, mean_interval
from skillgrad.summary import Comparison, Cost, Forecast, Interval, SkillScores, Summary

__all__ = ["Measured", "report"]


class Measured(NamedTuple):
    """Evaluations that are not part of the training state."""

    initial_val: Evaluation | None
    test: Mapping[str, Evaluation] = MappingProxyType({})
    """By skill hash, where the test was no comparison."""
    comparison: Comparison | None = None
    """Of the initial and the best skill on the test tasks."""
    forecast: Forecast | None = None
    """What was expected before anything was sent."""


def report(bench: Workbench, state: TrainState, measured: Measured, stopped: str | None, seconds: float) -> Summary:
    """Write `best/`, `ship.json` (the comparison, if there was one) and `summary.json`, tell the sinks, return the
    summary.
    """
    best = bench.folder.write_best(state.best) / "SKILL.md"
    test = _test(bench, state, measured)
    ship = measured.comparison
    if ship is not None:
        bench.folder.write_json("ship.json", ship)
    summary = Summary(
        name=bench.config.run.name,
        folder=str(bench.folder.path),
        simulated=bench.simulated,
        metric=bench.config.gate.metric,
        initial=SkillScores(
            skill="skills/0000.md",
            hash=bench.skill.hash,
            val=_interval(bench, measured.initial_val),
            test=test.initial,
        ),
        best=SkillScores(
            skill=str(best.relative_to(bench.folder.path)),
            hash=state.best.hash,
            val=_interval(bench, state.best_val),
            test=test.best,
        ),
        test_gain=test.gain,
        verdict=None if ship is None else ship.verdict,
        settle=None if ship is None else ship.settle,
        test_openings=0 if ship is None else ship.test_openings,
        steps=state.step,
        accepted=state.accepted,
        rejected=state.rejected,
        skipped=state.skipped,
        missed_edits=state.missed_edits,
        voids=state.voids + test.voids,
        stopped=stopped,
        cost=_cost(bench, seconds),
        forecast=measured.forecast,
    )
    path = bench.folder.write_json("summary.json", summary)
    bench.emit(RunFinished(stopped=stopped or "", summary=str(path)))
    return summary


class _Test(NamedTuple):
    initial: Interval | None
    best: Interval | None
    gain: Interval | None
    voids: int


def _test(bench: Workbench, state: TrainState, measured: Measured) -> _Test:
    ship = measured.comparison
    if ship is not None:
        return _Test(ship.a.score, ship.b.score, ship.difference, ship.voids)
    initial, best = measured.test.get(bench.skill.hash), measured.test.get(state.best.hash)
    voids = sum(len(evaluation.voids) for evaluation in measured.test.values())
    return _Test(_interval(bench, initial), _interval(bench, best), _gain(bench, initial, best), voids)


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
