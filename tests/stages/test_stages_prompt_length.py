"""A question about eight failures, with all that the optimizer is told, is no longer than one that shows only skill,
edits and attempts, each edit in full and each attempt with transcript, answer and feedback."""

from collections.abc import Sequence
from typing import Any

import pytest
from stages_doubles import Desk, append, minibatches, patch_reply, reflect

from etude.config.sections import ReflectSection
from etude.prompts import Prompts
from etude.records import Attempt, LedgerEntry, Score, Skill, Tally, Task, Trajectory, assistant, user
from etude.stages.reflect import Context
from etude.stages.shared.render import told_block

LABELS = ("account", "billing", "shipping", "technical")
RULES = tuple(
    f"- Messages of the kind {number} belong to {LABELS[number % 4]}, whatever else they say." for number in range(6)
)
SKILL = Skill(text="# Tickets\n\n- Write one word, the name of the department.\n" + "\n".join(RULES[:4]))


def made(number: int, said: str, answer: str, gold: str, passed: bool) -> Attempt:
    task = Task(id=f"ticket-{number}", input=f"Message: Dear team, request {number} is open.\nDepartment:", gold=gold)
    return Attempt(
        id=f"a-{number:08x}",
        task=task,
        skill_hash=SKILL.hash,
        outcome="completed",
        score=Score(hard=passed, soft=passed, feedback="correct" if passed else f"expected: {gold}; got: {answer}"),
        trajectory=Trajectory(answer=answer, messages=(user(task.input), assistant(said))),
    )


def labelled() -> list[Attempt]:
    """Eight failures and eight passes of a task of one word."""
    wrong = [made(n, " billing", "billing", LABELS[n % 4] if n % 4 != 1 else "account", False) for n in range(8)]
    return wrong + [made(n, f" {LABELS[n % 4]}", LABELS[n % 4], LABELS[n % 4], True) for n in range(8, 16)]


def reasoned() -> list[Attempt]:
    """As many at which the agent reasons at length, each longer than what is shown of it."""
    said = "First I look at what the message asks for, then at who could help. " * 400
    return [
        made(
            n,
            f"{said}<answer>{n} units of {LABELS[n % 4]}</answer>",
            f"{n} units of {LABELS[n % 4]}",
            f"{n + n // 8} units",
            n > 7,
        )
        for n in range(16)
    ]


def patterned() -> list[Attempt]:
    """As many at which the agent reasons in a few lines, and nothing is cut."""
    said = "I look at what the message asks for. " * 20
    return [
        each.model_copy(
            update={
                "trajectory": Trajectory(
                    answer=each.trajectory.answer,
                    messages=(user(each.task.input), assistant(f"{said}Answer: {each.trajectory.answer}")),
                )
            }
        )
        for each in labelled()
    ]


def ledger() -> list[LedgerEntry]:
    """Four rules that stand in the skill, and two that went."""
    why, fixed = "as good without it: ticket-3, ticket-7", ("ticket-2", "ticket-5")
    edits = [append(rule, "a", "b") for rule in RULES]
    kept = [LedgerEntry(step=1, edit=edit, fate="applied", accepted=True, needed=fixed) for edit in edits[:4]]
    return kept + [LedgerEntry(step=2, edit=edit, fate="dropped", accepted=None, why=why) for edit in edits[4:]]


async def length(attempts: Sequence[Attempt], edits: Sequence[LedgerEntry], **known: Any) -> int:
    desk = Desk(reflect_deep=patch_reply())
    context = Context(SKILL, 6, edits, {}, **known)
    await reflect(desk.optimizer, attempts, context, ReflectSection(), minibatches(failures_only=True))
    (asked,) = desk.asked
    return sum(len(message.text) for message in asked[1].messages)


@pytest.mark.parametrize(
    ("attempts", "edits", "before"),
    [
        (labelled(), [], 6_757),
        (labelled(), ledger(), 7_830),
        (patterned(), [], 14_974),
        (patterned(), ledger(), 16_047),
        (reasoned(), [], 73_160),
        (reasoned(), ledger(), 74_233),
    ],
    ids=["one word", "one word, with edits", "some lines", "some lines, with edits", "long", "long, with edits"],
)
async def test_all_that_is_told_takes_no_more_room(
    attempts: list[Attempt], edits: list[LedgerEntry], before: int
) -> None:
    tallies = [Tally(step=step, solved=step, attempted=16) for step in range(1, 4)] if edits else []
    told = told_block([("openai:some-small-model", 0.7)], Prompts()["chat"])
    assert await length(attempts, edits, told=told, tallies=tallies) <= before
