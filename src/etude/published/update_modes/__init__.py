"""How what the optimizer proposes becomes a candidate: one class for each value of `update_mode`."""

from collections.abc import Mapping
from types import MappingProxyType

from etude.published.options import PaperOptions
from etude.published.update_modes.patch import InPlace
from etude.published.update_modes.rewriting import FullRewrite, RewriteFromSuggestions
from etude.published.update_modes.skill_aware import SkillAware
from etude.published.update_modes.update_mode import UpdateMode

__all__ = ["UpdateMode", "update_mode"]


_MODES: Mapping[str, type[UpdateMode]] = MappingProxyType(
    {"patch": InPlace, "rewrite_from_suggestions": RewriteFromSuggestions, "full_rewrite": FullRewrite}
)


def update_mode(options: PaperOptions) -> UpdateMode:
    """The mode of a run."""
    return SkillAware() if options.skill_aware else _MODES[options.update_mode]()
