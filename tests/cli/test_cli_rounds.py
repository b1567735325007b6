"""A skill is trained where a program reads it, exported over itself, and trained again."""

import json
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.skill import load_skill

Captured = pytest.CaptureFixture[str]
SKILL = Path("skills/everyday-tasks")
OF_A_CALL = {"cost": None, "folder": None}
"""What a summary says of the call of `train` that wrote it."""


@pytest.fixture
def exported(small_project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run of a project whose skill was exported over the one that it began with."""
    monkeypatch.chdir(small_project)
    before = load_skill(SKILL).text
    assert main(["export", "demo", "--to", "skills", "--force"]) == 0
    assert load_skill(SKILL).text != before
    return Path("runs/demo")


def test_a_skill_that_was_exported_over_itself_is_verified(exported: Path, capsys: Captured) -> None:
    for skill in ("demo:best", str(SKILL)):
        assert main(["verify", skill, "demo"]) == 0, capsys.readouterr().out


def test_trained_again_it_is_the_next_round_from_the_skill_as_it_stands(exported: Path, capsys: Captured) -> None:
    stands = load_skill(SKILL).text
    for _ in range(2):  # the second time it is the same round
        assert main(["train", "--limits.calls", "60"]) == 3
        assert "run 'demo' was exported to where its skill came from: 'demo-2'" in capsys.readouterr().err
    assert Path("runs/demo-2/skills/0000.md").read_text() == stands
    assert not Path("runs/demo-3").exists()


def test_each_round_that_is_exported_is_followed_by_a_further_one(exported: Path) -> None:
    few = ["train", "--env.limit", "{train: 4, val: 2, test: 2}"]
    assert main(few) == 0
    assert main(["export", "demo-2", "--to", "skills", "--force"]) == 0
    assert main([*few, "--limits.calls", "1"]) == 3
    assert Path("runs/demo-3/skills/0000.md").read_text() == load_skill(SKILL).text
    assert main(["export", "demo-3", "--to", "skills", "--force"]) == 0
    assert main(few) == 0  # the third one is resumed
    assert not Path("runs/demo-4").exists()


def test_a_round_whose_summary_is_damaged_is_trained_to_its_end_again(exported: Path) -> None:
    summary = exported / "summary.json"
    whole = summary.read_text()
    summary.write_text(whole.replace('"name"', '"nome"'))
    assert main(["train"]) == 0
    assert json.loads(summary.read_text()) | OF_A_CALL == json.loads(whole) | OF_A_CALL
    assert not Path("runs/demo-2").exists()


def test_a_run_keeps_the_skill_that_it_began_with(exported: Path) -> None:
    kept = load_skill(exported / "initial/everyday-tasks")
    assert kept.text == (exported / "skills/0000.md").read_text()


def test_doctor_and_plan_name_the_round_that_train_goes_on_with(exported: Path, capsys: Captured) -> None:
    def told() -> tuple[str, str]:
        capsys.readouterr()
        assert main(["doctor", "--json"]) == 0
        check = next(each for each in json.loads(capsys.readouterr().out)["checks"] if each["name"] == "run folder")
        return check["text"], check["fix"]

    before = "runs/demo was exported to where its skill came from; "
    assert told() == (f"{before}`train` begins the next round in runs/demo-2", "")
    assert main(["plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "demo-2"
    few = ["--env.limit", "{train: 4, val: 2, test: 2}"]
    assert main(["plan", "--measure", *few]) == 0  # in the folder of the run, which makes no attempt of it again
    assert told() == (f"{before}runs/demo-2 holds measurements only: `train` uses it", "")
    assert main(["train", *few, "--limits.calls", "1"]) == 3
    assert "runs/demo-2 holds a run that is not finished: `train` resumes it" in told()[0]
    assert main(["train", *few]) == 0
    text, fix = told()
    assert text == f"{before}runs/demo-2 holds a finished run: `train` only reports it, and refuses other settings"
    assert "--name NEW" in fix
    assert not Path("runs/demo-3").exists()
