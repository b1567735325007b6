"""Criteria are tried before anything is learned from them: with an answer that only says what they name."""

import json
from pathlib import Path

import pytest
from small_night import MODELS, Finished, Gullible, Small

from etude.cli.main import main
from etude.concurrency import run_to_end
from etude.envs.hollow import hollow_answer
from etude.errors import BudgetStop, OutageStop, RejectedRequest, RejectedRole, UnusableReply
from etude.protocols import Environment
from etude.records import ChatRequest, Reply, Score, Task, Trajectory
from etude.sleep.tasks.mined import MinedTask
from etude.sleep.tasks.probe import GAMEABLE, HOLLOW, UNJUDGED, probe
from rows import rows

WORD = {"op": "contains", "arg": "Recommendation:"}
RUBRIC = "It gives a clear recommendation.\nIt names real risks; each with its weight."


def task(name: str = "m1", **more: object) -> MinedTask:
    return MinedTask.model_validate({"id": name, "intent": f"Write a brief on {name}.", **more})


class Judged(Environment):
    """Grades every answer alike, or fails alike; keeps what it was shown."""

    name = "judged"

    def __init__(self, grade: float | Exception) -> None:
        self._grade = grade
        self.shown: list[tuple[Task, str]] = []

    def tasks(self, split: str) -> tuple[Task, ...]:
        del split
        return ()

    async def score(self, task: Task, trajectory: Trajectory) -> Score:
        self.shown.append((task, trajectory.answer))
        if isinstance(self._grade, Exception):
            raise self._grade
        return Score(hard=float(self._grade >= 0.8), soft=self._grade)


def test_a_hollow_answer_says_all_that_is_asked_and_claims_to_have_done_it() -> None:
    said = hollow_answer("Write a brief on m1.", RUBRIC)
    for wanted in (
        "Write a brief on m1.",
        "It gives a clear recommendation.",
        "It names real risks;",
        "nothing is missing",
    ):
        assert wanted in said


def test_a_task_whose_judge_takes_a_hollow_answer_is_dropped_and_named() -> None:
    env = Judged(0.9)
    kept, fooled = run_to_end(probe([task(rubric=RUBRIC), task("m2", exact=("5",))], env))
    assert fooled == (HOLLOW,)
    assert [one.id for one in kept] == ["m2"]
    ((asked, answer),) = env.shown
    assert (asked.gold, answer) == ({"rubric": RUBRIC}, hollow_answer("Write a brief on m1.", RUBRIC))


def test_checks_beside_a_rubric_are_not_shown_to_the_judge_and_count_without_it() -> None:
    env, pattern = Judged(1.0), {"op": "regex", "arg": "[Rr]isk.{20,}", "requirement": "says more of the risk"}
    (kept,), fooled = run_to_end(probe([task(rubric=RUBRIC, checks=[WORD, pattern])], env))
    assert (kept.rubric, len(kept.checks), kept.gameable) == ("", 2, False)
    assert fooled == (UNJUDGED,)
    assert env.shown[0][0].gold == {"rubric": RUBRIC}


def test_checks_of_plain_words_stay_with_a_mark() -> None:
    tasks = [
        task("m1", checks=[WORD]),
        task("m2", checks=[WORD], rubric=RUBRIC),
        task("m3", exact=("5",), checks=[WORD]),
    ]
    found, _ = run_to_end(probe(tasks, Judged(0.0)))
    assert [(one.id, one.gameable) for one in found] == [("m1", True), ("m2", False), ("m3", False)]
    kept, fooled = run_to_end(probe(tasks, Judged(1.0)))
    assert [one.gameable for one in kept] == [True, True, False]
    assert fooled == (UNJUDGED,)
    assert run_to_end(probe(tasks, None))[0] == found


@rows("grade", [0.79, UnusableReply("no grade"), RejectedRequest("too long")])
def test_a_judge_that_is_not_fooled_or_has_no_grade_costs_no_task(grade: float | Exception) -> None:
    assert run_to_end(probe([task(rubric=RUBRIC)], Judged(grade)))[1] == ()


def test_what_stops_a_judge_stops_the_night() -> None:
    with pytest.raises(BudgetStop):
        run_to_end(probe([task(rubric=RUBRIC)], Judged(BudgetStop("enough"))))


class PlainWords(Gullible):
    """An optimizer that also asks for words alone: the way in which a hurried person writes checks."""

    async def complete(self, request: ChatRequest) -> Reply:
        reply = await super().complete(request)
        if "# Conversation" not in request.messages[-1].text:
            return reply
        mined = json.loads(reply.text)
        for one in mined["tasks"]:
            one["checks"] = [{"op": "contains", "arg": "Key Risks", "requirement": "has key risks"}]
        return reply.model_copy(update={"text": json.dumps(mined)})


def test_a_night_whose_judge_is_fooled_goes_by_the_checks(tmp_path: Path) -> None:
    small = Small(tmp_path)
    report = small.night(given={"optimizer": Gullible(MODELS["optimizer"], lambda request: None)})
    assert (report.status, report.dropped) == ("proposed", {UNJUDGED: 5})


def test_a_night_with_checks_of_plain_words_alone_learns_from_them_and_says_what_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Small(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", small.environ["XDG_STATE_HOME"])
    report = small.night(given={"optimizer": PlainWords(MODELS["optimizer"], lambda request: None)})
    assert (report.status, report.tasks) == ("proposed", {"train": 3, "val": 2})
    assert f"2 of 2 held-out tasks are {GAMEABLE}" in report.notes
    args = ["--project", str(small.project)]
    assert main(["sleep", "show", "--tasks", *args]) == 0
    assert capsys.readouterr().out.count("1 check, gameable") == 5


def test_a_night_with_a_judge_that_reads_asks_it_once_for_each_task(finished: Finished) -> None:
    probes = [request for request in finished.asked if "It meets every requirement in full" in str(request)]
    assert (finished.report.dropped, len(probes)) == ({}, 5)


def test_a_night_whose_probe_is_interrupted_goes_on_without_asking_twice(tmp_path: Path) -> None:
    small = Small(tmp_path)

    asked: list[str] = []

    def stop(request: ChatRequest) -> None:
        text = request.messages[-1].text
        asked.extend([text] if "It meets every requirement in full" in text else [])
        if len(asked) == 3:
            raise BudgetStop("enough 7712")

    small.before = stop
    with pytest.raises(BudgetStop):
        small.night()
    assert set(small.ledger().values()) == {"queued"}
    small.before = lambda request: None
    assert small.night().status == "proposed"
    assert sum("It meets every requirement in full" in text for text in small.optimizer.answered) == 5


def test_a_judge_that_is_out_of_reach_stops_the_night() -> None:
    with pytest.raises(OutageStop, match="judge: no such model"):
        run_to_end(probe([task(rubric=RUBRIC)], Judged(RejectedRole("no such model"))))
