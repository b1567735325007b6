"""Tidy: a last pass over a finished skill, which removes lines that nothing misses.

The optimizer names lines that seem superfluous, once; attempts decide. The skill without all of them is tried on
solved tasks that the lines may be needed for, until each line is clearly missed, or clearly is not. What seems missed
is tried once more by itself, because the tasks of a line may have failed for want of another. A line that is missed,
or in doubt, stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from typing import NamedTuple

from etude.concurrency import together
from etude.errors import UnusableReply
from etude.records import Edit, Skill, Task, digest
from etude.skill import apply_edit, apply_edits
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import skill_block
from etude.stages.shared.rollout import PlannedAttempt, Rollout

_ROUND = 6
"""Attempts for a line in a round."""
_ALL, _ALONE = range(0, 2 * _ROUND, _ROUND), range(2 * _ROUND, 5 * _ROUND, _ROUND)
"""Numbers of the first attempts of the rounds with all lines, and with each by itself."""
MOST_TRIES = 5 * _ROUND
"""Most attempts for one line."""
_BELIEVED = 1 / 3
"""Share of the lines that must go at once for the others to be tried again: an optimizer that names needed lines is
not believed."""
_DOUBT = 3.0
"""Most that speaks for a line when it is tried again."""
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


class Unmissed(NamedTuple):
    """What was found."""

    edits: tuple[Edit, ...] = ()
    """The removals after which tasks are solved as before."""
    voids: int = 0
    """Attempts that errored."""


async def superfluous(optimizer: Optimizer, skill: Skill) -> tuple[Edit, ...]:
    """Deletions of the lines that the optimizer thinks the skill can do without, by one call."""
    try:
        reply = await optimizer.ask("tidy", [skill_block(skill), "Name the superfluous lines."], _Tidying)
    except UnusableReply as error:
        optimizer.warn(f"tidying the skill gave no usable answer: {error.message}")
        return ()
    edits = dict.fromkeys(removing(skill.text, row.line, row.reason) for row in reply.superfluous if row.line.strip())
    return tuple(edit for edit in edits if apply_edit(skill.text, edit)[1].fate == "applied")


def removing(text: str, line: str, reason: str) -> Edit:
    """What deletes a line; the last one of those that read alike, which the line before it tells apart."""
    lines = text.splitlines()
    alike = [number for number, one in enumerate(lines) if one.strip() == line.strip()]
    before = next((n for n in range(alike[-1] - 1, -1, -1) if lines[n].strip()), -1) if len(alike) > 1 else -1
    if before < 0:
        return Edit(op="delete", target=line, reason=reason)
    anchor = "\n".join(lines[before : alike[-1] + 1])
    return Edit(op="replace", target=anchor, content=lines[before], reason=reason)


async def unmissed(rollout: Rollout, skill: Skill, removals: Sequence[Removal], step: int) -> Unmissed:
    """Find the removals after which tasks are solved as before.

    Raises:
        VoidStop: too many attempts errored.
    """
    trying = _Trying(rollout, step)
    sums = await trying.tested(skill, removals, _ALL, [0.0 for _ in removals])
    gone = [one.edit for one, total in zip(removals, sums, strict=True) if total <= -_SURE]
    if len(gone) >= _BELIEVED * len(removals):
        both = zip(removals, sums, strict=True)
        rest = [(one, max(0.0, min(total, _DOUBT))) for one, total in both if total > -_SURE]
        shorter = _without(skill, gone)
        alone = await together(trying.tested(shorter, [one], _ALONE, [doubt]) for one, doubt in rest)
        gone += [one.edit for (one, _), (total,) in zip(rest, alone, strict=True) if total <= -_SURE]
    return Unmissed(tuple(gone), len(trying.voids))


@dataclass(frozen=True)
class _Trying:
    rollout: Rollout
    step: int
    voids: set[str] = field(default_factory=set[str])

    async def tested(
        self, skill: Skill, removals: Sequence[Removal], rounds: range, before: Sequence[float]
    ) -> list[float]:
        """How much speaks for each line when all are left out at once, added to what did before."""
        sums = list(before)
        for first in rounds:
            open_ = [n for n, removal in enumerate(removals) if abs(sums[n]) < _SURE and removal.witnesses]
            shorter = _without(skill, [one.edit for one, total in zip(removals, sums, strict=True) if total < _SURE])
            theirs = {n: _tries(removals[n], shorter, first) for n in open_}
            planned = {(one.task.id, one.trial): one for tries in theirs.values() for one in tries}
            key = {"stage": "tidy", "step": self.step, "skill": shorter.hash, "tries": digest(sorted(planned))}
            attempts = await self.rollout.settle(list(planned.values()), "train", key) if planned else ()
            self.voids.update(one.id for one in attempts if one.score is None)
            score = {(a.task.id, a.trial): _DOWN if a.solved else _UP for a in attempts if a.score is not None}
            for n, its in theirs.items():
                sums[n] += sum(score.get((one.task.id, one.trial), 0.0) for one in its)
        return sums


def _without(skill: Skill, removals: Sequence[Edit]) -> Skill:
    return skill.with_text(apply_edits(skill.text, removals)[0])


def _tries(removal: Removal, skill: Skill, first: int) -> list[PlannedAttempt]:
    """The next attempts for a line: its witnesses in turn."""
    tasks = removal.witnesses
    numbers = range(first, first + _ROUND)
    return [PlannedAttempt(tasks[n % len(tasks)], skill, n // len(tasks)) for n in numbers]
