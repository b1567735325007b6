"""What an update mode is."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from etude.records import AppliedEdit, Candidate, Edit, Skill
from etude.skill import Document
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import Forms

__all__ = ["UpdateMode", "not_made", "rewritten"]


class UpdateMode(ABC):
    """Which form proposals have, and how a candidate is made of those that were selected."""

    forms: ClassVar[Forms]
    """What reflect and merge calls return."""
    budgeted: ClassVar[bool] = True
    """The edit budget applies: a step makes the best of its edits and leaves the others."""

    @abstractmethod
    async def apply(self, optimizer: Optimizer, skill: Skill, edits: Sequence[Edit]) -> Candidate:
        """The candidate, with the fate of every edit. Front matter and protected regions are those of `skill`, but
        for a region that the mode itself keeps."""


def rewritten(skill: Skill, text: str) -> Skill | None:
    """The skill with `text` in place of all that may be edited, front matter and regions kept; None when nothing
    of `text` is left next to these."""
    document = Document.parse(skill.text).with_editable(text)
    if not any(document.text[start:stop].strip() for start, stop in document.editable_spans):
        return None
    return skill.with_text(document.render())


def not_made(edits: Sequence[Edit], why: str) -> tuple[AppliedEdit, ...]:
    """Fates of edits that came to nothing together."""
    return tuple(AppliedEdit(edit=edit, fate="no_change", detail=why) for edit in edits)
