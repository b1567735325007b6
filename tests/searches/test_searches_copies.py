"""The evidence search with edits that copy training tasks."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from etude import Environment, Skill, Task, Trainer
from etude.records import ChatRequest, Split, Trajectory
from etude.records.summary import Summary
from etude.testing import ScriptedModel

ASKED = "Answer this letter: "


class Letters(Environment):
    """Letters that are to be answered with Dear, each in words of its own."""

    name = "letters"

    def tasks(self, split: Split) -> list[Task]:
        return [Task(id=f"{split}{n}", input=letter(f"{split[:2]}{n}")) for n in range(20 if split == "train" else 5)]

    def score(self, task: Task, trajectory: Trajectory) -> float:
        return float("Dear" in trajectory.answer)


def letter(name: str) -> str:
    return ASKED + " ".join(f"{name}{place}" for place in "abcdefgh")


def trained(folder: Path, edit: str, *, cited: int, knows: Callable[[str, str], bool]) -> Summary:
    """A run in which every analysis proposes one edit with the words of the first letter that it is shown, citing so
    many; the target answers right where it `knows` it from skill and letter."""

    def propose(request: ChatRequest) -> str:
        shown = request.messages[1].text
        letters = re.findall(f"{ASKED}(.*?h)\\b", shown)
        ids = [part.split('"')[0] for part in shown.split('id="')[1:]]
        content = edit.format(letters[0])
        row = {"op": "append", "target": "", "reason": "why", "cites": ids[:cited], "content": content}
        return json.dumps({"reasoning": "because", "edits": [row]})

    def answer(request: ChatRequest) -> str:
        skill, _, asked = "\n".join(message.text for message in request.messages).rpartition(ASKED)
        return "Dear friend" if knows(skill, asked.split("h")[0]) else "Hello"

    models: Any = {"target": ScriptedModel(answer), "optimizer": ScriptedModel(propose)}
    settings = {"train": {"epochs": 1}, "limits": {"concurrency": 1}, "run": {"folder": str(folder)}}
    return Trainer(settings, env=Letters(), skill=Skill(text="Write.\n"), **models).train()


def proved(folder: Path) -> Iterator[dict[str, Any]]:
    """The edits that were tested, with what was found."""
    for path in sorted((folder / "run/steps").rglob("proof.json")):
        yield from json.loads(path.read_text())["edits"]


def test_a_rule_with_a_task_as_its_example_is_tested_on_other_tasks(tmp_path: Path) -> None:
    summary = trained(
        tmp_path, "- Begin with Dear, as for {}.", cited=1, knows=lambda skill, asked: "Begin with Dear" in skill
    )
    assert summary.accepted == 1
    first = next(proved(tmp_path))
    assert first["kept"]
    assert len(first["copied"]) == 1
    assert not set(first["copied"]) & set(first["needed"])


def test_an_edit_that_helps_only_the_task_that_it_copies_does_not_stay(tmp_path: Path) -> None:
    summary = trained(tmp_path, "- To {} say Dear.", cited=8, knows=lambda skill, asked: asked in skill)
    assert summary.best.hash == summary.initial.hash
    found = list(proved(tmp_path))
    assert any(one["copied"] for one in found)
    assert not any(one["kept"] for one in found)
