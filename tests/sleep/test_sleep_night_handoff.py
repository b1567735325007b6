"""A night in which a person, or the person's agent, answers for every model through files."""

import json
from pathlib import Path

import pytest
from small_night import MODELS, Small

from etude.cli.main import main
from etude.config import ModelSection
from etude.errors import HandoffStop
from etude.models.handoff import HandoffModel
from etude.protocols import Wrapper
from etude.sleep.adoption.proposal import read_proposal, readable
from etude.sleep.report import NightReport
from etude.workbench import Given
from handoff_answers import answer_open


def handoff(folder: Path) -> HandoffModel:
    return HandoffModel(str(folder), ModelSection(model=f"handoff:{folder}"), settled=0.02)


def rounds(small: Small, folder: Path) -> tuple[NightReport, list[int]]:
    """A night that is begun again until it ends, and how many questions there were each time."""
    asked: list[int] = []
    while len(asked) < 30:
        stop: HandoffStop | None = None
        try:
            given = Given(target=handoff(folder), optimizer=handoff(folder))
            return small.night(given=given), asked
        except HandoffStop as error:
            stop = error
        report = small.report()
        assert (stop.exit_code, stop.summary) == (3, report)
        assert (report.status, report.resumes, report.night) == ("error", True, 1)
        asked.append(answer_open(folder, MODELS))
    raise AssertionError(f"the night does not end: {asked}")


def test_a_night_stops_with_its_questions_and_ends_like_any_other_once_they_are_answered(tmp_path: Path) -> None:
    small = Small(tmp_path / "a", n=2)
    folder = tmp_path / "questions"
    report, asked = rounds(small, folder)
    assert report.status == "proposed"
    # The same question has the same answer: there are no fresh attempts, and so no verdict.
    assert {one.verdict for one in report.documents} == {None}
    # Nobody is asked whether somebody is there.
    assert not [page for page in (folder / "questions").iterdir() if "Reply with the word OK" in page.read_text()]
    # All sessions are asked about at once, and so are all attempts of a stage.
    assert asked[0] == 2
    assert sum(asked) == len(list((folder / "questions").iterdir()))
    assert "Key Risks" in readable(read_proposal(Path(report.proposal)))
    assert set(small.ledger().values()) == {"used"}


def test_the_command_stops_with_code_3_and_says_where_to_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = Small(tmp_path, n=2)
    monkeypatch.setenv("HOME", str(small.home))
    monkeypatch.setenv("XDG_STATE_HOME", small.environ["XDG_STATE_HOME"])
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(small.project)
    Path("sleep.yaml").write_text(
        "target: {model: 'handoff:../night'}\noptimizer: {model: 'handoff:../night'}\n"
        "sleep: {lookback_hours: null, sources: [claude-code]}\n"
    )
    assert main(["sleep", "run"]) == 3
    err = capsys.readouterr().err
    assert "error: questions wait for an answer in '../night/questions'\n" in err
    assert "hint: write each answer into '../night/answers'" in err
    assert err.splitlines()[-1] == "resume: etude sleep run"
    assert len(list((tmp_path / "night" / "questions").iterdir())) == 2
    assert main(["sleep", "show"]) == 0
    assert capsys.readouterr().out.startswith("night 1  stopped: questions wait for an answer")
    assert answer_open(tmp_path / "night", MODELS) == 2
    assert main(["sleep", "run"]) == 3
    assert small.state.numbers() == [1]


def test_tasks_that_need_tools_are_left_out_where_the_target_takes_none(tmp_path: Path) -> None:
    small, dropped = Small(tmp_path, gap="brain-first", n=2), {"it needs tools, and the target takes none": 2}
    report = small.night(given=Given(target=handoff(tmp_path / "questions")))
    assert (report.status, report.tasks, report.dropped) == ("nothing to do", {}, dropped)
    assert set(small.ledger().values()) == {"used"}
    path = tmp_path / "tasks.json"
    task = {"id": "t", "intent": "Find the notes.", "checks": [{"op": "tool_called", "arg": "search"}]}
    path.write_text(json.dumps({"format": "etude.tasks", "version": 1, "reviewed": True, "tasks": [task]}))
    report = small.night({"tasks": str(path)}, given=Given(target=handoff(tmp_path / "questions")))
    assert (report.status, report.reason) == ("nothing to do", "no task of the file can be attempted")
    assert report.dropped == {"it needs tools, and the target takes none": 1}


def test_models_that_take_no_tools_say_so(tmp_path: Path) -> None:
    assert not handoff(tmp_path).takes_tools
    assert not Wrapper(handoff(tmp_path)).takes_tools
    assert Small(tmp_path, n=0).target.takes_tools
