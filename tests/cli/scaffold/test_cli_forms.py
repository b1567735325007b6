import asyncio
import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from made_like import CASES, COUNT, Case

from etude.cli.main import main
from etude.config import load_config
from etude.envs.dataset import DatasetEnvironment
from etude.envs.gold import check_gold
from etude.records import SPLITS, Task, Trajectory

Captured = pytest.CaptureFixture[str]
DATA = Path("/work/shared/data")


def write(path: str | Path, rows: Sequence[dict[str, Any]], delimiter: str = ",") -> None:
    """In the format of the suffix."""
    path = Path(path)
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else delimiter)
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def init(*words: str, capsys: Captured) -> dict[str, Any]:
    assert main(["init", *words, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def made(settings: str = "etude.yaml") -> DatasetEnvironment:
    """The environment of the settings that were written."""
    env = load_config(settings).env
    return DatasetEnvironment(env.model_extra or {}, judge=lambda: pytest.fail("a model was asked"))


def tasks_of(env: DatasetEnvironment) -> list[Task]:
    return [task for split in SPLITS for task in env.tasks(split)]


def average(env: DatasetEnvironment, answers: Sequence[str]) -> float:
    """What these answers to all tasks score on average."""
    tasks = tasks_of(env)
    scores = [
        asyncio.run(env.score(task, Trajectory(answer=answer))) for task, answer in zip(tasks, answers, strict=True)
    ]
    return sum(score.hard for score in scores) / len(scores)


@pytest.mark.parametrize("name", CASES)
def test_files_of_known_forms_become_tasks_that_only_right_answers_solve(
    name: str, here: Path, capsys: Captured
) -> None:
    case: Case = CASES[name]
    write(case.file, case.table())
    result = init(case.file, *case.words, capsys=capsys)
    assert result["scorer"] == case.scorer
    assert case.input in result["first"][0]["input"]
    env = made()
    tasks = tasks_of(env)
    assert len(tasks) == COUNT
    asyncio.run(check_gold(env, tasks))  # every gold answer scores 1
    assert average(env, [""] * COUNT) == 0
    assert average(env, [task.input for task in tasks]) <= 0.05
    assert average(env, ["A"] * COUNT) == pytest.approx(case.all_a, abs=0.2 if case.all_a else 0)
