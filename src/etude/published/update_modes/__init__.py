"""How what the optimizer proposes becomes a candidate: one class for each value of `update.mode`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from etude.config import TrainConfig
from etude.published.update_modes.patch import InPlace
from etude.published.update_modes.rewriting import FullRewrite, RewriteFromSuggestions
from etude.published.update_modes.skill_aware import SkillAware
from etude.published.update_modes.update_mode import UpdateMode

__all__ = ["UPDATE_MODES", "UpdateMode", "update_mode"]


def _in_place(config: TrainConfig) -> UpdateMode:
    if config.reflect.skill_aware:
        return SkillAware(repair=config.update.repair, limit=config.reflect.appendix_limit)
    return InPlace(repair=config.update.repair)


UPDATE_MODES: Mapping[str, Callable[[TrainConfig], UpdateMode]] = MappingProxyType(
    {
        "patch": _in_place,
        "rewrite_from_suggestions": lambda config: RewriteFromSuggestions(),
        "full_rewrite": lambda config: FullRewrite(),
    }
)
"""By the value of `update.mode`."""


def update_mode(config: TrainConfig) -> UpdateMode:
    """The mode of a run."""
    return UPDATE_MODES[config.update.mode](config)
