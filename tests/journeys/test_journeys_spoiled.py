"""Optimizers that cite badly, or write answers into the skill: the run learns all the same, or learns nothing."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from http_run import make_project
from misbehaving import Answer, Asked, misbehaving
from small_run import PAPER

from etude import Trainer, load_config
from etude.cli.terminal.summary_text import summary_lines
from etude.records.summary import Summary
from etude.simulation import SEED_SKILL, make_tasks, true_score
from rows import few

SIZES = (9, 4, 2)
TASKS = make_tasks("sorting", sum(SIZES), seed=1)
REST = make_tasks("sorting", 30, seed=9)
ALL = {"search": {**PAPER["search"], "edit_budget": 40, "batch_size": 8, "meta_skill": False}}
EVIDENCE = {**PAPER, "search": {"policy": "evidence"}}
POLICIES = {"evidence": EVIDENCE, "paper": ALL}


Spoil = Callable[[str, list[dict[str, Any]], str], str]
"""From a model, the messages that it was sent and its reply to the reply that comes in its place."""


def train(folder: Path, spoil: Spoil, policy: str, optimizer: str = "optimizer-perfect") -> tuple[Summary, str]:
    """A run over HTTP; what it says at its end, and the skill it hands out."""

    def spoiled(asked: Asked) -> Answer:
        return asked.answer(text=spoil(asked.sent["model"], asked.sent["messages"], asked.reply.text))

    with misbehaving(spoiled) as server:
        more = {**POLICIES[policy], "test": {"enabled": False}}
        path = make_project(folder, server.url, sizes=SIZES, **more)
        flags = [("optimizer.model", f"openai:{optimizer}")]
        summary = Trainer(load_config(path, flags=flags, environ={})).train()
    return summary, (folder / "runs/run" / summary.best.skill).read_text()


def citing(change: Any) -> Spoil:
    """A proxy that changes the citations of each edit."""

    def spoil(model: str, asked: list[dict[str, Any]], said: str) -> str:
        if not model.startswith("optimizer"):
            return said
        reply = json.loads(said)
        for row in reply.get("edits", []):
            row["cites"] = change(asked[-1]["content"], row["cites"])
        return json.dumps(reply)

    return spoil


def tasks_of(asked: str, cites: list[str]) -> list[str]:
    """The ids of the tasks in place of those of the attempts; a merge is shown no attempts."""
    shown = dict(re.findall(r'<attempt id="([\w-]+)".*?<task[^>]*>\n(.*?)\n</task', asked, re.DOTALL))
    return [next((task.id for task in TASKS if task.input in shown.get(cite, "")), cite) for cite in cites]


@pytest.mark.parametrize(
    ("policy", "change", "counted"),
    [
        ("evidence", lambda asked, cites: [], "uncited"),
        pytest.param("evidence", tasks_of, "repaired_cites", marks=pytest.mark.slow),
        ("paper", lambda asked, cites: [cite.removeprefix("a-") for cite in cites], "repaired_cites"),
    ],
    ids=["empty", "tasks", "prefix-paper"],
)
def test_a_run_learns_whatever_becomes_of_the_citations(
    tmp_path: Path, policy: str, change: Any, counted: str
) -> None:
    summary, skill = train(tmp_path, citing(change), policy)
    assert true_score(skill, REST) > true_score(SEED_SKILL, REST) + 0.2
    counts = {"uncited": summary.uncited, "repaired_cites": summary.repaired_cites}
    assert [name for name, count in counts.items() if count] == [counted]
    assert any(line.startswith("citations") for line in summary_lines(summary))


def memorising(cited: bool) -> Spoil:
    """An optimizer that proposes the right answers of failures as well, in merges too, and a target that repeats what
    its skill says about a task."""
    seen: dict[str, str] = {}

    def spoil(model: str, asked: list[dict[str, Any]], said: str) -> str:
        system, shown = asked[0]["content"], asked[-1]["content"]
        if not model.startswith("optimizer"):
            answers = [task.gold for task in TASKS if task.input in shown and f"answer {task.gold}" in system]
            return f"<answer>{answers[0]}</answer>" if answers else said
        reply = json.loads(said)
        if "edits" not in reply:
            return said
        failures = dict(re.findall(r'<attempt id="([\w-]+)".*?expected: (.*?); got:', shown, re.DOTALL))
        seen.update(failures)
        reply["edits"] += [
            {
                "op": "append",
                "target": "",
                "content": f"- Case {cite[2:5]}: answer {gold}",
                "reason": "",
                "cites": [cite],
            }
            for cite, gold in (failures or seen).items()
        ]
        for row in reply["edits"]:
            row["cites"] = row["cites"] if cited else []
        return json.dumps(reply)

    return spoil


@pytest.mark.parametrize(("policy", "cited"), few([("evidence", True), ("paper", False)], first=1))
def test_a_run_learns_rules_and_keeps_no_answer_that_was_copied(tmp_path: Path, policy: str, cited: bool) -> None:
    _, skill = train(tmp_path, memorising(cited), policy)
    assert true_score(skill, REST) > true_score(SEED_SKILL, REST) + 0.2
    run = tmp_path / "runs/run"
    kept = "".join(path.read_text() for path in (run / "skills").iterdir())
    assert [task.gold for task in TASKS if str(task.gold) in kept] == []
    views = "".join(path.read_text() for path in (run / "steps").rglob("*.json"))
    assert "it copies the gold answer of" in views or '"copied"' in views
