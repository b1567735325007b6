"""How many edits a step may make: the textual counterpart of a learning-rate schedule."""

import math

from skillgrad.config import SelectSection

__all__ = ["edit_budget"]


def edit_budget(settings: SelectSection, step: int, steps: int) -> int:
    """Edits allowed in `step` (1-based) of `steps`, at least `min_edit_budget`.

    constant: max. linear: max + (min - max) t / T. cosine: min + (max - min) (1 + cos(pi t / T)) / 2. Rounded to the
    nearest integer, halves up; a run of one step has the maximum. Source: SkillOpt, edit-budget schedule.
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
