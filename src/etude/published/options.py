"""Options of the published loop and its variants: keys of the section `search`."""

from typing import Literal, Self

from pydantic import Field, model_validator

from etude.config import TrainConfig, parse
from etude.errors import ConfigError
from etude.searches.search import SearchOptions


class PaperOptions(SearchOptions):
    """Options of `search.policy: paper`."""

    batch_size: int = Field(default=20, ge=1)
    """Tasks in one batch; a step has one batch unless `accumulation` says otherwise."""
    accumulation: int = Field(default=1, ge=1)
    """Batches in one step. They are attempted and read under the same skill, each on its own, and their patches are
    merged into one candidate."""
    minibatch_size: int = Field(default=8, ge=1)
    """Trajectories in one optimizer call."""
    failure_only: bool = False
    """Do not read the attempts that succeeded."""
    skill_aware: bool = False
    """Have each failure routed to a defect of the skill, answered by edits, or to a lapse of the agent, answered by
    a reminder in an appendix of the skill. Needs `update_mode: patch`."""
    appendix_limit: int = Field(default=20, ge=0)
    """Most reminders in the appendix; when there are more, the optimizer is asked for a shorter list. 0 for never."""
    merge_batch_size: int = Field(default=8, ge=2)
    """Patches in one merge call."""
    schedule: Literal["constant", "linear", "cosine", "autonomous"] = "cosine"
    """How the edit budget goes from `edit_budget` to `min_edit_budget` over the run. With `autonomous` the optimizer
    decides in each step; where it gives no usable answer the step has the budget of `cosine`."""
    edit_budget: int = Field(default=4, ge=1)
    """Most edits in a step at the start."""
    min_edit_budget: int = Field(default=2, ge=1)
    """Most edits in a step at the end; no more than `edit_budget` counts."""
    update_mode: Literal["patch", "rewrite_from_suggestions", "full_rewrite"] = "patch"
    """`patch` makes edits in place. `rewrite_from_suggestions` proposes suggestions, from which one call writes the
    document again. `full_rewrite` has every analysis return a whole document; there is no ranking and no budget."""
    repair: bool = True
    """With `patch`: ask the optimizer once in a step to anchor the edits that could not be located."""
    gate: bool = True
    """Accept a candidate only if it scores higher on validation than the current skill. False evaluates every
    candidate and accepts it whatever its score; with `rewrite_first` nothing is evaluated then."""
    racing: bool = True
    """Stop the validation of a candidate that can no longer win. The verdict is the same."""
    no_regression: bool = False
    """Reject a candidate that scores lower than the current skill on any validation task, or has no score on one.
    With `racing` the first such task ends its validation."""
    slow_update: bool = False
    """From the second epoch on, write guidance from what changed between two epochs."""
    slow_update_samples: int = Field(default=20, ge=1)
    """Training tasks attempted under the skills of both epochs."""
    slow_update_gate: bool = True
    """True passes the guidance through the gate; False accepts it and then measures it."""
    slow_update_pairs: Literal["mixed", "changed", "unchanged"] = "mixed"
    """Which tasks are shown: all, those whose outcome changed, or those whose outcome did not."""
    meta_skill: bool = False
    """Keep a memory for the optimizer from the second epoch on, which is never shipped."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.skill_aware and self.update_mode != "patch":
            raise ConfigError(
                f"search.skill_aware = true does not go with search.update_mode = {self.update_mode!r}: reminders "
                "are kept next to edits in place, a rewritten document would repeat them",
                hint="set search.update_mode: patch, or search.skill_aware: false",
            )
        return self

    @property
    def step_size(self) -> int:
        """Most tasks in one step."""
        return self.batch_size * self.accumulation


class RewriteFirstOptions(PaperOptions):
    """Options of `search.policy: rewrite_first`."""

    attempts: int = Field(default=1, ge=1)
    """Attempts at each training task of a step. Where they differ, what went well and what went wrong at the same
    task are read side by side first."""

    @property
    def tries(self) -> int:
        return self.attempts


def options_of(config: TrainConfig) -> RewriteFirstOptions:
    """What the settings of a run by `paper` or `rewrite_first` say.

    Raises:
        ConfigError: an option is unknown or wrong.
    """
    return parse(RewriteFirstOptions, config.search.model_extra or {}, where="search")
