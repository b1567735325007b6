"""Tidy: the optimizer names lines, attempts decide which of them go."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from stages_doubles import CallsAgent, Desk, make_rollout

from etude.errors import BoundaryError
from etude.records import Edit, Skill, Task
from etude.skill import apply_edits
from etude.stages.tidy import MOST_TRIES, Removal, superfluous, unmissed

SKILL = Skill(text="# Counting\n\n- Count.\n- Count all.\n- Add up.\n")
TASKS = [Task(id=f"t{number}", input="?", gold="yes") for number in range(6)]
Solves = Callable[[Task, str, int], bool]


async def tidy(
    solves: Solves, *lines: str, tasks: Sequence[Task] = TASKS
) -> tuple[set[str], list[tuple[str, str, int]]]:
    """The lines that go, and what was attempted as (task, skill text, trial)."""
    agent = CallsAgent(lambda task, skill, trial: "yes" if solves(task, skill.text, trial) else "no")
    removals = [Removal(Edit(op="delete", target=line), tasks) for line in lines]
    gone, _ = await unmissed(make_rollout(agent), SKILL, removals, 1)
    return {edit.target for edit in gone}, agent.attempts


async def test_named_lines_become_deletions_and_unknown_ones_are_left_out() -> None:
    rows = [{"line": line, "reason": "r"} for line in ("- Count all.", "- Not there at all, ever.", " ")]
    desk = Desk(tidy={"reasoning": "r", "superfluous": rows})
    edits = await superfluous(desk.optimizer, SKILL)
    assert [(edit.op, edit.target) for edit in edits] == [("delete", "- Count all.")]
    assert desk.prompts == ["tidy"]


async def test_of_lines_that_read_alike_the_last_one_goes() -> None:
    rows = [{"line": "- Count.", "reason": "Said before."}] * 2
    skill = Skill(text="# Counting\n\n- Count.\n- Add up.\n\n- Count.\n- Read.\n")
    (edit,) = await superfluous(Desk(tidy={"reasoning": "r", "superfluous": rows}).optimizer, skill)
    assert apply_edits(skill.text, [edit])[0] == "# Counting\n\n- Count.\n- Add up.\n- Read.\n"


@pytest.mark.parametrize("answer", ["no", {"reasoning": "r"}])
async def test_an_unusable_answer_names_nothing_and_is_reported(answer: Any) -> None:
    desk = Desk(tidy=answer)
    assert await superfluous(desk.optimizer, SKILL) == ()
    assert "tidying the skill gave no usable answer" in desk.warnings[0]


async def test_lines_that_nothing_misses_go_after_one_attempt_at_each_task() -> None:
    gone, attempts = await tidy(lambda task, skill, trial: True, "- Count all.", "- Add up.")
    assert gone == {"- Count all.", "- Add up."}
    assert sorted(task for task, _, _ in attempts) == [task.id for task in TASKS]


async def test_a_line_stays_where_three_tasks_fail_without_it() -> None:
    gone, _ = await tidy(lambda task, skill, trial: "Add up" in skill or task.id > "t2", "- Add up.")
    assert gone == set()


async def test_a_line_whose_tasks_fail_now_and_then_is_tried_again_and_goes() -> None:
    gone, attempts = await tidy(lambda task, skill, trial: trial > 0 or task.id > "t0", "- Add up.")
    assert gone == {"- Add up."}
    assert len(attempts) == 2 * len(TASKS)


async def test_a_line_stays_in_doubt() -> None:
    gone, attempts = await tidy(lambda task, skill, trial: task.id > "t0" or trial == 1, "- Add up.", tasks=TASKS[:4])
    assert gone == set()
    assert len(attempts) == 12


async def test_a_line_that_is_needed_stays_while_another_one_goes() -> None:
    needing = [task.model_copy(update={"id": f"n{number}"}) for number, task in enumerate(TASKS)]
    agent = CallsAgent(lambda task, skill, trial: "no" if task.id[0] == "n" and "Add" not in skill.text else "yes")
    removals = [Removal(Edit(op="delete", target="- Count all."), TASKS)]
    removals += [Removal(Edit(op="delete", target="- Add up."), needing)]
    gone, _ = await unmissed(make_rollout(agent), SKILL, removals, 1)
    assert [edit.target for edit in gone] == ["- Count all."]


async def test_lines_with_the_same_tasks_share_attempts() -> None:
    one, two = [await tidy(lambda *_: True, *lines) for lines in (["- Add up."], ["- Add up.", "- Count all."])]
    assert two[0] == {"- Add up.", "- Count all."}
    assert len(one[1]) == len(two[1])


def for_want_of_another(*, dead: bool) -> tuple[CallsAgent, list[Removal]]:
    """`- Add up.` is needed for its tasks, which are those of `- Count all.`, too; nothing needs `- Count.`."""
    other = [task.model_copy(update={"id": f"o{number}"}) for number, task in enumerate(TASKS)]
    agent = CallsAgent(lambda task, skill, trial: "yes" if task.id[0] == "o" or "Add" in skill.text else "no")
    removals = [Removal(Edit(op="delete", target=line), TASKS) for line in ("- Count all.", "- Add up.")]
    return agent, [*removals, Removal(Edit(op="delete", target="- Count."), other)] if dead else removals


async def test_a_line_whose_tasks_failed_for_want_of_another_is_tried_by_itself() -> None:
    agent, removals = for_want_of_another(dead=True)
    gone, _ = await unmissed(make_rollout(agent), SKILL, removals, 1)
    assert {edit.target for edit in gone} == {"- Count all.", "- Count."}
    assert len(agent.attempts) <= len(removals) * MOST_TRIES


async def test_an_optimizer_that_names_needed_lines_is_not_believed() -> None:
    agent, removals = for_want_of_another(dead=False)
    assert await unmissed(make_rollout(agent), SKILL, removals, 1) == ((), 0)


async def test_a_line_without_a_solved_task_stays() -> None:
    gone, attempts = await tidy(lambda task, skill, trial: True, "- Add up.", tasks=())
    assert (gone, attempts) == (set(), [])


async def test_attempts_that_errored_are_counted_and_say_nothing() -> None:
    def answer(task: Task, skill: Skill, trial: int) -> str:
        if task.id == "t0":
            raise BoundaryError("no answer")
        return "yes"

    agent = CallsAgent(answer)
    agent, removal = CallsAgent(answer), Removal(Edit(op="delete", target="- Add up."), TASKS)
    gone, voids = await unmissed(make_rollout(agent), SKILL, [removal], 1)
    assert (len(gone), voids) == (1, 2)
    assert len(agent.attempts) == 2 * len(TASKS)
