"""How what the optimizer proposes becomes a candidate: one class for each value of `update_mode`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from etude.published.options import PaperOptions
from etude.published.update_modes.patch import InPlace
from etude.published.update_modes.rewriting import FullRewrite, RewriteFromSuggestions
from etude.published.update_modes.skill_aware import SkillAware
from etude.published.update_modes.update_mode import UpdateMode

__all__ = ["UpdateMode", "update_mode"]


def _in_place(options: PaperOptions) -> UpdateMode:
    if options.skill_aware:
        return SkillAware(repair=options.repair, limit=options.appendix_limit)
    return InPlace(repair=options.repair)


_MODES: Mapping[str, Callable[[PaperOptions], UpdateMode]] = MappingProxyType(
    {
        "patch": _in_place,
        "rewrite_from_suggestions": lambda options: RewriteFromSuggestions(),
        "full_rewrite": lambda options: FullRewrite(),
    }
)


def update_mode(options: PaperOptions) -> UpdateMode:
    """The mode of a run."""
    return _MODES[options.update_mode](options)
