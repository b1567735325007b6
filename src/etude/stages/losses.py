"""Losses: of several targets, the lines of a finished skill by which one of them does worse.

A line that one target needs may harm another. So it is left out on tasks that another target fails. Where some of
them pass then, its tasks are attempted with and without the line, until it is clear that this target does better
without it, or not.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import NamedTuple

from etude.concurrency import together
from etude.config import GateSection
from etude.records import AppliedEdit, Edit, Skill, Task, digest
from etude.skill import apply_edits
from etude.stages.shared.rollout import PlannedAttempt, Rollout

_LOOKS = (slice(0, 4), slice(4, 6))
"""Failed tasks that are attempted without a line; the second ones only where one of the first scores more."""
_MORE = 2
"""Sum of what they score more without it from which on it is compared."""
_TRIALS = range(3, 7)
"""Trials in which tasks are compared with and without it, at most."""
_FAILED, _SOLVED = 6, 2
"""Tasks that are compared: that failed, those that passed without the line first, and that did not."""
_SURE = 2.0
"""What is lost, summed over attempts, over the root of the sum of squares, from which on it is no accident: this is
nearly normal where there is no loss (de la Peña, Lai and Shao, Self-Normalized Processes, 2009)."""
MOST_COMPARED = 2 * len(_TRIALS) * (_FAILED + _SOLVED)
"""Most attempts at the comparison for one line."""


class Doubt(NamedTuple):
    """A line by which a target may lose, and tasks of this target that would tell, the most telling first."""

    edit: Edit
    """What deletes the line."""
    failed: Sequence[Task]
    solved: Sequence[Task]


async def losses(
    rollout: Rollout, skill: Skill, doubts: Sequence[Doubt], gate: GateSection, step: int
) -> tuple[AppliedEdit, ...]:
    """The deletions of lines by which a target loses more than `gate.allow_loss`, each with what was seen.

    Raises:
        VoidStop: too many attempts errored.
    """
    trying = _Trying(rollout, skill, gate, step)
    compared = await trying.compared([doubt for doubt in doubts if doubt.failed])
    found = [loss for loss in await together(trying.loss(doubt) for doubt in compared) if loss is not None]
    return tuple({loss.edit: loss for loss in found}.values())


@dataclass(frozen=True)
class _Trying:
    rollout: Rollout
    skill: Skill
    gate: GateSection
    step: int

    async def compared(self, doubts: Sequence[Doubt]) -> list[Doubt]:
        """Those where failed tasks score more without the line."""
        more = [defaultdict[str, float](float) for _ in doubts]  # by task
        for trial, some in enumerate(_LOOKS, 1):
            left = [number for number in range(len(doubts)) if trial == 1 or sum(more[number].values())]
            pairs = [(number, task) for number in left for task in doubts[number].failed[some]]
            tasks = list({task.id: task for _, task in pairs}.values())
            scores = await self._scores([(task, None, trial) for task in tasks])
            with_it = {task.id: score for task, score in zip(tasks, scores, strict=True) if score is not None}
            pairs = [(number, task) for number, task in pairs if with_it.get(task.id, 1.0) < 1.0]
            without = await self._scores([(task, doubts[number].edit, trial) for number, task in pairs])
            for (number, task), score in zip(pairs, without, strict=True):
                more[number][task.id] += 0.0 if score is None else score - with_it[task.id]
        return [
            doubt._replace(failed=sorted(doubt.failed, key=lambda task, gained=gained: -gained[task.id]))
            for doubt, gained in zip(doubts, more, strict=True)
            if sum(gained.values()) >= _MORE
        ]

    async def loss(self, doubt: Doubt) -> AppliedEdit | None:
        """What the target of these tasks loses by the line; None where that is not clear."""
        tasks = [*doubt.failed[:_FAILED], *doubt.solved[:_SOLVED]]
        pairs: list[tuple[float, float]] = []
        for trial in _TRIALS:
            scores = await self._scores([(task, edit, trial) for task in tasks for edit in (None, doubt.edit)])
            both = zip(scores[::2], scores[1::2], strict=True)
            pairs += [(with_it, without) for with_it, without in both if with_it is not None and without is not None]
            lost = [without - with_it - self.gate.allow_loss for with_it, without in pairs]
            if fsum(lost) <= 0:
                return None
            if fsum(lost) >= _SURE * sqrt(fsum(each * each for each in lost)):
                with_it, without = (fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
                found = f"scores {with_it:.2f} with it and {without:.2f} without, over {len(pairs)} attempts each"
                return AppliedEdit(edit=doubt.edit, fate="applied", detail=f"{tasks[0].target} {found}")
        return None

    async def _scores(self, wanted: Sequence[tuple[Task, Edit | None, int]]) -> list[float | None]:
        """What each task scores in this trial, with all lines or without one; None without a score."""
        planned = [PlannedAttempt(task, self._without(edit), trial) for task, edit, trial in wanted]
        tries = digest([[each.task.id, each.skill.hash, each.trial] for each in planned])
        key = {"stage": "losses", "step": self.step, "tries": tries}
        attempts = await self.rollout.settle(planned, "train", key) if planned else ()
        metric, weight = self.gate.metric, self.gate.mixed_weight
        return [None if one.score is None else one.score.value(metric, weight) for one in attempts]

    def _without(self, edit: Edit | None) -> Skill:
        return self.skill if edit is None else self.skill.with_text(apply_edits(self.skill.text, [edit])[0])
