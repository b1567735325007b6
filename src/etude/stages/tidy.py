"""Tidy: a last pass over a finished skill, which removes lines that nothing misses.

The optimizer names lines that seem superfluous, once; attempts decide. The skill without all of them is tried on
tasks that the lines were written for. A line stays if its tasks fail clearly more often without it than a solved task
does by chance.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from etude.errors import UnusableReply
from etude.records import Edit, Skill, Task, digest
from etude.skill import apply_edit, apply_edits
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import skill_block
from etude.stages.shared.rollout import PlannedAttempt, Rollout

WITNESSES = 6
"""Tasks on which a line is missed or not. A line that matters to them goes unnoticed in 2 of 100 cases if its tasks
fail every second time without it, and a line that nothing needs stays in 2 of 100 if tasks fail in 7 of 100 attempts
for other reasons."""
_MISSED = 3
"""Failures among the witnesses, over both trials, from which on a line is missed."""


class _Line(ReplyForm):
    line: str
    reason: str


class _Tidying(ReplyForm):
    superfluous: tuple[_Line, ...]


class Removal(NamedTuple):
    """A line that may be superfluous, and solved tasks that would tell."""

    edit: Edit
    witnesses: Sequence[Task]


async def superfluous(optimizer: Optimizer, skill: Skill) -> tuple[Edit, ...]:
    """Deletions of the lines that the optimizer thinks the skill can do without, by one call."""
    try:
        reply = await optimizer.ask("tidy", [skill_block(skill), "Name the superfluous lines."], _Tidying)
    except UnusableReply as error:
        optimizer.warn(f"tidying the skill gave no usable answer: {error.message}")
        return ()
    edits = [Edit(op="delete", target=row.line, reason=row.reason) for row in reply.superfluous if row.line.strip()]
    return tuple(edit for edit in edits if apply_edit(skill.text, edit)[1].fate == "applied")


async def unmissed(rollout: Rollout, skill: Skill, removals: Sequence[Removal], step: int) -> tuple[Edit, ...]:
    """The removals after which tasks are solved as before.

    All removals are tried at once, on the witnesses of each; where some of these fail, once more. A removal that is
    missed is left out; the others were tried together with it and stay.

    Raises:
        VoidStop: too many attempts errored.
    """
    text, _ = apply_edits(skill.text, [removal.edit for removal in removals])
    shorter = skill.with_text(text)
    failed = await _failed(rollout, shorter, removals, 0, step)
    unsure = [removal for removal in removals if 0 < _count(removal, failed) < _MISSED]
    again = await _failed(rollout, shorter, unsure, 1, step)
    return tuple(removal.edit for removal in removals if _count(removal, failed) + _count(removal, again) < _MISSED)


async def _failed(
    rollout: Rollout, skill: Skill, removals: Sequence[Removal], trial: int, step: int
) -> Mapping[str, bool]:
    """Whether each witness failed in a trial."""
    tasks = {task.id: task for removal in removals for task in removal.witnesses}
    if not tasks:
        return {}
    planned = [PlannedAttempt(task, skill, trial) for task in tasks.values()]
    key = {"stage": "tidy", "step": step, "skill": skill.hash, "trial": trial, "tasks": digest(sorted(tasks))}
    attempts = await rollout.settle(planned, "train", key)
    return {attempt.task.id: attempt.score is not None and not attempt.solved for attempt in attempts}


def _count(removal: Removal, failed: Mapping[str, bool]) -> int:
    return sum(failed.get(task.id, False) for task in removal.witnesses)
