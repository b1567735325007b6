"""How many edits a step may make: the textual counterpart of a learning-rate schedule."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from etude.config import SelectSection
from etude.errors import UnusableReply
from etude.records import Attempt, LedgerEntry, Patch, Skill
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import edit_row, fence, ledger_block, skill_block

__all__ = ["EditBudget", "Evidence", "Schedule", "edit_budget", "schedule_of"]


class EditBudget(NamedTuple):
    """Most edits of one step; None for no limit."""

    edits: int | None
    reason: str = ""
    """Why, where the optimizer decided."""


class Evidence(NamedTuple):
    """What a decision about the edit budget can rest on."""

    skill: Skill
    attempts: Sequence[Attempt]
    patch: Patch
    ledger: Sequence[LedgerEntry]
    ledger_entries: int
    """Most of the ledger that is shown."""


class Schedule(ABC):
    """Decides how many edits a step may make."""

    @abstractmethod
    def told(self, step: int) -> int | None:
        """Most edits that one analysis may propose in `step` (1-based), None for no limit."""

    @abstractmethod
    async def decide(self, optimizer: Optimizer, step: int, evidence: Evidence) -> EditBudget:
        """The budget of `step`, once its edits are known."""


def schedule_of(settings: SelectSection, steps: int, *, budgeted: bool) -> Schedule:
    """The schedule of a run of `steps`. Without `budgeted` there is no limit, whatever the settings say."""
    if not budgeted:
        return _Unlimited()
    return (_Autonomous if settings.schedule == "autonomous" else _Planned)(settings, steps)


def edit_budget(settings: SelectSection, step: int, steps: int) -> int:
    """Edits allowed in `step` (1-based) of `steps`, at least `min_edit_budget`.

    constant: max. linear: max + (min - max) t / T. cosine: min + (max - min) (1 + cos(pi t / T)) / 2. Rounded to the
    nearest integer, halves up; a run of one step has the maximum. `autonomous` counts as cosine, for steps in which
    the optimizer did not decide. Source: SkillOpt, edit-budget schedule.
    """
    high, low = settings.edit_budget, min(settings.min_edit_budget, settings.edit_budget)
    if steps <= 1 or settings.schedule == "constant":
        return high
    progress = step / steps
    if settings.schedule == "linear":
        value = high + (low - high) * progress
    else:
        value = low + 0.5 * (high - low) * (1 + math.cos(math.pi * progress))
    return max(low, math.floor(value + 0.5))


class _Unlimited(Schedule):
    """Everything that was merged is made."""

    def told(self, step: int) -> int | None:
        return None

    async def decide(self, optimizer: Optimizer, step: int, evidence: Evidence) -> EditBudget:
        return EditBudget(None)


class _Planned(Schedule):
    """The budget is known before the run."""

    def __init__(self, settings: SelectSection, steps: int) -> None:
        self.settings = settings
        self._steps = steps

    def told(self, step: int) -> int | None:
        return self.planned(step)

    async def decide(self, optimizer: Optimizer, step: int, evidence: Evidence) -> EditBudget:
        return EditBudget(self.planned(step))

    def planned(self, step: int) -> int:
        """What the settings say."""
        return edit_budget(self.settings, step, self._steps)


class _Decision(ReplyForm):
    reasoning: str
    edit_budget: int


class _Autonomous(_Planned):
    """The optimizer decides in each step, knowing its edits and how the agent did. Analyses may propose as many edits
    as the settings allow at most. An answer that cannot be used leaves the planned budget."""

    def told(self, step: int) -> int | None:
        return self.settings.edit_budget

    async def decide(self, optimizer: Optimizer, step: int, evidence: Evidence) -> EditBudget:
        edits = evidence.patch.edits
        if len(edits) < 2:
            return EditBudget(self.planned(step))
        rows = "\n".join(json.dumps(edit_row(edit, i), ensure_ascii=False) for i, edit in enumerate(edits))
        sections = [
            skill_block(evidence.skill),
            ledger_block(evidence.ledger, evidence.ledger_entries),
            _outcome(evidence.attempts),
            f"# Edits\n\n{fence('edits', rows)}",
        ]
        try:
            reply = await optimizer.ask("edit_budget", sections, _Decision)
        except UnusableReply as error:
            return self._fallback(optimizer, step, error.message)
        if reply.edit_budget < 0 or (reply.edit_budget == 0 and not reply.reasoning.strip()):
            return self._fallback(optimizer, step, f"{reply.edit_budget} without a reason")
        return EditBudget(min(reply.edit_budget, len(edits)), reply.reasoning)

    def _fallback(self, optimizer: Optimizer, step: int, problem: str) -> EditBudget:
        planned = self.planned(step)
        optimizer.warn(f"the edit budget stays at the planned {planned}, there was no usable decision: {problem}")
        return EditBudget(planned)


def _outcome(attempts: Sequence[Attempt]) -> str:
    scores = [attempt.score for attempt in attempts if attempt.score is not None]
    count = len(scores)
    if not count:
        return "# Outcome of this step\n\nNo attempt has a score."
    hard, soft = (sum(values) / count for values in ([s.hard for s in scores], [s.soft for s in scores]))
    return f"# Outcome of this step\n\n{count} attempts, mean hard {hard:.3f}, mean soft {soft:.3f}."
