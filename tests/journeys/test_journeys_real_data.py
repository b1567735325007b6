"""Training on real task files: from `init` to a better skill."""

import json
from pathlib import Path

import pytest

from etude.cli.main import main

DATA = Path(__file__).parents[3] / "shared" / "data" / "bbh"


@pytest.mark.slow
def test_a_skill_trained_on_real_tasks_is_clearly_better(tmp_path, capsys) -> None:
    data = DATA / "word_sorting.json"
    if not data.exists():
        pytest.skip(f"{data.name} is not here: real data is not shipped")
    models = ["--target", "simulated:target", "--optimizer", "simulated:optimizer"]
    assert main(["init", str(data), "--folder", str(tmp_path), *models]) == 0
    capsys.readouterr()
    assert main(["train", str(tmp_path / "etude.yaml"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert main(["verify", str(Path(summary["folder"], summary["best"]["skill"])), summary["folder"]]) == 0
    assert summary["simulated"]
    assert summary["best"]["test"]["low"] > summary["initial"]["test"]["high"]
    assert summary["test_gain"]["low"] > 0.2
