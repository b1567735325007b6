"""The benchmark with a real model, without one: its tasks, and the optimizer that is a program."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from real_tasks import FAMILIES
from scripted_optimizer import ScriptedOptimizer

from etude import ListEnvironment, Skill, Trainer
from etude.protocols import ChatModel
from etude.records import Attempt, ChatRequest, Edit, LedgerEntry, Reply, Score, Task, Trajectory, user
from etude.skill.edits import apply_edits
from etude.stages.shared.copies import names_one
from etude.stages.shared.golds import Golds
from etude.stages.shared.own_words import OwnWords
from etude.stages.shared.render import attempt_block, edit_budget_line, ledger_block, skill_block


def attempted(task: Task, answer: str) -> Attempt:
    right = answer == task.gold
    feedback = "correct" if right else f"expected: {task.gold}; got: {answer}"
    return Attempt(
        id=f"a-{task.id}",
        task=task,
        skill_hash="0",
        trial=0,
        outcome="completed",
        trajectory=Trajectory(answer=answer),
        score=Score(hard=float(right), soft=float(right), feedback=feedback),
    )


def prompt(skill: str, attempts: Sequence[Attempt], ledger: Sequence[LedgerEntry] = ()) -> str:
    shown = [attempt_block(attempt, 12_000) for attempt in attempts]
    parts = [skill_block(Skill(text=skill)), ledger_block(ledger, 20), edit_budget_line(6), "# Attempts", *shown]
    return "\n\n".join(part for part in parts if part)


def proposed(text: str) -> list[dict[str, Any]]:
    reply = asyncio.run(ScriptedOptimizer().complete(ChatRequest(messages=(user(text),))))
    return json.loads(reply.text)["edits"]


@pytest.mark.parametrize("name", FAMILIES)
def test_what_the_optimizer_proposes_passes_the_guards_and_cites_failures(name: str) -> None:
    family = FAMILIES[name]
    tasks = family.tasks(80, 1)
    golds, words = Golds(tasks), OwnWords(tasks)
    for start in range(0, 80, 8):
        attempts = [attempted(task, "nothing") for task in tasks[start : start + 6]]
        attempts += [attempted(task, str(task.gold)) for task in tasks[start + 6 : start + 8]]
        edits = proposed(prompt(family.first_skill, attempts))
        assert 2 <= len(edits) <= 6
        for edit in edits:
            assert set(edit["cites"]) <= {attempt.id for attempt in attempts[:6]}
            assert edit["cites"]
            made = Edit.model_validate(edit)
            assert names_one(made, [task.id for task in tasks]) == ""
            assert not words.copied(made.content, family.first_skill)
            assert golds.why(made.content, family.first_skill) == ""
        after = apply_edits(family.first_skill, [Edit.model_validate(edit) for edit in edits])[0]
        assert all(edit["content"].strip() in after for edit in edits)


def test_what_stands_in_the_skill_or_was_tried_is_not_proposed_again() -> None:
    family = FAMILIES["cities"]
    attempts = [attempted(task, "no") for task in family.tasks(6, 1)]
    first = [Edit.model_validate(edit) for edit in proposed(prompt(family.first_skill, attempts))]
    skill = apply_edits(family.first_skill, first[:1])[0]
    ledger = [LedgerEntry(step=1, edit=edit, fate="applied", accepted=False) for edit in first[1:]]
    again = proposed(prompt(skill, attempts, ledger))
    assert again
    assert not {edit["content"] for edit in again} & {edit.content for edit in first}


class FollowsExamples(ChatModel):
    """Finds the city where an example of the skill has the same form, and copies the text elsewhere."""

    name = "follows-examples"

    async def complete(self, request: ChatRequest) -> Reply:
        skill, text = (message.text for message in request.messages)
        body = text.partition(": ")[2].partition("\nCity:")[0]
        cue = next((cue for cue in ("Delivery", "from", "On ", "/") if cue in body), "wants")
        taught = any(cue in line for line in skill.splitlines() if line.startswith("Text: "))
        places = {"Delivery": ("town ", ","), "from": ("from ", " "), "On ": (" in ", "."), "/": ("/ ", "")}
        before, after = places.get(cue, ("", ":"))
        found = body.rpartition(before)[2] if before else body
        return Reply(text=found.partition(after)[0] if taught and after else found if taught else body)


def test_a_target_that_follows_examples_learns_from_them(tmp_path: Path) -> None:
    family = FAMILIES["cities"]
    tasks = family.tasks(60, 1)
    summary = Trainer(
        {"run": {"folder": str(tmp_path)}},
        env=ListEnvironment(tasks[:24], tasks[24:42], tasks[42:], scorer="exact"),
        skill=Skill(name=family.name, text=family.first_skill),
        target=FollowsExamples(),
        optimizer=ScriptedOptimizer(),
    ).train()
    assert summary.initial.test is not None
    assert summary.best.test is not None
    assert (summary.initial.test.mean, summary.verdict) == (0.0, "ship")
    assert summary.best.test.mean > 0.8
