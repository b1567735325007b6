"""Losses: of several targets, the lines of a finished skill by which one of them does worse.

A line that one target needs may harm another. So it is left out on tasks that another target fails. Where some of
them pass then, its tasks are attempted with and without the line, until it is clear that this target does better
without it, or not.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, sqrt
from typing import NamedTuple

from etude.concurrency import together
from etude.config import GateSection
from etude.records import AppliedEdit, Edit, Skill, Task, digest
from etude.skill import apply_edits
from etude.stages.shared.rollout import PlannedAttempt, Rollout

_LOOKS = (slice(0, 3), slice(3, 6))
"""Failed tasks that are attempted without a line; the second ones only where one of the first scores more."""
_MORE, _GAIN = 2, 0.1
"""It is compared where so many of them score more without it, by at least so much."""
_FIRST = 2_000
"""Trial of the first attempts, one that no epoch has: attempts of epochs chose the tasks, so none counts twice."""
_ROUNDS = 4
"""Times that tasks are compared with and without it, at most."""
_FAILED, _SOLVED = 6, 2
"""Tasks that are compared: that failed, those that passed without the line first, and that did not. They count for
all the failed and all the solved ones."""
_SURE = 2.0
"""What is lost, summed over attempts, over the root of the sum of squares, from which on a line goes. Where there is
no loss this is near normal (de la Peña, Lai and Shao, Self-Normalized Processes, 2009), so of the lines that are
compared about one in twenty goes by chance."""
MOST_COMPARED = 2 * _ROUNDS * (_FAILED + _SOLVED)
"""Most attempts at the comparison for one line."""


class Doubt(NamedTuple):
    """A line by which a target may lose, and tasks of this target that would tell, the most telling first."""

    edit: Edit
    """What deletes the line."""
    failed: Sequence[Task]
    solved: Sequence[Task]


class Losses(NamedTuple):
    """What was found."""

    harmful: tuple[AppliedEdit, ...] = ()
    """The deletions of lines by which a target loses more than `gate.allow_loss`, each with what was seen."""
    voids: int = 0
    """Attempts that errored."""


async def losses(rollout: Rollout, skill: Skill, doubts: Sequence[Doubt], gate: GateSection, step: int) -> Losses:
    """Find the lines by which a target does worse.

    Raises:
        VoidStop: too many attempts errored.
    """
    trying = _Trying(rollout, skill, gate, step)
    compared = await trying.compared([doubt for doubt in doubts if doubt.failed])
    found = [loss for loss in await together(trying.loss(doubt) for doubt in compared) if loss is not None]
    # A line by which two targets do worse goes once.
    harmful = {(loss.edit.target, loss.edit.content): loss for loss in reversed(found)}
    return Losses(tuple(reversed(harmful.values())), len(trying.voids))


@dataclass(frozen=True)
class _Trying:
    rollout: Rollout
    skill: Skill
    gate: GateSection
    step: int
    voids: set[str] = field(default_factory=set[str])

    async def compared(self, doubts: Sequence[Doubt]) -> list[Doubt]:
        """Those where failed tasks score more without the line."""
        more = [defaultdict[str, float](float) for _ in doubts]  # by task
        for trial, some in enumerate(_LOOKS, _FIRST):
            left = [number for number in range(len(doubts)) if trial == _FIRST or _gains(more[number])]
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
            if _gains(gained) >= _MORE
        ]

    async def loss(self, doubt: Doubt) -> AppliedEdit | None:
        """What the target of these tasks loses by the line; None where that is not clear."""
        tasks = [
            (task, len(those) / len(those[:most]))
            for those, most in ((doubt.failed, _FAILED), (doubt.solved, _SOLVED))
            for task in those[:most]
        ]
        pairs: list[tuple[float, float, float]] = []
        for trial in range(_FIRST + len(_LOOKS), _FIRST + len(_LOOKS) + _ROUNDS):
            scores = await self._scores([(task, edit, trial) for task, _ in tasks for edit in (None, doubt.edit)])
            both = zip(scores[::2], scores[1::2], tasks, strict=True)
            pairs += [(a, b, weight) for a, b, (_, weight) in both if a is not None and b is not None]
            lost = [weight * (without - with_it - self.gate.allow_loss) for with_it, without, weight in pairs]
            if fsum(lost) <= 0:
                return None
            if fsum(lost) >= _SURE * sqrt(fsum(each * each for each in lost)):
                with_it, without, _ = (fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
                found = f"scores {with_it:.2f} with it and {without:.2f} without, over {len(pairs)} attempts each"
                return AppliedEdit(edit=doubt.edit, fate="applied", detail=f"{tasks[0][0].target} {found}")
        return None

    async def _scores(self, wanted: Sequence[tuple[Task, Edit | None, int]]) -> list[float | None]:
        """What each task scores in this trial, with all lines or without one; None without a score."""
        planned = [PlannedAttempt(task, self._without(edit), trial) for task, edit, trial in wanted]
        tries = digest([[each.task.id, each.skill.hash, each.trial] for each in planned])
        key = {"stage": "losses", "step": self.step, "tries": tries}
        attempts = await self.rollout.settle(planned, "train", key) if planned else ()
        self.voids.update(one.id for one in attempts if one.score is None)
        metric, weight = self.gate.metric, self.gate.mixed_weight
        return [None if one.score is None else one.score.value(metric, weight) for one in attempts]

    def _without(self, edit: Edit | None) -> Skill:
        return self.skill if edit is None else self.skill.with_text(apply_edits(self.skill.text, [edit])[0])


def _gains(more: Mapping[str, float]) -> int:
    """Tasks that score more without a line."""
    return sum(gain >= _GAIN for gain in more.values())
