"""How the default search ends: superfluous lines go, and a skill that is not shown to be better is withheld."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from etude import ListEnvironment, Skill, StopRun, Task, Trainer
from etude.cli.main import main
from etude.cli.terminal.summary_text import summary_lines
from etude.records import ChatRequest
from etude.records.summary import Span, Summary
from etude.testing import ScriptedModel

TRAIN, VAL, TEST = (
    [Task(id=f"{split}{number}", input=f"{split} {number}.", gold="yes") for number in range(count)]
    for split, count in (("Train", 6), ("Val", 10), ("Test", 10))
)
INITIAL = "Answer.\n"


class World:
    """The optimizer proposes a rule that all training tasks need, then nothing of use. `general`: the validation
    tasks need it too; else they fail with any skill. At the end it names lines as superfluous."""

    def __init__(self, *superfluous: str, general: bool = True, rule: str = "Rule.") -> None:
        self.attempted: list[tuple[str, str]] = []
        self.asked = 0
        self._superfluous, self._general, self._rule = superfluous, general, rule
        self.target = ScriptedModel(self._attempt, name="scripted:target")
        self.optimizer = ScriptedModel(self._answer, name="scripted:optimizer")

    def _attempt(self, request: ChatRequest) -> str | Exception:
        skill, task = (message.text for message in request.messages)
        split = task.split()[0]
        self.attempted.append((split, "new" if self._rule in skill else "old"))
        solved = "Rule." in skill and (self._general or split == "Train")
        return f"<answer>{'yes' if solved else 'no'}</answer>"

    def _answer(self, request: ChatRequest) -> str:
        self.asked += 1
        data = request.messages[1].text
        if data.endswith("Name the superfluous lines."):
            rows = [{"line": line, "reason": "It says nothing."} for line in self._superfluous]
            return json.dumps({"reasoning": "because", "superfluous": rows})
        cites = re.findall(r'<attempt id="([^"]+)"', data)
        edit = {"op": "append", "target": "", "content": f"- {self._rule}", "reason": "why", "cites": cites}
        return json.dumps({"reasoning": "because", "edits": [edit]})

    def validated(self, skill: str) -> int:
        return self.attempted.count(("Val", skill))


def run(folder: Path, world: World, **more: Any) -> Summary:
    return Trainer(
        {
            "train": {"epochs": 3, "batch_size": 6},
            "search": {"failures": 6},
            "test": {"enabled": False},
            "env": {"allow_constant_gold": True},
            "run": {"folder": str(folder)},
            **more,
        },
        env=ListEnvironment(TRAIN, VAL, TEST, scorer="exact"),
        skill=Skill(name="s", text=INITIAL),
        target=world.target,
        optimizer=world.optimizer,
    ).train()


def handed_out(summary: Summary) -> str:
    return (Path(summary.folder) / summary.best.skill).read_text()


def test_a_skill_that_validation_shows_to_be_better_is_handed_out(tmp_path) -> None:
    world = World()
    summary = run(tmp_path, world)
    assert (summary.initial.val.mean, summary.best.val.mean, summary.withheld) == (0.0, 1.0, "")
    assert (world.validated("old"), world.validated("new")) == (len(VAL), len(VAL))
    assert "- Rule." in handed_out(summary)
    assert "does not show" not in "\n".join(summary_lines(summary))


@pytest.mark.parametrize("tested", [False, True])
def test_a_skill_that_is_not_shown_to_be_better_is_withheld(tmp_path, capsys, tested: bool) -> None:
    world = World(general=False)
    summary = run(tmp_path, world, test={"enabled": tested})
    assert summary.accepted == 1
    assert handed_out(summary) == INITIAL
    assert (summary.best.hash, summary.best.val) == (summary.initial.hash, summary.initial.val)
    assert "- Rule." in (Path(summary.folder) / summary.withheld).read_text()
    assert ("Test", "new") not in world.attempted
    assert ("Test", "old") in world.attempted or not tested
    main(["show", summary.folder])
    said = f"{summary.withheld_why}: the best skill is the initial one"
    shown = capsys.readouterr().out.splitlines()
    assert "* became the best skill of the search, which is not handed out" in shown
    for lines in (list(summary_lines(summary)), shown):
        assert said in lines
        assert any(line.endswith(summary.withheld) for line in lines)
    assert json.loads((Path(summary.folder) / "summary.json").read_text())["withheld"] == summary.withheld


def test_a_search_that_changes_nothing_validates_once_and_withholds_nothing(tmp_path) -> None:
    world = World("Answer.", rule="Useless.")
    summary = run(tmp_path, world)
    assert (world.validated("old"), world.validated("new")) == (len(VAL), 0)
    assert (summary.withheld, summary.initial.val) == ("", summary.best.val)
    assert handed_out(summary) == INITIAL


def test_a_superfluous_line_goes_and_what_is_left_is_validated(tmp_path) -> None:
    world = World("Answer.")
    summary = run(tmp_path, world)
    assert handed_out(summary) == "- Rule.\n"
    assert (summary.initial.val.mean, summary.best.val.mean) == (0.0, 1.0)
    place = Path(summary.folder) / f"steps/{summary.steps:04d}"
    gate = json.loads((place / "gate.json").read_text())
    assert (gate["origin"], gate["reason"]) == ("tidy", "removed 1 of 1 lines that seem superfluous")
    assert [row["fate"] for row in json.loads((place / "update.json").read_text())["edits"]] == ["applied"]


def test_a_line_that_is_needed_stays(tmp_path) -> None:
    summary = run(tmp_path, World("- Rule."))
    assert "- Rule." in handed_out(summary)
    assert summary.accepted == 1


@pytest.mark.parametrize("calls", [9, 14, 20, 30])
def test_a_run_that_a_budget_stops_continues_to_the_same_end(tmp_path, calls: int) -> None:
    whole = run(tmp_path / "whole", World("Answer."))
    world = World("Answer.")
    with pytest.raises(StopRun, match=f"limits.calls = {calls}"):
        run(tmp_path / "cut", world, limits={"calls": calls})
    summary = run(tmp_path / "cut", world, limits={"calls": 200})
    assert (summary.accepted, summary.initial, summary.best) == (whole.accepted, whole.initial, whole.best)


def test_a_finished_run_costs_nothing_when_it_is_started_again(tmp_path) -> None:
    first = run(tmp_path, World("Answer."))
    world = World("Answer.")
    again = run(tmp_path, world)
    assert again.cost.target_calls == first.cost.target_calls
    assert (world.attempted, world.asked) == ([], 0)


def test_the_forecast_has_both_skills_validated_and_the_lines_tried(tmp_path) -> None:
    summary = run(tmp_path, World("Answer."))
    assert summary.forecast is not None
    stages = {stage.name: stage for stage in summary.forecast.stages}
    assert stages["validation"].attempts == Span(low=len(VAL), high=2 * len(VAL))
    assert stages["tidy"].attempts.low == 0 < stages["tidy"].attempts.high
