"""Modes that replace all that may be edited: `full_rewrite`, where each minibatch returns a document and merging
combines them, and `rewrite_from_suggestions`, where one call carries out the selected suggestions."""

from collections.abc import Sequence
from typing import ClassVar

from etude.published.asking import ask_or_warn, edits_block
from etude.published.update_modes.forms import DocumentReply, SuggestionsReply
from etude.published.update_modes.patch import UpdateMode
from etude.records import AppliedEdit, Candidate, Edit, Skill
from etude.skill import Document
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.proposals import Forms
from etude.stages.shared.render import skill_block


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
        fates = list(_not_made(edits, "another document was taken"))
        if new is None or new.hash == skill.hash:
            why = "the document is empty" if new is None else "the document reads as before"
            (fates[best],) = _not_made([edits[best]], why)
            return Candidate(skill=skill, origin="step", edits=tuple(fates))
        fates[best] = AppliedEdit(edit=edits[best], fate="applied")
        return Candidate(skill=new, origin="step", edits=tuple(fates))


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
        sections = [skill_block(skill), edits_block("Suggestions", dict(enumerate(edits)))]
        otherwise = f"a rewrite from {len(edits)} suggestions gave no usable answer"
        reply = await ask_or_warn(optimizer, "rewrite", sections, _Rewrite, otherwise)
        if reply is None:
            return _none(skill, edits, "the rewrite gave no usable answer")
        new = rewritten(skill, reply.document)
        if new is None:
            return _none(skill, edits, "the rewrite gave an empty document")
        if new.hash == skill.hash:
            return Candidate(skill=skill, origin="step", edits=_not_made(edits, "the document reads as before"))
        fates = tuple(_fate(edit, left_out=i in reply.left_out) for i, edit in enumerate(edits))
        return Candidate(skill=new, origin="step", edits=fates)


def _none(skill: Skill, edits: Sequence[Edit], why: str) -> Candidate:
    return Candidate(skill=skill, origin="step", edits=_not_made(edits, why), unusable=why)


def _fate(edit: Edit, *, left_out: bool) -> AppliedEdit:
    if left_out:
        return AppliedEdit(edit=edit, fate="no_change", detail="left out by the rewrite")
    return AppliedEdit(edit=edit, fate="applied", detail="carried out in the rewrite")


def rewritten(skill: Skill, text: str) -> Skill | None:
    """The skill with `text` in place of all that may be edited, front matter and regions kept; None when nothing
    of `text` is left next to these."""
    document = Document.parse(skill.text).with_editable(text)
    if not any(document.text[start:stop].strip() for start, stop in document.editable_spans):
        return None
    return skill.with_text(document.text)


def _not_made(edits: Sequence[Edit], why: str) -> tuple[AppliedEdit, ...]:
    """Fates of edits that came to nothing together."""
    return tuple(AppliedEdit(edit=edit, fate="no_change", detail=why) for edit in edits)
