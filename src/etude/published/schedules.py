"""How many edits a step may make: the textual counterpart of a learning-rate schedule."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from etude.published.asking import ask_or_warn, edits_block
from etude.published.options import PaperOptions
from etude.records import Attempt, Patch, TrainState
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import ledger_block, skill_block


class EditBudget(NamedTuple):
    """Most edits of one step; None for no limit."""

    edits: int | None
    reason: str = ""
    """Why, where the optimizer decided."""


def edit_budget(options: PaperOptions, step: int, steps: int) -> int:
    """Edits allowed in `step` (1-based) of `steps`, at least `min_edit_budget`.

    constant: max. linear: max + (min - max) t / T. cosine: min + (max - min) (1 + cos(pi t / T)) / 2. Rounded to the
    nearest integer, halves up; a run of one step has the maximum. `autonomous` counts as cosine, for steps in which
    the optimizer did not decide. Source: SkillOpt, edit-budget schedule.
    """
    high, low = options.edit_budget, min(options.min_edit_budget, options.edit_budget)
    if steps <= 1 or options.schedule == "constant":
        return high
    progress = step / steps
    if options.schedule == "linear":
        value = high + (low - high) * progress
    else:
        value = low + 0.5 * (high - low) * (1 + math.cos(math.pi * progress))
    return max(low, math.floor(value + 0.5))


class _Decision(ReplyForm):
    reasoning: str
    edit_budget: int


@dataclass(frozen=True)
class Schedule:
    """Decides how many edits a step of a run of `steps` may make."""

    options: PaperOptions
    steps: int
    budgeted: bool
    """Without it there is no limit, whatever the options say."""

    def shown(self, step: int) -> int | None:
        """Most edits that one analysis may propose in `step` (1-based), None for no limit."""
        autonomous = self.options.schedule == "autonomous"
        return self.options.edit_budget if self.budgeted and autonomous else self._planned(step)

    async def decide(
        self, optimizer: Optimizer, state: TrainState, attempts: Sequence[Attempt], patch: Patch, entries: int
    ) -> EditBudget:
        """The budget of a step, once its edits are known. With `autonomous` the optimizer decides, who sees at most
        so many entries of the ledger; an answer that cannot be used leaves the planned budget."""
        planned, edits = self._planned(state.step), patch.edits
        if planned is None or self.options.schedule != "autonomous" or len(edits) < 2:
            return EditBudget(planned)
        sections = [
            skill_block(state.current),
            ledger_block(state.ledger, entries),
            _outcome(attempts),
            edits_block("Edits", dict(enumerate(edits))),
        ]
        otherwise = f"the edit budget stays at the planned {planned}, there was no usable decision"
        reply = await ask_or_warn(optimizer, "edit_budget", sections, _Decision, otherwise)
        if reply is None:
            return EditBudget(planned)
        if reply.edit_budget < 0 or (reply.edit_budget == 0 and not reply.reasoning.strip()):
            optimizer.warn(f"{otherwise}: {reply.edit_budget} without a reason")
            return EditBudget(planned)
        return EditBudget(min(reply.edit_budget, len(edits)), reply.reasoning)

    def _planned(self, step: int) -> int | None:
        return edit_budget(self.options, step, self.steps) if self.budgeted else None


def _outcome(attempts: Sequence[Attempt]) -> str:
    scores = [attempt.score for attempt in attempts if attempt.score is not None]
    count = len(scores)
    if not count:
        return "# Outcome of this step\n\nNo attempt has a score."
    hard, soft = (sum(values) / count for values in ([s.hard for s in scores], [s.soft for s in scores]))
    return f"# Outcome of this step\n\n{count} attempts, mean hard {hard:.3f}, mean soft {soft:.3f}."
