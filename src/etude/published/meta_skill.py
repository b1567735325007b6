"""Meta skill: what the optimizer remembers about optimizing. Shown to it in the next epoch, never shipped."""

from collections.abc import Sequence

from etude.published.asking import ask_or_warn
from etude.published.longitudinal import Pair, pairs_block, skills_block
from etude.records import LedgerEntry, Skill
from etude.stages.shared.optimizer import Optimizer, ReplyForm
from etude.stages.shared.render import fence, ledger_block

_EDITS = 40
"""Ledger entries shown: a few epochs of a usual run."""


class _Memory(ReplyForm):
    reasoning: str
    memory: str


async def meta_skill(
    optimizer: Optimizer,
    skills: tuple[Skill, Skill],
    pairs: Sequence[Pair],
    ledger: Sequence[LedgerEntry],
    memory: str,
    limit: int,
) -> str:
    """The new memory; the old one when no answer could be used or it was empty.

    Args:
        skills: the previous and the current one.
    """
    sections = [
        skills_block(*skills),
        f"# Previous memory\n\n{fence('memory', memory)}" if memory else "",
        ledger_block(ledger, _EDITS),
        pairs_block(pairs, limit),
    ]
    otherwise = "the meta skill gave no usable answer and stays as it was"
    reply = await ask_or_warn(optimizer, "meta_skill", sections, _Memory, otherwise)
    return (reply.memory.strip() if reply else "") or memory
