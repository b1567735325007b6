"""What the best skill is worth against none, at the end of a run."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from etude import Skill, Summary, Trainer, aevaluate_skill, make_config
from etude.cli.terminal.summary_text import summary_lines
from etude.envs import ListEnvironment
from etude.errors import BudgetStop
from etude.measure.plan import plan
from etude.measure.verify import verify_skill
from etude.records.summary import Loaded
from etude.simulation import SEED_SKILL, make_tasks
from etude.skill import load_skill

TASKS = make_tasks(None, 30, seed=2)
SEED = Skill(name="everyday-tasks", text=SEED_SKILL)


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    return {"train": {"epochs": 1}, "run": {"folder": str(folder)}, **more}


def given(skill: Skill = SEED) -> dict[str, Any]:
    return {"env": ListEnvironment(TASKS[:14], TASKS[14:22], TASKS[22:], scorer="exact"), "skill": skill}


def train(folder: Path, skill: Skill = SEED, **more: Any) -> Summary:
    return Trainer(settings(folder, **more), **given(skill)).train()


def shown(summary: Summary) -> list[str]:
    return [line for line in summary_lines(summary) if "with the best skill" in line]


def files(folder: Path) -> Mapping[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    views = {name: path for name, path in found.items() if not name.startswith(("journal.db", "events"))}
    summary = json.loads(views.pop("summary.json").read_bytes())
    del summary["cost"], summary["folder"]
    kept = {name: path.read_bytes() for name, path in views.items() if name != "config.yaml" and "lock" not in name}
    return {**kept, "summary": json.dumps(summary).encode()}


class Runs(NamedTuple):
    """The same training with the comparison and without: folders, and what they come to."""

    on: Path
    off: Path
    with_it: Summary
    without: Summary


OFF: dict[str, Any] = {"test": {"no_skill": False}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    on, off = tmp_path_factory.mktemp("on"), tmp_path_factory.mktemp("off")
    return Runs(on, off, train(on), train(off, **OFF))


async def test_a_run_says_what_its_best_skill_is_worth_against_none(runs: Runs, tmp_path: Path) -> None:
    summary = runs.with_it
    alone = summary.no_skill
    assert alone is not None
    assert summary.best.test is not None
    assert alone.gain.mean == pytest.approx(summary.best.test.mean - alone.score.mean)
    low, high = alone.gain.low, alone.gain.high
    text = f"without {alone.score.mean:.2f}, with the best skill {summary.best.test.mean:.2f}: "
    assert shown(summary) == [f"no skill    {text}{alone.gain.mean:+.2f} [{low:+.2f}, {high:+.2f}]"]
    shutil.copytree(runs.on, tmp_path / "copy")
    config = make_config(settings(tmp_path / "copy"))
    again = await aevaluate_skill(config, "test", **{**given(), "skill": None})
    assert (again.score, again.calls_sent, again.test_openings) == (alone.score, 0, 0)


def test_where_the_initial_skill_is_empty_it_is_the_one_without_and_costs_nothing(tmp_path: Path) -> None:
    empty = Skill(text="---\nname: a\ndescription: b\n---\n")
    off = train(tmp_path / "off", empty, test={"no_skill": False})
    summary = train(tmp_path / "on", empty)
    assert summary.cost.target_calls == off.cost.target_calls
    assert summary.no_skill is not None
    assert (summary.no_skill.score, summary.no_skill.gain.mean) == (summary.initial.test, summary.test_gain.mean)
    assert plan(settings(tmp_path / "plan"), **{**given(), "skill": empty}).forecast.least == 8


def test_a_run_stopped_before_it_resumes_to_what_an_undisturbed_one_writes(runs: Runs, tmp_path: Path) -> None:
    whole = runs.with_it
    calls = whole.cost.target_calls + whole.cost.optimizer_calls - 5
    one_by_one = {"concurrency": 1}
    with pytest.raises(BudgetStop) as stop:
        train(tmp_path, limits={"calls": calls, **one_by_one})
    assert stop.value.summary.verdict == whole.verdict
    assert stop.value.summary.no_skill is None
    assert train(tmp_path, limits=one_by_one).no_skill == whole.no_skill
    assert files(tmp_path / "run") == files(runs.on / "run")


def test_what_a_program_opened_is_said_in_the_summary(runs: Runs) -> None:
    summary = runs.with_it
    assert summary.best.loaded is None
    opened = summary.best.model_copy(update={"loaded": Loaded(attempts=12, of=20)})
    lines = list(summary_lines(summary.model_copy(update={"best": opened})))
    assert "loaded      the program opened the best skill in 12 of 20 test attempts" in lines


def test_a_run_without_it_is_verified_as_it_is(runs: Runs) -> None:
    assert runs.without.no_skill is None
    best = load_skill((runs.off / "run" / runs.without.best.skill).parent)
    assert verify_skill(make_config(settings(runs.off)), best, **given()).agrees
