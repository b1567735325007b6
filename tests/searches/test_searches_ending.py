"""How the default search ends: validation shows that the skill is better, or it is withheld."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from etude import ListEnvironment, Skill, StopRun, Task, Trainer
from etude.cli.main import main
from etude.cli.terminal.summary_text import summary_lines
from etude.records import ChatRequest, TrainState
from etude.records.summary import Summary
from etude.searches.evidence import EvidenceSearch
from etude.testing import ScriptedModel
from rows import few

TRAIN, VAL, TEST = (
    [Task(id=f"{split}{number}", input=f"{split} {number}.", gold="yes") for number in range(count)]
    for split, count in (("Train", 6), ("Val", 24), ("Test", 10))
)
INITIAL = "Answer.\n"


class World:
    """The optimizer proposes a rule that all training tasks need, then nothing of use. Of validation and test tasks
    each `general`th needs it too, the others fail with any skill; with 0 they all do."""

    def __init__(self, *, general: int = 1, rule: str = "Rule.") -> None:
        self.attempted: list[tuple[str, str]] = []
        self.asked = 0
        self._general, self._rule = general, rule
        self.target = ScriptedModel(self._attempt, name="scripted:target")
        self.optimizer = ScriptedModel(self._answer, name="scripted:optimizer")

    def _attempt(self, request: ChatRequest) -> str | Exception:
        skill, task = (message.text for message in request.messages)
        split, number = task.rstrip(".").split()
        self.attempted.append((split, "new" if self._rule in skill else "old"))
        learnable = split == "Train" or (self._general > 0 and int(number) % self._general == 0)
        return f"<answer>{'yes' if 'Rule.' in skill and learnable else 'no'}</answer>"

    def _answer(self, request: ChatRequest) -> str:
        self.asked += 1
        cites = re.findall(r'<attempt id="([^"]+)"', request.messages[1].text)
        edit = {"op": "append", "target": "", "content": f"- {self._rule}", "reason": "why", "cites": cites}
        return json.dumps({"reasoning": "because", "edits": [edit]})

    def validated(self, skill: str) -> int:
        return self.attempted.count(("Val", skill))


def run(folder: Path, world: World, **more: Any) -> Summary:
    return Trainer(
        {
            "train": {"epochs": 3},
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


def test_a_skill_that_validation_shows_to_be_better_is_handed_out_after_eight_clear_gains(tmp_path) -> None:
    world = World()
    summary = run(tmp_path, world)
    assert (summary.initial.val.mean, summary.best.val.mean, summary.withheld) == (0.0, 1.0, "")
    assert (world.validated("old"), world.validated("new")) == (8, 8)
    assert (summary.initial.val.n, summary.best.val.n) == (8, 8)
    assert "- Rule." in handed_out(summary)
    assert "does not show" not in "\n".join(summary_lines(summary))


@pytest.mark.parametrize("tested", [False, True])
def test_a_skill_that_is_not_shown_to_be_better_is_withheld(tmp_path, capsys, tested: bool) -> None:
    world = World(general=0)
    summary = run(tmp_path, world, test={"enabled": tested})
    assert summary.accepted == 1
    assert handed_out(summary) == INITIAL
    assert (summary.best.hash, summary.best.val) == (summary.initial.hash, summary.initial.val)
    assert "- Rule." in (Path(summary.folder) / summary.withheld).read_text()
    assert (world.validated("old"), world.validated("new")) == (len(VAL), len(VAL))
    assert ("Test", "new") not in world.attempted
    assert ("Test", "old") in world.attempted or not tested
    main(["show", summary.folder])
    said = f"withheld {summary.withheld_why}"
    shown = capsys.readouterr().out.splitlines()
    assert "* became the best skill of the search, which is not handed out" in shown
    for lines in (list(summary_lines(summary)), shown):
        assert said in " ".join(" ".join(lines).split())
        assert any(line.endswith(summary.withheld) for line in lines)
        step = int(Path(summary.withheld).stem)
        command = f"etude compare {summary.name}:initial {summary.name}:{step} "
        assert any(line.startswith("to settle") and command in line for line in lines)
    assert json.loads((Path(summary.folder) / "summary.json").read_text())["withheld"] == summary.withheld
    # `etude compare` takes no document of descriptions for a skill.
    assert "etude compare" not in "\n".join(summary_lines(summary.model_copy(update={"is_skill": False})))


class Slow(World):
    """Two training tasks need the rule, and it is proposed in the fourth step with a failure; before, nothing is."""

    def _attempt(self, request: ChatRequest) -> str | Exception:
        answer, task = super()._attempt(request), request.messages[1].text
        return answer if task in ("Train 0.", "Train 1.", "Val 0.") else "<answer>yes</answer>"

    def _answer(self, request: ChatRequest) -> str:
        return super()._answer(request) if self.asked >= 6 else self._nothing()

    def _nothing(self) -> str:
        self.asked += 1
        return json.dumps({"reasoning": "", "edits": []})


def test_where_few_tasks_are_left_the_search_ends_after_four_steps_that_change_nothing_or_eight_at_first(
    tmp_path,
) -> None:
    world = Slow()
    summary = run(tmp_path, world, train={"epochs": 9}, search={"failures": 2})
    assert (summary.accepted, world.asked) == (1, 8)
    nothing = run(tmp_path / "other", Slow(rule="Nothing."), train={"epochs": 9}, search={"failures": 2})
    assert (nothing.accepted, nothing.steps) == (0, 10)  # before it, nothing failed in two


class Memory(World):
    """Only training tasks pass for the rule, and by luck the first attempt at each sixth validation task."""

    def _attempt(self, request: ChatRequest) -> str | Exception:
        answer, task = super()._attempt(request), request.messages[1].text
        lucky = self.attempted[-1] == ("Val", "new") and self.validated("new") <= len(VAL)
        return "<answer>yes</answer>" if lucky and int(task.rstrip(".").split()[1]) % 6 == 0 else answer


def test_lines_that_only_fit_the_training_tasks_are_withheld(tmp_path) -> None:
    world = Memory(general=0)
    summary = run(tmp_path, world)
    assert handed_out(summary) == INITIAL
    assert summary.withheld_why.startswith("fresh attempts do not show that the skill of the search is better")
    assert world.validated("new") == 5 * len(VAL)


class Faint(World):
    """For the rule each eighth validation task passes in some attempts."""

    def __init__(self, *passes: int) -> None:
        super().__init__(general=0)
        self._passes = passes

    def _attempt(self, request: ChatRequest) -> str | Exception:
        answer, task = super()._attempt(request), request.messages[1].text
        split, number = task.rstrip(".").split()
        made = self.attempted[-1] = (split, f"{self.attempted[-1][1]} {number}")
        passes = int(number) % 8 == 0 and self.attempted.count(made) in self._passes
        return "<answer>yes</answer>" if made == ("Val", f"new {number}") and passes else answer


@pytest.mark.parametrize(
    ("passes", "looks", "shown"),
    [
        ((1, 2, 3, 4, 5), 1, True),
        ((1, 2, 6, 7, 8, 9), 2, True),  # pointed at first, shown then
        ((1, 2), 2, False),
    ],
)
def test_fresh_attempts_that_point_to_a_gain_are_followed_by_as_many_more(
    passes: tuple[int, ...], looks: int, shown: bool, tmp_path: Path
) -> None:
    world = Faint(*passes)
    summary = run(tmp_path, world)
    assert ("- Rule." in handed_out(summary)) is shown
    made = [what for split, what in world.attempted if split == "Val" and what.startswith("new ")]
    assert len(made) == (1 + 4 * looks) * len(VAL)


@pytest.mark.parametrize("calls", few([9, 14, 20, 30], 20))
def test_a_run_that_a_budget_stops_continues_to_the_same_end(tmp_path, calls: int) -> None:
    whole = run(tmp_path / "whole", World())
    world = World()
    with pytest.raises(StopRun, match=f"limits.calls = {calls}"):
        run(tmp_path / "cut", world, limits={"calls": calls})
    summary = run(tmp_path / "cut", world, limits={"calls": 500})
    assert (summary.accepted, summary.initial, summary.best) == (whole.accepted, whole.initial, whole.best)


class Trap(World):
    """A second rule fixes the last training task. With it two others and every second validation task fail. Of these
    the initial skill solves the first `solved`."""

    def __init__(self, *, general: int = 1, solved: int = 0) -> None:
        super().__init__(general=general)
        self._solved = solved

    def _attempt(self, request: ChatRequest) -> str | Exception:
        skill, task = (message.text for message in request.messages)
        split, number = task.rstrip(".").split()
        self.attempted.append((split, "trap" if "Trap." in skill else "new" if "Rule." in skill else "old"))
        if task == "Train 5.":
            right = "Trap." in skill
        elif "Rule." in skill:
            lost = "Trap." in skill and (int(number) % 2 == 0 if split == "Val" else number in "01")
            right = not lost and (split == "Train" or int(number) % self._general == 0)
        else:
            right = split == "Val" and int(number) < self._solved
        return f"<answer>{'yes' if right else 'no'}</answer>"

    def _answer(self, request: ChatRequest) -> str:
        self._rule = "Trap." if "- Rule." in request.messages[1].text else "Rule."
        return super()._answer(request)


def test_a_skill_of_an_earlier_step_is_handed_out_where_it_scores_more_on_validation_tasks(tmp_path, capsys) -> None:
    world = Trap()
    summary = run(tmp_path, world)
    assert summary.accepted == 2
    assert "Rule." in handed_out(summary)
    assert "Trap." not in handed_out(summary)
    assert 8 < world.validated("trap") <= len(VAL)
    # Eight clear gains do not show it of a skill that was chosen out of two by the same tasks.
    assert (summary.best.val.mean, summary.best.val.n) == (1.0, 16)
    main(["show", summary.folder])
    assert "best is the skill of step 1: validation scores it higher" in capsys.readouterr().out
    main(["blame", summary.folder])
    assert "proved" in capsys.readouterr().out


def test_the_skill_that_is_withheld_may_be_that_of_an_earlier_step(tmp_path) -> None:
    """It solves 3 of 24 validation tasks, the initial one 6, and that of the last step none."""
    summary = run(tmp_path, Trap(general=8, solved=6))
    assert summary.withheld == f"skills/{summary.earlier_step:04d}.md" == "skills/0001.md"
    assert handed_out(summary) == INITIAL


@pytest.mark.parametrize("targets", [0, 2])
@pytest.mark.parametrize(("entered", "idle", "ends"), [(False, 4, False), (False, 8, True), (True, 4, True)])
def test_where_nothing_has_entered_the_search_goes_on_longer_also_of_several_targets(
    targets: int, entered: bool, idle: int, ends: bool
) -> None:
    skill = Skill(text="a line\n")
    state = TrainState(current=skill, best=skill, epoch=4, idle=idle, skills={1: skill} if entered else {})
    search = SimpleNamespace(_config=SimpleNamespace(targets=["target"] * targets))
    assert EvidenceSearch.gives_up(search, state, idle=2) is ends
