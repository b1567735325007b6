"""`patch` with `skill_aware`: edits for what the skill lacks, reminders for what the agent ignored."""

from collections.abc import Sequence
from typing import ClassVar

from etude.published.update_modes.appendix import add_reminders
from etude.published.update_modes.forms import RoutedReply
from etude.published.update_modes.patch import InPlace
from etude.records import Candidate, Edit, Skill
from etude.skill import Document
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import Forms, PatchReply


class SkillAware(InPlace):
    """Edits in place, and reminders in the appendix; both are part of one candidate."""

    forms: ClassVar[Forms] = Forms(RoutedReply, PatchReply, PatchReply)

    async def apply(self, optimizer: Optimizer, skill: Skill, edits: Sequence[Edit]) -> Candidate:
        candidate = await super().apply(optimizer, skill, [edit for edit in edits if edit.op != "remind"])
        document = Document.parse(candidate.skill.text)
        document, reminded = add_reminders(document, [edit for edit in edits if edit.op == "remind"])
        made = {"skill": skill.with_text(document.render()), "edits": (*candidate.edits, *reminded)}
        return candidate.model_copy(update=made)
