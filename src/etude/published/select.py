"""Select: rank the merged edits and keep as many as the edit budget allows."""

import json

from etude.errors import UnusableReply
from etude.published.edit_rows import edit_row
from etude.records import Edit, Patch, Skill
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import fence, skill_block


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
    rows = "\n".join(json.dumps(edit_row(edit, i), ensure_ascii=False) for i, edit in enumerate(edits))
    sections = [skill_block(skill), f"# Edits\n\n{fence('edits', rows)}", f"Choose at most {budget} edits."]
    by_support = sorted(range(len(edits)), key=lambda index: -edits[index].support)
    try:
        order = (await optimizer.ask("select", sections, _Ranking)).order
    except UnusableReply as error:
        optimizer.warn(f"a ranking of {len(edits)} edits gave no usable answer, support decides: {error.message}")
        order = ()
    ranked = list(dict.fromkeys(index for index in order if 0 <= index < len(edits)))
    return tuple(edits[index] for index in (ranked or by_support)[:budget])
