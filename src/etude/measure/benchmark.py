"""Evaluations in the form of Agent Skills: `grading.json` for each attempt, `benchmark.json` for both arms, and the
tasks as `evals.json`, which the next skill can bring along."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from etude.files import write_atomically
from etude.measure.evaluate import SkillEvaluation
from etude.records import Attempt, canonical

WITH, WITHOUT = "with_skill", "without_skill"


class Arm(NamedTuple):
    """A skill, or none, with its attempts in the order of trials and tasks."""

    evaluation: SkillEvaluation
    attempts: Sequence[Attempt]
    with_skill: bool

    @property
    def name(self) -> str:
        """As the form calls it."""
        return WITH if self.with_skill else WITHOUT


def write_benchmark(arms: Sequence[Arm], folder: Path) -> Path:
    """Write `eval-ID/ARM/run-N/grading.json`, `evals.json` and `benchmark.json`, whose path is returned. What is not
    known, as the time of attempts whose model calls were cached, is left out."""
    runs: list[dict[str, Any]] = []
    for arm in arms:
        for attempt in arm.attempts:
            graded = grading(attempt)
            place = folder / f"eval-{_plain(attempt.task.id)}" / arm.name / f"run-{attempt.trial + 1}"
            _write(place / "grading.json", graded)
            known = {name: value for name, value in _measured(attempt).items() if value is not None}
            runs.append(
                {
                    "eval_id": attempt.task.id,
                    "configuration": arm.name,
                    "run_number": attempt.trial + 1,
                    "result": {**graded["summary"], **known},
                    "expectations": graded["expectations"],
                }
            )
    summary: dict[str, Any] = {arm.name: dict(_summary(arm)) for arm in arms}
    if WITH in summary and WITHOUT in summary:
        summary["delta"] = {
            name: f"{summary[WITH][name]['mean'] - summary[WITHOUT][name]['mean']:+.2f}"
            for name in summary[WITH]
            if name in summary[WITHOUT]
        }
    skilled = next((arm.evaluation for arm in arms if arm.with_skill), arms[0].evaluation)
    about = {
        "skill_name": skilled.skill,
        "executor_model": skilled.target,
        "evals_run": list(skilled.tasks),
        "runs_per_configuration": skilled.trials,
        "simulated": any(arm.evaluation.simulated for arm in arms),
    }
    _write(folder / "evals.json", {"skill_name": skilled.skill, "evals": evals_of(arms)})
    return _write(folder / "benchmark.json", {"metadata": about, "runs": runs, "run_summary": summary})


def evals_of(arms: Sequence[Arm]) -> list[dict[str, Any]]:
    """Each task once, with what is expected of its answer. Files of a task stay where they are."""
    attempts = {attempt.task.id: attempt for arm in arms for attempt in arm.attempts}
    return [dict(_eval(attempt)) for attempt in attempts.values()]


def _eval(attempt: Attempt) -> Iterator[tuple[str, Any]]:
    task, score = attempt.task, attempt.score
    gold = task.gold if isinstance(task.gold, str) or task.gold is None else canonical(task.gold)
    texts = [each.text for each in score.criteria] if score is not None else []
    yield from (("id", task.id), ("prompt", task.input))
    if gold is not None:
        yield "expected_output", gold
    if texts or gold is not None:
        yield "expectations", texts or [f"The answer is: {gold}"]


def grading(attempt: Attempt) -> dict[str, Any]:
    """What was expected of an attempt, and what was found. Without single expectations the task is one."""
    score = attempt.score
    assert score is not None
    found: list[dict[str, Any]] = [
        {"text": each.text, "passed": each.met, "evidence": each.evidence} for each in score.criteria
    ]
    if not found:
        found = [{"text": "the task is solved", "passed": score.hard == 1, "evidence": score.feedback}]
    passed = sum(each["passed"] for each in found)
    rate = passed / len(found) if score.criteria else score.soft
    counts = {"passed": passed, "failed": len(found) - passed, "total": len(found), "pass_rate": round(rate, 4)}
    return {"expectations": found, "summary": counts}


def _measured(attempt: Attempt) -> Mapping[str, float | None]:
    return {"time_seconds": attempt.trajectory.seconds, "tokens": attempt.trajectory.usage.total or None}


def _summary(arm: Arm) -> Iterator[tuple[str, dict[str, float]]]:
    rates: list[float | None] = [grading(attempt)["summary"]["pass_rate"] for attempt in arm.attempts]
    columns = {"pass_rate": rates}
    for name in ("time_seconds", "tokens"):
        columns[name] = [_measured(attempt)[name] for attempt in arm.attempts]
    for name, values in columns.items():
        known = [value for value in values if value is not None]
        if known and len(known) == len(values):
            spread = stdev(known) if len(known) > 1 else 0.0
            numbers = {"mean": fmean(known), "stddev": spread, "min": min(known), "max": max(known)}
            yield name, {key: round(number, 4) for key, number in numbers.items()}


def _plain(name: str) -> str:
    """A task's id as a name of a folder."""
    return "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name).strip(".") or "task"


def _write(path: Path, value: object) -> Path:
    os.makedirs(path.parent, exist_ok=True)
    write_atomically(path, f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode(), mode=0o666)
    return path
