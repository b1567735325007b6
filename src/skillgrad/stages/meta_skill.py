"""Meta skill: what the optimizer remembers about optimizing. Shown to it in the next epoch, never shipped."""

from collections.abc import Sequence

from skillgrad.errors import UnusableReply
from skillgrad.records import LedgerEntry, Skill
from skillgrad.stages.longitudinal import Pair, pairs_block, skills_block
from skillgrad.stages.optimizer import Optimizer, ReplyForm
from skillgrad.stages.render import fence, ledger_block

__all__ = ["meta_skill"]

_EDITS = 40
"""Ledger entries shown: a few epochs of a usual run."""


class _Memory(ReplyForm):
    reasoning: str
    memory: str


async def meta_skill(
    optimizer: Optimizer,
    previous: Skill,
    current: Skill,
    pairs: Sequence[Pair],
    ledger: Sequence[LedgerEntry],
    limit: int,
) -> str:
    """The new memory; the old one when no answer could be used."""
    sections = [
        skills_block(previous, current),
        f"# Previous memory\n\n{fence('memory', optimizer.memory)}" if optimizer.memory else "",
        ledger_block(ledger, _EDITS),
        pairs_block(pairs, limit),
    ]
    try:
        return (await optimizer.ask("meta_skill", sections, _Memory)).memory.strip()
    except UnusableReply as error:
        optimizer.warn(f"the meta skill gave no usable answer and stays as it was: {error.message}")
        return optimizer.memory
