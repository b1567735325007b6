"""Aggregate: many patches become one. Duplicates are merged by code, the rest by the optimizer, failures first."""

import re
from collections.abc import Sequence

from skillgrad.config import AggregateSection
from skillgrad.errors import UnusableReply
from skillgrad.records import Edit, Patch, Skill
from skillgrad.stages.optimizer import EditReply, Optimizer, PatchReply, as_edit, together, valid_edits
from skillgrad.stages.render import patches_block, skill_block

__all__ = ["aggregate", "unite"]


async def aggregate(
    optimizer: Optimizer, skill: Skill, patches: tuple[Sequence[Patch], Sequence[Patch]], settings: AggregateSection
) -> Patch:
    """Merge patches from failures, patches from successes, then both. One patch needs no call.

    Args:
        patches: those that answer failures, those that come from successes.

    A merge whose answer cannot be used falls back to the united edits themselves, with a warning.
    """
    failures, successes = await together(
        _merge_levels(optimizer, skill, side, settings, prompt)
        for side, prompt in zip(patches, ("merge_failures", "merge_successes"), strict=True)
    )
    if not failures.edits or not successes.edits:
        return failures if failures.edits else successes
    sections = [
        skill_block(skill),
        patches_block("First patch: from failures", [failures]),
        patches_block("Second patch: from successes", [successes]),
    ]
    return await _merge(optimizer, "merge_final", sections, [failures, successes])


def unite(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Merge edits that differ in case, blanks and punctuation only: the first stays, citations are united."""
    united: list[Edit] = []
    for edit in edits:
        twin = next((i for i, other in enumerate(united) if _same(edit, other)), None)
        if twin is None:
            united.append(edit)
        else:
            cites = tuple(dict.fromkeys((*united[twin].cites, *edit.cites)))
            united[twin] = united[twin].model_copy(update={"cites": cites})
    return tuple(united)


def _same(one: Edit, other: Edit) -> bool:
    """The same text. Likeness would not do: "use" and "do not use" are nearly alike, and so are "x > 5", "x < 5"."""
    return (one.op, one.target) == (other.op, other.target) and _folded(one.content) == _folded(other.content)


def _folded(text: str) -> str:
    """Text without case, blanks, list marks, emphasis and a final stop."""
    return " ".join(re.sub(r"^\s*[-*+]\s|\*\*|__", " ", text.casefold()).split()).rstrip(".! ")


async def _merge_levels(
    optimizer: Optimizer, skill: Skill, patches: Sequence[Patch], settings: AggregateSection, prompt: str
) -> Patch:
    level = [patch.model_copy(update={"edits": unite(patch.edits)}) for patch in patches if patch.edits]
    size = settings.merge_batch_size
    while len(level) > 1:
        groups = [level[start : start + size] for start in range(0, len(level), size)]
        level = await together(_merge_group(optimizer, skill, group, prompt) for group in groups)
    return level[0] if level else Patch()


async def _merge_group(optimizer: Optimizer, skill: Skill, group: Sequence[Patch], prompt: str) -> Patch:
    united = unite([edit for patch in group for edit in patch.edits])
    if len(group) == 1 or len(united) == 1:
        return Patch(edits=united, reasoning=group[0].reasoning)
    sections = [skill_block(skill), patches_block("Patches", group)]
    return await _merge(optimizer, prompt, sections, group)


async def _merge(optimizer: Optimizer, prompt: str, sections: Sequence[str], patches: Sequence[Patch]) -> Patch:
    given = unite([edit for patch in patches for edit in patch.edits])
    try:
        reply = await optimizer.ask(prompt, sections, PatchReply)
    except UnusableReply as error:
        optimizer.warn(
            f"a merge of {len(patches)} patches gave no usable answer and was done by code: {error.message}"
        )
        return Patch(edits=given, reasoning="merged by code")
    known = [cite for edit in given for cite in edit.cites]
    # Support is what the proposals cited, so an edit that came through the merge unchanged keeps all of it.
    credited = [row.model_copy(update={"cites": (*row.cites, *_cites_of_twins(row, given))}) for row in reply.edits]
    kept, dropped = valid_edits(reply.model_copy(update={"edits": tuple(credited)}), known)
    if dropped:
        optimizer.warn(f"a merge returned {len(dropped)} edits without evidence; they are left out")
    return Patch(edits=unite(kept), reasoning=reply.reasoning)


def _cites_of_twins(row: EditReply, given: Sequence[Edit]) -> list[str]:
    edit = as_edit(row)
    return [cite for other in given if _same(edit, other) for cite in other.cites]
