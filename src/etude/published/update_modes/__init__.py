"""How what the optimizer proposes becomes a candidate: one class for each value of `update_mode`."""

from etude.published.options import PaperOptions
from etude.published.update_modes.patch import InPlace, UpdateMode
from etude.published.update_modes.rewriting import FullRewrite, RewriteFromSuggestions
from etude.published.update_modes.skill_aware import SkillAware

__all__ = ["UpdateMode", "update_mode"]


def update_mode(options: PaperOptions) -> UpdateMode:
    """The mode of a run."""
    match options.update_mode:
        case "rewrite_from_suggestions":
            return RewriteFromSuggestions()
        case "full_rewrite":
            return FullRewrite()
        case "patch" if options.skill_aware:
            return SkillAware(repair=options.repair, limit=options.appendix_limit)
        case "patch":
            return InPlace(repair=options.repair)
