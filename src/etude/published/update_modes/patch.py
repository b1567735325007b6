"""What an update mode is, and `patch`: edits in place. What cannot be anchored is asked about once, else missed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from etude.published.asking import ask_or_warn, edits_block
from etude.records import AppliedEdit, Candidate, Edit, Skill
from etude.skill import apply_edits
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.proposals import Forms, PatchReply
from etude.stages.shared.render import skill_block


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


class _Anchor(ReplyForm):
    index: int
    target: str


class _Anchors(ReplyForm):
    anchors: tuple[_Anchor, ...]


class InPlace(UpdateMode):
    """Edits are made one after the other, each at its anchor.

    Args:
        repair: one optimizer call may re-anchor the edits that missed.
    """

    forms: ClassVar[Forms] = Forms(PatchReply, PatchReply, PatchReply)

    def __init__(self, *, repair: bool) -> None:
        self._repairs = repair

    async def apply(self, optimizer: Optimizer, skill: Skill, edits: Sequence[Edit]) -> Candidate:
        text, applied = apply_edits(skill.text, edits)
        missed = [i for i, result in enumerate(applied) if result.fate == "missed"]
        if self._repairs and missed:
            text, applied = await _repair(optimizer, skill.with_text(text), applied, missed)
        return Candidate(skill=skill.with_text(text), origin="step", edits=applied)


async def _repair(
    optimizer: Optimizer, skill: Skill, applied: tuple[AppliedEdit, ...], missed: Sequence[int]
) -> tuple[str, tuple[AppliedEdit, ...]]:
    shown = edits_block("Edits that missed", {index: applied[index].edit for index in missed})
    otherwise = f"a repair of {len(missed)} anchors gave no usable answer"
    reply = await ask_or_warn(optimizer, "repair_anchors", [skill_block(skill), shown], _Anchors, otherwise)
    text = skill.text
    results = list(applied)
    targets = {anchor.index: anchor.target for anchor in (reply.anchors if reply else ())}
    for index in missed:
        edit = results[index].edit
        if index not in targets:
            continue
        text, (again,) = apply_edits(text, [edit.model_copy(update={"target": targets[index]})])
        if again.fate == "applied":
            detail = f"anchored on {targets[index]!r}"
            results[index] = AppliedEdit(edit=edit, fate="repaired", detail=detail)
    return text, tuple(results)
