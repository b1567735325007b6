"""Slow update: guidance from the comparison of two epochs, kept in a protected region of the skill."""

from collections.abc import Sequence

from etude.published.asking import ask_or_warn
from etude.published.longitudinal import Pair, pairs_block, skills_block
from etude.records import Candidate, Edit, Skill
from etude.skill import Document, revised
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import fence

REGION = "slow_update"
"""Name of the protected region that holds the guidance."""


class _Guidance(ReplyForm):
    reasoning: str
    guidance: str


async def slow_update(
    optimizer: Optimizer, previous: Skill, current: Skill, pairs: Sequence[Pair], limit: int
) -> Candidate | None:
    """The current skill with new guidance in place of the old, as a candidate; None when there is none to try. In a
    document with a learned block, outside of which nothing changes, the guidance is added there."""
    document = Document.parse(current.text)
    earlier = document.region(REGION)
    sections = [
        skills_block(previous, current),
        f"# Previous guidance\n\n{fence('guidance', earlier.strip())}" if earlier else "",
        pairs_block(pairs, limit),
    ]
    otherwise = "the slow update gave no usable answer and is left out"
    reply = await ask_or_warn(optimizer, "slow_update", sections, _Guidance, otherwise)
    guidance = reply.guidance.strip() if reply else ""
    if not guidance:
        return None
    if document.learned is not None:
        rules = Edit(op="append", content=guidance)
        return Candidate(skill=revised(current, [rules]), origin="slow_update")
    text = document.with_region(REGION, guidance).text
    return Candidate(skill=current.with_text(text), origin="slow_update")
