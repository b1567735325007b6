"""`full_rewrite`: every minibatch returns a whole document, and merging combines them into the candidate."""

from collections.abc import Sequence
from typing import ClassVar

from etude.records import AppliedEdit, Candidate, Edit, Skill
from etude.stages.shared.optimizer import Optimizer
from etude.stages.shared.proposals import DocumentReply, Forms
from etude.stages.update_modes.base import UpdateMode, not_made, rewritten

__all__ = ["FullRewrite"]


class FullRewrite(UpdateMode):
    """There is one document to make, so there is nothing to rank and no budget. Where merging left several, as after
    answers that could not be used, the best supported one is taken, the first of equals."""

    forms: ClassVar[Forms] = Forms(DocumentReply, DocumentReply, DocumentReply)
    budgeted: ClassVar[bool] = False

    async def apply(self, optimizer: Optimizer, skill: Skill, edits: Sequence[Edit]) -> Candidate:
        del optimizer
        if not edits:
            return Candidate(skill=skill, origin="step")
        best = max(range(len(edits)), key=lambda index: edits[index].support)
        new = rewritten(skill, edits[best].content)
        fates = list(not_made(edits, "another document was taken"))
        if new is None or new.hash == skill.hash:
            why = "the document is empty" if new is None else "the document reads as before"
            (fates[best],) = not_made([edits[best]], why)
            return Candidate(skill=skill, origin="step", edits=tuple(fates))
        fates[best] = AppliedEdit(edit=edits[best], fate="applied")
        return Candidate(skill=new, origin="step", edits=tuple(fates))
