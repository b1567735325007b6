"""`patch` with `skill_aware`: edits for what the skill lacks, reminders for what the agent ignored."""

from collections.abc import Sequence
from typing import ClassVar

from etude.published.update_modes.appendix import add_reminders, consolidate, reminders_in
from etude.published.update_modes.forms import RoutedReply
from etude.published.update_modes.patch import InPlace
from etude.records import Candidate, Edit, Skill
from etude.skill import Document
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import Forms, PatchReply


class SkillAware(InPlace):
    """Edits in place, and reminders in the appendix; both are part of one candidate.

    Args:
        repair: as in `InPlace`.
        limit: most reminders before they are consolidated; 0 never consolidates.
    """

    forms: ClassVar[Forms] = Forms(RoutedReply, PatchReply, PatchReply)

    def __init__(self, *, repair: bool, limit: int) -> None:
        super().__init__(repair=repair)
        self._limit = limit

    async def apply(self, optimizer: Optimizer, skill: Skill, edits: Sequence[Edit]) -> Candidate:
        candidate = await super().apply(optimizer, skill, [edit for edit in edits if edit.op != "remind"])
        document = Document.parse(candidate.skill.text)
        document, reminded = add_reminders(document, [edit for edit in edits if edit.op == "remind"])
        fates = (*candidate.edits, *reminded)
        if 0 < self._limit < len(reminders_in(document)):
            document, compressed = await consolidate(optimizer, document)
            fates += compressed
        return candidate.model_copy(update={"skill": skill.with_text(document.text), "edits": fates})
