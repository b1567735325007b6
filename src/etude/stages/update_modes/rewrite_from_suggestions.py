"""`rewrite_from_suggestions`: suggestions are proposed, merged and selected; one call rewrites the document."""

import json
from collections.abc import Sequence
from typing import ClassVar

from etude.errors import UnusableReply
from etude.records import AppliedEdit, Candidate, Edit, Skill
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.proposals import Forms, SuggestionsReply
from etude.stages.shared.render import edit_row, fence, skill_block
from etude.stages.update_modes.base import UpdateMode, not_made, rewritten

__all__ = ["RewriteFromSuggestions"]


class _Rewrite(ReplyForm):
    reasoning: str
    document: str
    left_out: tuple[int, ...]


class RewriteFromSuggestions(UpdateMode):
    """The optimizer carries out the selected suggestions in a whole new document."""

    forms: ClassVar[Forms] = Forms(SuggestionsReply, SuggestionsReply, SuggestionsReply)

    async def apply(self, optimizer: Optimizer, skill: Skill, edits: Sequence[Edit]) -> Candidate:
        if not edits:
            return Candidate(skill=skill, origin="step")
        rows = "\n".join(json.dumps(edit_row(edit, i), ensure_ascii=False) for i, edit in enumerate(edits))
        sections = [skill_block(skill), f"# Suggestions\n\n{fence('edits', rows)}"]
        try:
            reply = await optimizer.ask("rewrite", sections, _Rewrite)
        except UnusableReply as error:
            optimizer.warn(f"a rewrite from {len(edits)} suggestions gave no usable answer: {error.message}")
            return _none(skill, edits, "the rewrite gave no usable answer")
        new = rewritten(skill, reply.document)
        if new is None:
            return _none(skill, edits, "the rewrite gave an empty document")
        if new.hash == skill.hash:
            return Candidate(skill=skill, origin="step", edits=not_made(edits, "the document reads as before"))
        fates = tuple(_fate(edit, left_out=i in reply.left_out) for i, edit in enumerate(edits))
        return Candidate(skill=new, origin="step", edits=fates)


def _none(skill: Skill, edits: Sequence[Edit], why: str) -> Candidate:
    return Candidate(skill=skill, origin="step", edits=not_made(edits, why), unusable=why)


def _fate(edit: Edit, *, left_out: bool) -> AppliedEdit:
    if left_out:
        return AppliedEdit(edit=edit, fate="no_change", detail="left out by the rewrite")
    return AppliedEdit(edit=edit, fate="applied", detail="carried out in the rewrite")
