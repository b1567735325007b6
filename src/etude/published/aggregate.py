"""Aggregate: many patches become one. Duplicates are merged by code, the rest by the optimizer, failures first.
Select: the merged edits are ranked, and as many kept as the edit budget allows."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from etude.concurrency import together
from etude.published.asking import ask_or_warn, edits_block, patches_block
from etude.records import Edit, Patch, Skill
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.proposals import PatchReply, Proposals, citing, same, unite, valid_edits
from etude.stages.shared.render import skill_block

G = TypeVar("G")


async def aggregate(
    optimizer: Optimizer,
    skill: Skill,
    patches: tuple[Sequence[Awaitable[Patch]], Sequence[Awaitable[Patch]]],
    batch_size: int,
    form: type[Proposals] = PatchReply,
) -> Patch:
    """Merge patches from failures, patches from successes, then both. One patch needs no call.

    Groups are made in the order of the analyses, and a group is merged as soon as its own analyses are there.

    Args:
        patches: those that answer failures, those that come from successes; each may still be on its way.
        batch_size: patches in one call.
        form: what a merge returns.

    A merge whose answer cannot be used falls back to the united edits themselves, with a warning.
    """
    merger = _Merger(optimizer, skill, batch_size, form)
    failures, successes = await together(
        merger.levels(side, prompt)
        for side, prompt in zip(patches, ("merge_failures", "merge_successes"), strict=True)
    )
    if not failures.edits or not successes.edits:
        return failures if failures.edits else successes
    sections = [
        skill_block(skill),
        patches_block("First patch: from failures", [failures]),
        patches_block("Second patch: from successes", [successes]),
    ]
    return await merger.merge("merge_final", sections, [failures, successes])


@dataclass(frozen=True)
class _Merger:
    """Merges patches to one skill."""

    optimizer: Optimizer
    skill: Skill
    size: int
    """Patches in one call."""
    form: type[Proposals]

    async def levels(self, patches: Sequence[Awaitable[Patch]], prompt: str) -> Patch:
        """Merge groups of patches, then groups of what they became, until one is left."""

        async def arrived(group: Sequence[Awaitable[Patch]]) -> Patch:
            return await self._group([patch for patch in [await each for each in group] if patch.edits], prompt)

        level = await together(arrived(group) for group in self._groups(patches))
        level = [patch for patch in level if patch.edits]
        while len(level) > 1:
            level = await together(self._group(group, prompt) for group in self._groups(level))
        return level[0] if level else Patch()

    def _groups(self, members: Sequence[G]) -> list[Sequence[G]]:
        return [members[start : start + self.size] for start in range(0, len(members), self.size)]

    async def _group(self, group: Sequence[Patch], prompt: str) -> Patch:
        united = unite([edit for patch in group for edit in patch.edits])
        if len(group) <= 1 or len(united) == 1:
            return Patch(edits=united, reasoning=group[0].reasoning if group else "")
        return await self.merge(prompt, [skill_block(self.skill), patches_block("Patches", group)], group)

    async def merge(self, prompt: str, sections: Sequence[str], patches: Sequence[Patch]) -> Patch:
        """One call."""
        given = unite([edit for patch in patches for edit in patch.edits])
        otherwise = f"a merge of {len(patches)} patches gave no usable answer and was done by code"
        reply = await ask_or_warn(self.optimizer, prompt, sections, self.form, otherwise)
        if reply is None:
            return Patch(edits=given, reasoning="merged by code")
        known = [cite for edit in given for cite in edit.cites]
        # Support is what the proposals cited, so an edit that came through the merge unchanged keeps all of it.
        credited = [
            citing(edit, known if self.form.whole else _cites_of_twins(edit, given)) for edit in reply.proposed()
        ]
        kept, uncited = valid_edits(credited, known)
        # What a merge proposes without citations rests on all that it was given.
        united = unite([*kept, *(citing(edit, known) for edit in uncited)])
        return Patch(edits=united, reasoning=reply.reasoning)


def _cites_of_twins(edit: Edit, given: Sequence[Edit]) -> list[str]:
    return [cite for other in given if same(edit, other) for cite in other.cites]


class _Ranking(ReplyForm):
    order: tuple[int, ...]


async def select(optimizer: Optimizer, skill: Skill, patch: Patch, budget: int | None) -> tuple[Edit, ...]:
    """The edits to make, best first. No call when all fit into the budget, or none do.

    Indices that do not exist or repeat are left out. A ranking may name fewer edits than the budget allows; where
    it names none, support decides.
    """
    edits = patch.edits
    if budget is None or len(edits) <= budget:
        return edits
    if budget == 0:
        return ()
    sections = [skill_block(skill), edits_block("Edits", dict(enumerate(edits))), f"Choose at most {budget} edits."]
    by_support = sorted(range(len(edits)), key=lambda index: -edits[index].support)
    otherwise = f"a ranking of {len(edits)} edits gave no usable answer, support decides"
    reply = await ask_or_warn(optimizer, "select", sections, _Ranking, otherwise)
    ranked = list(dict.fromkeys(index for index in (reply.order if reply else ()) if 0 <= index < len(edits)))
    return tuple(edits[index] for index in (ranked or by_support)[:budget])
