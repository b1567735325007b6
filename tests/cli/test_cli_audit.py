import json
import re
from pathlib import Path

import pytest

from etude.cli.main import main

Captured = pytest.CaptureFixture[str]
WORDS = ["audit", "demo/runs/demo/best/everyday-tasks", "demo/etude.yaml", "--split", "val", "--env.limit={val: 12}"]


def test_findings_are_one_page_and_a_second_call_pays_nothing(demo_project: Path, capsys: Captured) -> None:
    assert main(WORDS) == 0
    shown = capsys.readouterr()
    first, skill, suite, passed, findings, *rest = shown.out.splitlines()
    assert first == "SIMULATED MODELS: these scores say nothing about a real model."
    assert skill.startswith("skill     everyday-tasks (")
    assert re.fullmatch(r"suite     12 tasks of val split, \d+ attempts of simulated:target", suite)
    versions = r"skill \d+, none \d+, headings \d+, opposite \d+"
    assert re.fullmatch(rf"passed    {versions}, of 12 \(first attempts\)", passed)
    assert "12 tasks: at most 120 attempts" in shown.err.partition("all versions look alike on")[0]
    assert main([*WORDS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["calls_sent"], found["judged"]) == (0, 12)
    assert findings == f"findings  {len(found['findings'])} tasks of 12".replace(" 1 tasks", " 1 task")
    for each in found["findings"]:
        assert any(
            line.startswith(f"  {each['task']}") and line.endswith(f"{each['what']}  {each['asked']}")
            for line in rest
        )
        assert f"  -> {each['cure']}" in rest
    assert json.loads(Path(found["file"]).read_text())["findings"] == found["findings"]


def test_how_often_luck_names_a_task_is_said_beside_the_findings(demo_project: Path, capsys: Captured) -> None:
    assert main(["audit", "demo/skills/everyday-tasks", *WORDS[2:]]) == 0
    said = capsys.readouterr().out
    assert "\nluck      of those said to be changed by none, one changes at most 5% on average\n" in said


def test_what_cannot_be_audited_is_refused(demo_project: Path, capsys: Captured) -> None:
    assert main(["audit", "nothing.md", "demo/etude.yaml"]) == 2
    assert "skill 'nothing.md' does not exist" in capsys.readouterr().err
    assert main([*WORDS, "--label", "30"]) == 2
    assert "--label asks a person at a terminal" in capsys.readouterr().err
