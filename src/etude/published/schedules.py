"""How many edits a step may make: the textual counterpart of a learning-rate schedule."""

import math

from etude.published.options import PaperOptions


def edit_budget(options: PaperOptions, step: int, steps: int) -> int:
    """Edits allowed in `step` (1-based) of `steps`, at least `min_edit_budget`.

    constant: max. linear: max + (min - max) t / T. cosine: min + (max - min) (1 + cos(pi t / T)) / 2. Rounded to the
    nearest integer, halves up; a run of one step has the maximum. Source: SkillOpt, edit-budget schedule.
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
