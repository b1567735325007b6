"""Tidy: a last pass over a finished skill, which removes lines that nothing misses.

The optimizer names lines that seem superfluous, once; attempts decide. The skill without all of them is tried on
solved tasks that the lines may be needed for, until each line is clearly missed, or clearly is not. What seems missed
is tried once more by itself, because the tasks of a line may have failed for want of another. A line that is missed,
or in doubt, stays.
"""

from collections.abc import Sequence
from math import log
from typing import NamedTuple

from etude.concurrency import together
from etude.errors import UnusableReply
from etude.records import Edit, Skill, Task, digest
from etude.skill import apply_edit, apply_edits
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import skill_block
from etude.stages.shared.rollout import PlannedAttempt, Rollout

_ROUND, _ROUNDS = 6, 2
"""Attempts for a line in a round, and most rounds for a line, both with all lines and by itself."""
MOST_TRIES = 2 * _ROUNDS * _ROUND
"""Most attempts for one line."""
_UP, _DOWN, _SURE = log(0.5 / 0.1), log(0.5 / 0.9), 3.5
"""Log likelihood ratios of a failed attempt and of a solved one, and the sum from which on a line is missed or is not
(Wald's sequential test, errors of about 3%): a task that needs the line fails in half of the attempts without it, one
that does not in a tenth, for other reasons."""


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
    edits = dict.fromkeys(
        _removing(skill.text, row.line, row.reason) for row in reply.superfluous if row.line.strip()
    )
    return tuple(edit for edit in edits if apply_edit(skill.text, edit)[1].fate == "applied")


def _removing(text: str, line: str, reason: str) -> Edit:
    """What deletes a line; the last one of those that read alike, which the line before it tells apart."""
    lines = text.splitlines()
    alike = [number for number, one in enumerate(lines) if one.strip() == line.strip()]
    before = next((n for n in range(alike[-1] - 1, -1, -1) if lines[n].strip()), -1) if len(alike) > 1 else -1
    if before < 0:
        return Edit(op="delete", target=line, reason=reason)
    anchor = "\n".join(lines[before : alike[-1] + 1])
    return Edit(op="replace", target=anchor, content=lines[before], reason=reason)


async def unmissed(rollout: Rollout, skill: Skill, removals: Sequence[Removal], step: int) -> tuple[Edit, ...]:
    """The removals after which tasks are solved as before.

    Raises:
        VoidStop: too many attempts errored.
    """
    gone = await _tested(rollout, skill, removals, step)
    rest = [removal for removal in removals if removal.edit not in gone]
    shorter = _without(skill, gone)
    alone = await together(_tested(rollout, shorter, [removal], step, _ROUNDS * _ROUND) for removal in rest)
    return (*gone, *(edit for some in alone for edit in some))


async def _tested(
    rollout: Rollout, skill: Skill, removals: Sequence[Removal], step: int, begin: int = 0
) -> tuple[Edit, ...]:
    """The removals that nothing misses, tried at once; `begin` is the number of the first attempt for each."""
    sums = [0.0 for _ in removals]
    for first in range(begin, begin + _ROUNDS * _ROUND, _ROUND):
        open_ = [n for n, removal in enumerate(removals) if abs(sums[n]) < _SURE and removal.witnesses]
        shorter = _without(skill, [one.edit for one, total in zip(removals, sums, strict=True) if total < _SURE])
        theirs = {n: _tries(removals[n], shorter, first) for n in open_}
        planned = {(one.task.id, one.trial): one for tries in theirs.values() for one in tries}
        key = {"stage": "tidy", "step": step, "skill": shorter.hash, "tries": digest(sorted(planned))}
        attempts = await rollout.settle(list(planned.values()), "train", key) if planned else ()
        score = {(a.task.id, a.trial): _DOWN if a.solved else _UP for a in attempts if a.score is not None}
        for n, its in theirs.items():
            sums[n] += sum(score.get((one.task.id, one.trial), 0.0) for one in its)
    return tuple(removal.edit for removal, total in zip(removals, sums, strict=True) if total <= -_SURE)


def _without(skill: Skill, removals: Sequence[Edit]) -> Skill:
    return skill.with_text(apply_edits(skill.text, removals)[0])


def _tries(removal: Removal, skill: Skill, first: int) -> list[PlannedAttempt]:
    """The next attempts for a line: its witnesses in turn."""
    tasks = removal.witnesses
    numbers = range(first, first + _ROUND)
    return [PlannedAttempt(tasks[n % len(tasks)], skill, n // len(tasks)) for n in numbers]
