"""Nothing is proposed that luck alone explains, and a night says what would have settled it."""

import json
from pathlib import Path

import nights
import pytest
from small_night import Small
from test_sleep_consolidate import SKILL, VAL, Optimizer, night

from etude import Task
from etude.cli.main import main
from etude.records import ChatRequest
from etude.sleep.improve.changes import reported
from etude.stages.evaluation import FRESH
from trials_sent import trial_sent

AT_MOST = 20
"""Of 200 nights with a false proposal in at most 5%, 999 in 1000 have no more than that (binomial, 99.9%)."""


@pytest.mark.parametrize(("noise", "tasks"), [(0.2, 2), (0.4, 5)])
def test_200_nights_without_an_effect_propose_as_seldom_as_alpha_says(noise: float, tasks: int) -> None:
    found = nights.rates(noise, "useless", tasks, 200)
    assert found.passed > 0.3  # or else nothing would be tested
    assert 200 * found.proposed <= AT_MOST
    assert found.proposed < found.gained / 4


@pytest.mark.parametrize("tasks", [2, 5])
def test_every_night_proposes_what_solves_all_without_noise(tasks: int) -> None:
    assert nights.rates(0.0, "good", tasks, 20).proposed == 1.0
    assert nights.rates(0.0, "useless", tasks, 20).passed == 0.0


def test_one_held_out_task_that_is_mended_in_three_of_three_attempts_is_enough(tmp_path: Path) -> None:
    found, _ = night(
        tmp_path, lambda text: "Say yes." in text, Optimizer("Say yes."), val=VAL[:1], sleep={"memory": False}
    )
    change = found.changes[0]
    assert (change.status, change.by_luck) == ("accepted", 0.05)


@pytest.mark.parametrize(("trials", "status"), [(2, "accepted"), (1, "inconclusive")])
def test_what_may_be_luck_is_inconclusive_and_taken_nowhere(tmp_path: Path, trials: int, status: str) -> None:
    """Both of two tasks pass, in one attempt each: one of four ways to divide the attempts."""
    sleep = {"memory": False, "confirm_trials": trials}
    found, _ = night(tmp_path, lambda text: "Say yes." in text, Optimizer("Say yes."), sleep=sleep)
    change = found.changes[0]
    assert (change.status, change.proposed) == (status, status == "accepted")
    assert (found.documents.skill == SKILL) is not change.proposed
    if status == "inconclusive":
        assert change.reason.endswith("the gain in fresh attempts may be luck")
        assert "sleep.confirm_trials" in reported("learned", "SKILL.md", change, ()).settle


@pytest.mark.parametrize(("no_regression", "status"), [(True, "rejected"), (False, "accepted")])
def test_a_task_that_passed_the_gate_by_luck_and_fails_every_fresh_attempt_rejects(
    tmp_path: Path, no_regression: bool, status: str
) -> None:
    def answer(request: ChatRequest) -> str:
        rule = "Say yes." in request.messages[0].text
        if "Task 9." in request.messages[-1].text:
            return "yes" if not rule or trial_sent(request, val) < FRESH else "no"
        return "yes" if rule else "no"

    val = [Task(id=f"v{number}", input=f"Task {number}.") for number in (5, 6, 7, 9)]
    config = {"search": {"no_regression": no_regression}}
    sleep = {"memory": False, "confirm_trials": 3}
    found, _ = night(tmp_path, bool, Optimizer("Say yes."), val=val, answer=answer, sleep=sleep, config=config)
    change = found.changes[0]
    assert (change.status, change.proposed) == (status, not no_regression)
    assert change.reason.endswith(", but 'v9' does worse in fresh attempts") is no_regression


def test_a_candidate_that_is_behind_after_one_fresh_attempt_at_each_task_gets_no_others(tmp_path: Path) -> None:
    val = [Task(id=f"v{number}", input=f"Task {number}.") for number in (5, 6, 7)]

    def answer(request: ChatRequest) -> str:
        held_out = any(task.input in request.messages[-1].text for task in val)
        fresh = held_out and trial_sent(request, val) >= FRESH
        return "yes" if ("Say yes." in request.messages[0].text) is not fresh else "no"

    found, _ = night(tmp_path, bool, Optimizer("Say yes."), val=val, answer=answer, sleep={"memory": False})
    change = found.changes[0]
    assert (change.status, change.proposed) == ("rejected", False)
    assert change.reason.endswith(", but fresh attempts show no gain")
    assert change.confirmed is not None
    assert change.confirmed.trials == 1


def test_a_night_says_that_it_may_be_luck_and_what_would_settle_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Small(tmp_path, n=3)
    monkeypatch.setenv("XDG_STATE_HOME", small.environ["XDG_STATE_HOME"])
    report = small.night({"confirm_trials": 2})
    document = report.documents[0]
    assert (report.status, report.reason, report.proposal) == (
        "no change",
        "the gain of what passed the gate may be luck",
        "",
    )
    assert (document.status, document.verdict) == ("inconclusive", "inconclusive")
    assert not (small.state.night(1) / "proposal").exists()
    assert main(["sleep", "show", "--project", str(small.project)]) == 0
    assert "\nlearned: inconclusive  (" in capsys.readouterr().out
    out = (small.state.night(1) / "report.md").read_text()
    assert "\n  by luck alone: p = 0.17, above the significance level 0.05\n" in out
    assert "\n  more held-out tasks, or a higher sleep.confirm_trials, would settle it\n" in out
    (said,) = json.loads((small.state.night(1) / "night.json").read_text())["documents"]
    assert (said["status"], round(said["by_luck"], 3)) == ("inconclusive", 0.167)
    assert set(small.ledger().values()) == {"queued"}  # its sessions and tasks stay available
    assert any("wait for the next night" in note for note in report.notes)
    small.write(3, 5)
    assert small.night({"confirm_trials": 2}).sessions == {"claude-code": 5}


def test_after_several_accepted_candidates_the_first_document_is_what_the_last_is_compared_with(
    tmp_path: Path,
) -> None:
    """Two rules are needed; each edit brings one. What is told and what is measured is one comparison."""
    val = [Task(id=f"v{number}", input=f"Task {number}.") for number in (5, 6)]

    def answer(request: ChatRequest) -> str:
        said, asked = request.messages[0].text, request.messages[-1].text
        return "yes" if ("Say yes." if "Task 5." in asked else "Loudly.") in said else "no"

    class TwoRules(Optimizer):
        def _answer(self, request: ChatRequest) -> str:
            self._rules[True] = "Loudly." if "Say yes." in request.messages[1].text else "Say yes."
            return super()._answer(request)

    found, _ = night(tmp_path, bool, TwoRules(""), val=val, answer=answer, sleep={"memory": False})
    change = found.changes[0]
    assert (change.status, change.baseline, change.candidate) == ("accepted", 0.0, 1.0)
    assert change.reason == "candidate 1.0000 > current 0.0000"
    assert len(change.held_out.after) == 2
    assert change.after.text.count("- ") - SKILL.text.count("- ") == 2


def test_what_is_shown_of_an_accepted_document_is_not_a_later_candidate_that_lost(tmp_path: Path) -> None:
    val = [Task(id=f"v{number}", input=f"Task {number}.") for number in (5, 6, 7)]

    def answer(request: ChatRequest) -> str:
        said, asked = request.messages[0].text, request.messages[-1].text
        return "yes" if "Say yes." in said and "Zebra" not in said and "Task 7." not in asked else "no"

    class Worse(Optimizer):
        def _answer(self, request: ChatRequest) -> str:
            self._rules[True] = "Zebra." if "Say yes." in request.messages[1].text else "Say yes."
            return super()._answer(request)

    found, _ = night(tmp_path, bool, Worse(""), val=val, answer=answer, sleep={"memory": False})
    change = found.changes[0]
    assert (change.status, change.candidate) == ("accepted", pytest.approx(2 / 3))
    assert change.reason == "candidate 0.6667 > current 0.0000"
