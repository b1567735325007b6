"""A target that answers by table, for comparing skills."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etude import make_config
from etude.envs import ListEnvironment
from etude.errors import RejectedRequest
from etude.measure.compare import compare_skills
from etude.records import ChatRequest, Reply, Skill, Split, Task
from etude.records.summary import Comparison
from etude.testing.doubles import Line, ScriptedModel
from trials_sent import trial_sent

A, B, C = (Skill(name=name.lower(), text=f"Skill {name}.\n") for name in "ABC")
TASKS = [Task(id=f"t{number}", input=f"Task t{number}.", gold="yes") for number in range(8)]
OTHERS = [Task(id=f"o{number}", input=f"Other {number}.", gold="yes") for number in range(2)]
Answers = Mapping[str, str]
"""Skill and trial, as in `A0`, to one letter per task: `y` is solved, `n` is not, `!` has no score."""


class World:
    """A target in a run folder of its own."""

    def __init__(self, folder: Path, answers: Answers, *, simulated: bool = False) -> None:
        self.target = ScriptedModel(self._answer, name="scripted:target")
        self._folder = folder
        self._answers = answers
        self._simulated = simulated

    def _answer(self, request: ChatRequest) -> Line:
        skill, task, trial = asked(request)
        answer = self._answers[f"{skill}{trial}"][task]
        if answer == "!":
            return RejectedRequest("no such luck")
        return Reply(text={"y": "yes", "n": "no"}[answer], simulated=self._simulated)

    def given(self, tasks: int = 8, **more: Any) -> dict[str, Any]:
        return {
            "env": ListEnvironment([OTHERS[0]], [OTHERS[1]], TASKS[:tasks], scorer="exact"),
            "target": self.target,
            "optimizer": ScriptedModel([], name="scripted:optimizer"),
            **more,
        }

    def config(self, **limits: Any) -> Any:
        return make_config(
            {
                "env": {"allow_constant_gold": True},
                "run": {"folder": str(self._folder)},
                "limits": {"concurrency": 1, **limits},
            }
        )

    def compare(
        self,
        a: Any = A,
        b: Any = B,
        trials: int | range = 1,
        *,
        split: Split = "test",
        margin: float = 0,
        **limits: Any,
    ) -> Comparison:
        return compare_skills(self.config(**limits), a, b, split, trials, margin=margin, **self.given())


def asked(request: ChatRequest) -> tuple[str, int, int]:
    """(skill, task, trial) of a request; `-` for no skill."""
    instructions, question = request.messages
    skill = next((name for name in "ABC" if f"Skill {name}." in instructions.text), "-")
    return skill, int(question.text.rsplit(maxsplit=1)[-1].strip("t.")), trial_sent(request, (*TASKS, *OTHERS))
