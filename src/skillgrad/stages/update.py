"""Update: make the selected edits. What cannot be anchored is asked about once, and otherwise missed."""

import json
from collections.abc import Collection, Sequence

from skillgrad.errors import UnusableReply
from skillgrad.records import AppliedEdit, Candidate, Edit, Skill
from skillgrad.skill import apply_edits, token_count
from skillgrad.stages.optimizer import Optimizer, ReplyForm
from skillgrad.stages.render import edit_row, fence, skill_block

__all__ = ["reason_not_to_evaluate", "update"]


class _Anchor(ReplyForm):
    index: int
    target: str


class _Anchors(ReplyForm):
    anchors: tuple[_Anchor, ...]


async def update(optimizer: Optimizer, skill: Skill, edits: Sequence[Edit], *, repair: bool) -> Candidate:
    """Apply the edits one after the other. With `repair`, one optimizer call may re-anchor those that missed."""
    text, applied = apply_edits(skill.text, edits)
    missed = [i for i, result in enumerate(applied) if result.fate == "missed"]
    if repair and missed:
        text, applied = await _repair(optimizer, skill.with_text(text), applied, missed)
    return Candidate(skill=skill.with_text(text), origin="step", edits=applied)


async def _repair(
    optimizer: Optimizer, skill: Skill, applied: tuple[AppliedEdit, ...], missed: Sequence[int]
) -> tuple[str, tuple[AppliedEdit, ...]]:
    rows = "\n".join(json.dumps(edit_row(applied[i].edit, i), ensure_ascii=False) for i in missed)
    sections = [skill_block(skill), f"# Edits that missed\n\n{fence('edits', rows)}"]
    try:
        anchors = (await optimizer.ask("repair_anchors", sections, _Anchors)).anchors
    except UnusableReply as error:
        optimizer.warn(f"a repair of {len(missed)} anchors gave no usable answer: {error.message}")
        return skill.text, applied
    text = skill.text
    results = list(applied)
    targets = {anchor.index: anchor.target for anchor in anchors}
    for index in missed:
        edit = results[index].edit
        if index not in targets:
            continue
        text, (again,) = apply_edits(text, [edit.model_copy(update={"target": targets[index]})])
        if again.fate == "applied":
            detail = f"anchored on {targets[index]!r}"
            results[index] = AppliedEdit(edit=edit, fate="repaired", detail=detail)
    return text, tuple(results)


def reason_not_to_evaluate(candidate: Skill, current: Skill, rejected: Collection[str], max_tokens: int) -> str:
    """Why a candidate is not paid for; empty when it is worth it.

    A text that was rejected cannot win now either, unless the bar was lowered since: then `rejected` is empty.
    """
    if candidate.hash == current.hash:
        return "no edit changed the skill"
    if candidate.hash in rejected:
        return "the same text was rejected before"
    tokens = token_count(candidate.text)
    if tokens > max_tokens:
        return f"about {tokens} tokens, more than skill.max_tokens = {max_tokens}"
    return ""
