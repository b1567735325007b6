import json
import re
from pathlib import Path

import pytest

from skillgrad.cli.main import main
from skillgrad.config import RunSection
from skillgrad.store import RunFolder

Captured = pytest.CaptureFixture[str]
RUN = "demo/runs/demo"


def test_a_run_is_shown_with_summary_steps_and_files(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run demo: finished"
    assert "SIMULATED MODELS: these scores say nothing about a real model." in lines
    header = next(number for number, line in enumerate(lines) if line.startswith("step "))
    assert lines[header].split() == ["step", "action", "validation", "tokens", "edits", "reason"]
    assert lines[header + 1].startswith("1 ")
    assert f"{RUN}/events.jsonl  everything that happened, with times" in lines


def test_a_slow_update_stands_behind_the_last_step_of_its_epoch(demo_project: Path, capsys: Captured) -> None:
    for epoch in (1, 4):
        folder = Path(RUN, f"epochs/{epoch:02d}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "gate.json").write_text('{"action": "rejected", "origin": "slow_update", "reason": "no"}')
    main(["show", RUN])
    names = [re.split("  +", line)[0] for line in capsys.readouterr().out.splitlines()]
    assert names.index("slow update 1") == names.index("3") + 1
    assert names.index("slow update 4") == names.index("12") + 1


def test_a_run_is_found_by_name_in_runs(
    demo_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("demo")
    assert main(["show", "demo"]) == 0
    assert capsys.readouterr().out.startswith("run demo: finished")


def test_a_run_as_json_has_its_summary_and_steps(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["summary"] == json.loads(Path(RUN, "summary.json").read_text())
    assert [step["number"] for step in shown["steps"]] == list(range(1, 13))
    assert shown["resume"] is None


def test_a_step_is_shown_with_the_fate_reason_and_evidence_of_its_edits(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--step", "1"]) == 0
    out = capsys.readouterr().out
    update = json.loads(Path(RUN, "steps/0001/update.json").read_text())
    for number, applied in enumerate(update["edits"], 1):
        edit = applied["edit"]
        assert f"edit {number} ({edit['op']}): {applied['fate']}" in out
        assert f"  reason  {edit['reason']}" in out
        assert f"  cites   {', '.join(edit['cites'])}" in out
    assert Path(RUN, "steps/0001/candidate.diff").read_text() in out


def test_a_step_as_json_has_edits_and_diff(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--step", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["number"] == 1
    assert {edit["fate"] for edit in shown["details"]} == set(shown["edits"])
    assert shown["diff"].startswith("--- current")


def test_a_step_that_is_not_there_is_an_error(demo_project: Path, capsys: Captured) -> None:
    assert main(["show", RUN, "--step", "99"]) == 2
    assert capsys.readouterr().err == "error: run 'demo' has no step 99\nhint: it has 12 steps so far\n"


def test_a_run_that_is_not_there_is_an_error_that_names_the_others(
    demo_project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("demo")
    assert main(["show", "dmeo"]) == 2
    assert capsys.readouterr().err == "error: there is no run in 'runs/dmeo'\nhint: runs in 'runs': demo\n"


def test_a_stopped_run_says_so_and_the_command_it_shows_goes_on_with_it(
    fresh_project: Path, capsys: Captured
) -> None:
    assert main(["train", "demo/skillgrad.yaml", "--limits.calls", "150"]) == 3
    capsys.readouterr()
    assert main(["show", RUN]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("run demo: not finished, ")
    assert first.endswith(" of 12 steps done")
    assert second == f"resume: skillgrad train {RUN}/config.yaml"
    assert main([*second.split()[2:], "--limits.calls", "10000"]) == 0
    capsys.readouterr()
    main(["show", RUN, "--json"])
    assert json.loads(capsys.readouterr().out)["resumable"] is False


def test_a_run_that_a_process_works_on_is_said_to_be_running(demo_project: Path, capsys: Captured) -> None:
    with RunFolder.open(RunSection(folder="demo/runs", name="demo")):
        assert main(["show", RUN]) == 0
    assert capsys.readouterr().out.startswith("run demo: running now, 12 of 12 steps done")


def test_a_run_that_has_just_begun_can_be_shown(here: Path, capsys: Captured) -> None:
    with RunFolder.open(RunSection(folder="runs", name="new")):
        pass
    assert main(["show", "new"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("run new: not finished\nresume: run the command again that started it\n")
    assert "no step has begun yet" in out
    assert main(["show", "new", "--step", "1"]) == 2
    assert "hint: it has none yet" in capsys.readouterr().err


def test_a_run_whose_tasks_came_from_python_shows_no_command(demo_project: Path, capsys: Captured) -> None:
    Path(RUN, "config.yaml").write_text("run: {folder: .., name: demo}\n")
    Path(RUN, "summary.json").unlink()
    assert main(["show", RUN]) == 0
    assert "resume: run the command again that started it" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["{", '{"name": 3}'])
def test_a_damaged_summary_is_an_error_that_names_the_file(text: str, demo_project: Path, capsys: Captured) -> None:
    Path(RUN, "summary.json").write_text(text)
    assert main(["show", RUN]) == 2
    assert f"error: '{RUN}/summary.json' is damaged: " in capsys.readouterr().err
