"""Select: rank the merged edits and keep as many as the edit budget allows."""

from etude.published.asking import ask_or_warn, edits_block
from etude.records import Edit, Patch, Skill
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import skill_block


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
