"""Evaluations in the form of Agent Skills."""

import json
from pathlib import Path

from etude.cli.scaffold.table import Wishes
from etude.cli.scaffold.tasks import read_data
from etude.intervals import mean_interval
from etude.measure.benchmark import Arm, write_benchmark
from etude.measure.evaluate import SkillEvaluation
from etude.records import Attempt, Criterion, Score, Task, Trajectory, Usage

TEXTS = ("It rhymes.", "It is sad.")


def attempt(task: str, trial: int, *met: bool, seconds: float | None = None) -> Attempt:
    found = tuple(Criterion(text=text, met=one, evidence="line 1") for text, one in zip(TEXTS, met, strict=True))
    share = sum(met) / len(met)
    score = Score(hard=float(share == 1), soft=share, criteria=found)
    made = Trajectory(usage=Usage(input_tokens=80, output_tokens=20), seconds=seconds)
    return Attempt(
        id="a",
        task=Task(id=task, input="i"),
        skill_hash="h",
        trial=trial,
        outcome="completed",
        score=score,
        trajectory=made,
    )


def evaluation(skill: str) -> SkillEvaluation:
    known = {"hash": "h", "target": "openai:a", "split": "test", "metric": "soft", "trials": 2, "voids": 0}
    score = mean_interval([0.5, 1.0])
    more = {"calls_sent": 0, "test_openings": 0, "simulated": False, "file": "", "tasks": {"1": 1.0, "2/b": 0.5}}
    return SkillEvaluation.model_validate({"skill": skill, "score": score, **known, **more})


def test_both_arms_are_written_with_mean_spread_and_difference(tmp_path: Path) -> None:
    with_skill = [attempt("1", 0, True, True, seconds=2), attempt("1", 1, True, False, seconds=4)]
    without = [attempt("1", 0, False, False, seconds=1), attempt("2/b", 1, True, False)]
    arms = [Arm(evaluation("none"), without, False), Arm(evaluation("poet"), with_skill, True)]
    written = json.loads(write_benchmark(arms, tmp_path).read_text())
    assert written["metadata"]["skill_name"] == "poet"
    summary = written["run_summary"]
    assert summary["with_skill"]["pass_rate"] == {"mean": 0.75, "stddev": 0.3536, "min": 0.5, "max": 1.0}
    assert summary["with_skill"]["time_seconds"]["mean"] == 3
    assert "time_seconds" not in summary["without_skill"], "one of its times is not known"
    assert summary["delta"] == {"pass_rate": "+0.50", "tokens": "+0.00"}
    assert [run["configuration"] for run in written["runs"]] == ["without_skill"] * 2 + ["with_skill"] * 2
    graded = json.loads((tmp_path / "eval-2-b" / "without_skill" / "run-2" / "grading.json").read_text())
    assert graded["expectations"][1] == {"text": "It is sad.", "passed": False, "evidence": "line 1"}
    assert graded["summary"] == {"passed": 1, "failed": 1, "total": 2, "pass_rate": 0.5}


def test_the_tasks_are_written_as_evals_that_init_reads(tmp_path: Path) -> None:
    named = attempt("1", 0, True, True)
    asked = Task(id="2", input="Add 3 and 4.", gold="7")
    counted = named.model_copy(update={"task": asked, "score": Score(hard=1, soft=1)})
    write_benchmark([Arm(evaluation("poet"), [named, counted, counted], True)], tmp_path)
    path = tmp_path / "evals.json"
    first, second = json.loads(path.read_text())["evals"]
    assert first == {"id": "1", "prompt": "i", "expectations": list(TEXTS)}
    assert second == {
        "id": "2",
        "prompt": "Add 3 and 4.",
        "expected_output": "7",
        "expectations": ["The answer is: 7"],
    }
    read = read_data({"path": path}, Wishes()).made.rows
    assert [row.columns["expectations"] for row in read] == [list(TEXTS), ["The answer is: 7"]]
