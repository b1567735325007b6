"""Losses: attempts decide which lines go, because a target does worse with them."""

from collections.abc import Callable, Sequence

from stages_doubles import CallsAgent, make_rollout

from etude.config import GateSection
from etude.records import Edit, Skill, Task
from etude.stages.losses import MOST_COMPARED, Doubt, losses

SKILL = Skill(text="# Counting\n\n- Count.\n- Count all.\n- Add up.\n")
FAILED = [Task(id=f"f{number}", input="?", gold="yes", target="small") for number in range(6)]
SOLVED = [Task(id=f"s{number}", input="?", gold="yes", target="small") for number in range(2)]
Solves = Callable[[str, str, int], bool]


async def lost(
    solves: Solves,
    *lines: str,
    failed: Sequence[Task] = FAILED,
    solved: Sequence[Task] = SOLVED,
    allow_loss: float = 0.0,
) -> tuple[dict[str, str], list[tuple[str, str, int]]]:
    """The lines that go with the reason, and what was attempted as (task, skill text, trial)."""
    agent = CallsAgent(lambda task, skill, trial: "yes" if solves(task.id, skill.text, trial) else "no")
    doubts = [Doubt(Edit(op="delete", target=line, reason=f"{n}"), failed, solved) for n, line in enumerate(lines)]
    found = await losses(make_rollout(agent), SKILL, doubts, GateSection(allow_loss=allow_loss), 1)
    assert len({one.edit.target for one in found.harmful}) == len(found.harmful)
    return {one.edit.target: one.detail for one in found.harmful}, agent.attempts


async def test_a_line_without_which_failed_tasks_pass_goes_and_the_reason_is_counted() -> None:
    gone, attempts = await lost(lambda task, skill, _: task[0] == "s" or "Add" not in skill, "- Add up.", "- Count.")
    assert gone == {"- Add up.": "small scores 0.25 with it and 1.00 without, over 8 attempts each"}
    assert len(attempts) < 2 * MOST_COMPARED


async def test_a_line_stays_that_other_tasks_need_as_often() -> None:
    gone, _ = await lost(lambda task, skill, _: ("Add" in skill) == (task in ("s0", "s1", "f3", "f4")), "- Add up.")
    assert not gone


async def test_a_line_stays_that_many_solved_tasks_need() -> None:
    many = [task.model_copy(update={"id": f"s{number}"}) for number in range(20) for task in SOLVED[:1]]
    gone, _ = await lost(lambda task, skill, _: ("Add" in skill) == (task[0] == "s"), "- Add up.", solved=many)
    assert not gone


async def test_a_line_by_which_two_targets_do_worse_goes_once() -> None:
    gone, _ = await lost(lambda task, skill, _: task[0] == "s" or "Add" not in skill, "- Add up.", "- Add up.")
    assert list(gone) == ["- Add up."]


async def test_tasks_that_pass_by_luck_cost_little_and_remove_nothing() -> None:
    gone, attempts = await lost(lambda task, skill, trial: True, "- Add up.", "- Count all.", "- Count.")
    assert not gone
    assert sorted(attempts) == [(f"f{number}", SKILL.text, 2_000) for number in range(3)]


async def test_tasks_that_fail_with_or_without_a_line_are_soon_given_up() -> None:
    gone, attempts = await lost(lambda *_: False, "- Add up.")
    assert not gone
    assert len(attempts) == 6


async def test_a_small_loss_may_be_allowed() -> None:
    def solves(task: str, skill: str, _: int) -> bool:
        return task[0] == "s" or "Add" not in skill

    assert await lost(solves, "- Add up.", allow_loss=0.9) == ({}, (await lost(solves, "- Add up."))[1])


async def test_a_target_without_failed_tasks_is_not_asked() -> None:
    assert await lost(lambda *_: True, "- Add up.", failed=()) == ({}, [])
