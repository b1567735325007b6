"""Whether a user corrects the agent more often since an adoption than before it. Pure: records in, verdicts out."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import comb
from typing import Literal

from pydantic import AwareDatetime, Field

from etude.records import Record
from etude.sleep.adoption.adopt import Adopted, Receipt
from etude.sleep.transcripts.cleaning import feedback
from etude.sleep.transcripts.sessions import Session

__all__ = ["ALPHA", "FEWEST", "Canary", "CanaryVerdict", "Corrections", "Tally", "corrections", "fisher", "watch"]

ALPHA = 0.05
"""Level of the test."""
FEWEST = 20
"""Turns on each side below which nothing is said."""

CanaryVerdict = Literal["watching", "no worse", "worse"]
"""`watching`: too few turns. `no worse`: the test does not show that there are more corrections. `worse`: it does."""


class Corrections(Record):
    """How often the user corrected the agent in the part of a session that a night used. Nothing of what was said."""

    source: str
    id: str
    agent: str
    """Whose documents the agent read."""
    at: AwareDatetime
    """When the part began, and the agent read its documents; UTC."""
    turns: int = Field(ge=0)
    """In which the agent did something."""
    corrected: int = Field(ge=0)
    """Prompts that find fault with what the agent did before them."""


class Tally(Record):
    """The turns of several sessions."""

    turns: int = 0
    corrected: int = 0


class Canary(Record):
    """What corrections say of an adoption that stands."""

    night: str
    """As the receipt names it."""
    documents: tuple[str, ...]
    since: AwareDatetime
    """When it was adopted; UTC."""
    before: Tally
    """Sessions that began before it."""
    after: Tally
    """Sessions that began since."""
    p: float | None = None
    """Of the test; None with too few turns."""
    verdict: CanaryVerdict


def corrections(session: Session, agent: str, new: int = 0) -> Corrections | None:
    """The counts of the turns from `new` on, the first that no night has counted; None when there is none, or nobody
    knows when it began.

    Every turn counts in which the agent did something, the last one too: a user who is content may just leave.
    """
    turns = session.turns[new:]
    at = turns[0].at or (session.ended if new else session.started) if turns else None
    if at is None:
        return None
    said = list(pairwise(session.turns))[max(0, new - 1) :]
    return Corrections(
        source=session.source,
        id=session.id,
        agent=agent,
        at=at,
        turns=sum(bool(turn.answer.strip() or turn.tools or turn.interrupted) for turn in turns),
        corrected=sum(feedback(turn, after) == "negative" for turn, after in said),
    )


def watch(
    receipts: Sequence[Receipt], sessions: Sequence[Corrections], reads: Callable[[str, Adopted], bool]
) -> tuple[Canary, ...]:
    """The verdict on each adoption that stands and whose time is known, in their order.

    Args:
        reads: whether an agent reads a document by itself. Only sessions of such agents count.
    """
    found: list[Canary] = []
    for receipt in receipts:
        if receipt.reverted or receipt.at is None:
            continue
        since = receipt.at
        agents = {one.agent for one in sessions}
        readers = {agent for agent in agents if any(reads(agent, document) for document in receipt.documents)}
        mine = [one for one in sessions if one.agent in readers]
        # What was said between an earlier adoption of the same night and its revert was said under these rules.
        first = min(one.at for one in receipts if one.night == receipt.night and one.at is not None)
        before = _tally([one for one in mine if one.at < first])
        after = _tally([one for one in mine if one.at >= since])
        p = fisher(before, after) if min(before.turns, after.turns) >= FEWEST else None
        found.append(
            Canary(
                night=receipt.night,
                documents=tuple(document.name for document in receipt.documents),
                since=since,
                before=before,
                after=after,
                p=p,
                verdict="watching" if p is None else "worse" if p <= ALPHA else "no worse",
            )
        )
    return tuple(found)


def fisher(before: Tally, after: Tally) -> float:
    """Fisher's exact test, one-sided: how likely at least so many of all corrections fall on the turns after, if
    every turn is as likely to be corrected as any other."""
    corrected = before.corrected + after.corrected
    most = min(after.turns, corrected)
    as_many = (
        comb(after.turns, count) * comb(before.turns, corrected - count) for count in range(after.corrected, most + 1)
    )
    return sum(as_many) / comb(before.turns + after.turns, corrected)


def _tally(sessions: Sequence[Corrections]) -> Tally:
    return Tally(turns=sum(one.turns for one in sessions), corrected=sum(one.corrected for one in sessions))
