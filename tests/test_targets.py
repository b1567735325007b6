"""Several targets, one skill: each has its column, none loses, and a resumed run is the same."""

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from etude import Skill, Trainer, make_config
from etude.build import open_workbench
from etude.cli.terminal.summary_text import summary_lines
from etude.envs import ListEnvironment
from etude.errors import BudgetStop, ConfigError
from etude.measure.recheck import arecheck_skill
from etude.records import TrainState
from etude.records.summary import Summary
from etude.run_log import RunLog
from etude.searches.hand_out import validated
from etude.simulation import make_tasks, true_score
from etude.simulation.world import best_skill
from etude.view.shelf import Shelf
from rows import few, rows

TASKS = make_tasks("sorting", 130, seed=3)
TARGETS = [{"model": "simulated:target", "name": "plain"}, {"model": "simulated:target-contrary"}]
NAMES = ["plain", "simulated:target-contrary"]


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    run = {"folder": str(folder)}
    return {"targets": TARGETS, "train": {"epochs": 1}, "run": run, **more}


def environment() -> ListEnvironment:
    return ListEnvironment(TASKS[:12], TASKS[12:20], TASKS[20:36], scorer="exact")


def train(folder: Path, **more: Any) -> Summary:
    return Trainer(settings(folder, **more), env=environment(), skill=Skill(text="")).train()


def files(folder: Path) -> Mapping[str, bytes]:
    clocks = {"events.jsonl", "summary.json", "journal.db", "config.yaml"}
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name.split("-")[0] not in clocks)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return train(tmp_path_factory.mktemp("whole"))


def test_a_skill_for_two_targets_with_contradicting_needs_is_worse_for_neither_than_none(whole: Summary) -> None:
    summary = whole
    text = (Path(summary.folder) / summary.best.skill).read_text()
    for model in ("target", "target-contrary"):
        assert true_score(text, TASKS[100:], model) > true_score("", TASKS[100:], model)
    assert [each.target for each in summary.targets] == NAMES
    assert summary.test_gain is not None
    assert summary.test_gain.n == 16
    assert any(line.split() == ["", *NAMES][1:] for line in summary_lines(summary))
    page = json.loads(Shelf([Path(summary.folder)], None).document(f"runs/{Path(summary.folder).name}"))
    rows = {name: cells for name, *cells in page["answer"]["targets"]}
    assert rows["gain"] == [each.difference.shown_change for each in summary.targets]
    assert rows["verdict"] == [each.verdict for each in summary.targets]
    assert summary.no_skill is not None
    assert [each.target for each in summary.no_skill.targets] == NAMES


async def test_a_skill_by_which_one_target_seems_to_lose_is_not_handed_out(tmp_path: Path) -> None:
    made = make_tasks("sorting", 600, seed=3)
    full, name = Skill(text=best_skill(made)), "target-contrary"
    loses = (task for task in made if true_score(full.text, [task], name) + 0.2 < true_score("", [task], name))
    lost = [*islice(loses, 36)]
    env = ListEnvironment(lost[24:], lost[:24], scorer="exact")
    config = make_config(settings(tmp_path, test={"enabled": False}))
    async with open_workbench(config, {"env": env, "skill": Skill(text="")}) as bench:
        found = await validated(bench, RunLog(bench, 0), TrainState(current=full, best=full))

    assert found.withheld_why.startswith(f"{NAMES[1]} seems to do worse with the skill of the search (from 0.")
    assert (found.best.text, found.withheld) == ("", full)


def test_an_interrupted_run_of_two_targets_ends_as_an_undisturbed_one(whole: Summary, tmp_path: Path) -> None:
    with pytest.raises(BudgetStop):
        train(tmp_path / "cut", limits={"calls": 90})

    resumed = train(tmp_path / "cut")

    assert files(Path(resumed.folder)) == files(Path(whole.folder))
    assert resumed.cost.target_calls == whole.cost.target_calls


@pytest.mark.parametrize("policy", few(["paper", "rewrite_first"], first=1))
def test_the_published_loop_trains_for_several_targets_too(tmp_path: Path, policy: str) -> None:
    summary = train(tmp_path, search={"policy": policy})

    assert [each.target for each in summary.targets] == NAMES
    assert all(each.b.mean >= each.a.mean for each in summary.targets)
    assert summary.accepted > 0


@pytest.mark.slow
def test_workers_attempt_the_tasks_of_several_targets_as_this_process_does(tmp_path: Path) -> None:
    for split, some in {"train": TASKS[:8], "val": TASKS[8:12], "test": TASKS[12:16]}.items():
        rows = [json.dumps({"id": task.id, "input": task.input, "answer": task.gold}) for task in some]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(rows))
    env = {"scorer": "exact", **{split: str(tmp_path / f"{split}.jsonl") for split in ("train", "val", "test")}}
    runs = [
        Trainer(settings(tmp_path / name, env=env, executor={"name": executor}), skill=Skill(text="")).train()
        for name, executor in (("here", "local"), ("far", "far_parts:ProcessExecutor"))
    ]

    assert files(Path(runs[0].folder)) == files(Path(runs[1].folder))
    assert runs[0].cost.target_calls == runs[1].cost.target_calls


@rows(
    ("data", "message"),
    [
        ({"targets": TARGETS[:1]}, "targets has one entry"),
        ({"targets": [TARGETS[1], TARGETS[1]]}, "two targets are called 'simulated:target-contrary'"),
        ({"targets": TARGETS, "target": {"model": "simulated:target-noisy"}}, "target and targets are both set"),
    ],
)
def test_targets_that_do_not_fit_together_are_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_config(data)


def test_a_model_as_an_object_does_not_go_with_several_targets(tmp_path: Path) -> None:
    from etude.models import build_model

    model = build_model(make_config({}).target)

    with pytest.raises(ConfigError, match="target was given as an object, and the settings have several targets"):
        Trainer(settings(tmp_path), env=environment(), target=model).train()


async def test_a_recheck_ends_as_soon_as_it_is_decided(tmp_path: Path) -> None:
    config = make_config({"run": {"folder": str(tmp_path)}})
    good = Skill(text=best_skill(TASKS))

    found = await arecheck_skill(config, env=environment(), skill=good)
    again = await arecheck_skill(config, env=environment(), skill=good)

    assert found.verdict == "still helps"
    assert found.at_least >= 0
    assert found.tasks < found.of
    assert found.calls_sent < 2 * found.of
    assert again.calls_sent == 0
    assert again.tasks == found.tasks
    assert json.loads(Path(found.file).read_text())["verdict"] == "still helps"


async def test_a_recheck_says_that_a_skill_does_harm(tmp_path: Path) -> None:
    counting = make_tasks("counting", 90, seed=3)
    env = ListEnvironment(counting[:5], counting[5:10], counting[10:], scorer="exact")
    config = make_config({"run": {"folder": str(tmp_path)}, "target": {"model": "simulated:target-contrary"}})

    found = await arecheck_skill(config, env=env, skill=Skill(text=best_skill(counting)))

    assert found.verdict == "does not help"
    assert found.at_most <= 0
    assert found.tasks < found.of
