"""A run of several targets at the command: what is asked of it later, and what cannot go on with other settings."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]
FIRST = {"model": "simulated:target", "name": "plain", "agent": {"name": "tools"}}
SECOND = {"model": "simulated:target-noisy", "name": "noisy"}


def project(targets: Any) -> str:
    """Settings for these targets, with the data of the demo."""
    data = {split: f"demo/data/{split}.jsonl" for split in ("train", "val", "test")}
    settings = {
        "env": {"scorer": "exact", **data},
        "skill": {"path": "demo/skills/everyday-tasks"},
        "targets": targets,
        "train": {"epochs": 1},
    }
    settings["env"]["limit"] = {"train": 6, "val": 4, "test": 4}
    Path("several.yaml").write_text(yaml.safe_dump(settings))
    return "several.yaml"


def refused(capsys: Captured, *words: str) -> str:
    assert main(["train", *words]) == 2
    return capsys.readouterr().err


def test_a_run_of_several_targets_is_asked_by_its_name(fresh_project: Path, capsys: Captured) -> None:
    assert main(["train", project([FIRST, SECOND]), "--json"]) == 0
    trained = capsys.readouterr().out
    assert json.loads(trained)["best"]["val"]["n"] == 4  # two targets make no further tasks

    assert main(["compare", "run:initial", "run:best"]) in (0, 4, 5), capsys.readouterr().err
    assert main(["recheck", "run:best", "--target", "noisy"]) in (0, 4, 5)
    out = capsys.readouterr().out
    assert "target      simulated:target-noisy" in out
    assert "as the run measured for this target" in out
    assert "calls sent 0" in out
    assert main(["recheck", "run:best", "--target", "simulated:target-steady"]) in (0, 4, 5)
    assert "over no skill, the mean of 2 targets" in capsys.readouterr().out

    # What was sent since then was not sent by the training.
    assert main(["train", "several.yaml", "--json"]) == 0
    assert capsys.readouterr().out == trained

    for change, said in (
        ({"name": "other"}, 'targets.1.name: was "noisy", now "other"'),
        (
            {"model": "simulated:target-steady"},
            'targets.1.model: was "simulated:target-noisy", now "simulated:target-steady"',
        ),
    ):
        lines = refused(capsys, project([FIRST, SECOND | change])).splitlines()
        assert [line.strip() for line in lines if line.startswith("  ")] == [said]


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        ([], "targets is empty\nhint: name two or more, or leave it out and set `target`"),
        (
            ["simulated:target", SECOND],
            "expected keys with values\nhint: write keys below it, as in `- {model: ...}`",
        ),
        ([FIRST, SECOND | {"model": "simulated:nobody"}], "target 'noisy': unknown simulated model 'nobody'"),
        ([FIRST, SECOND | {"agent": {"name": "nobody"}}], "target 'noisy': unknown agent 'nobody'"),
    ],
)
def test_what_is_wrong_with_targets_is_said_of_the_one(
    fresh_project: Path, capsys: Captured, targets: Any, says: str
) -> None:
    assert says in refused(capsys, project(targets))
    assert not Path("runs/run").exists()
