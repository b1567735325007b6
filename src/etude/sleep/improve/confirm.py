"""Fresh attempts at the held-out tasks of a night, under the old document and under a candidate that passed the gate.
They decide: the candidate was selected on these tasks, so its own score says little."""

import asyncio
from collections.abc import Mapping
from typing import Literal

from etude.config import TrainConfig
from etude.measure.compare import compare_alike
from etude.models import answered_by_hand
from etude.published.options import options_of
from etude.records import Skill
from etude.records.summary import Comparison, ShipVerdict
from etude.sleep.config import SleepConfig
from etude.sleep.report import Fresh
from etude.stages.shared.contest import behind, exchanged
from etude.workbench import Given

Verdict = Literal["accepted", "rejected", "inconclusive"]
_VERDICTS: Mapping[ShipVerdict, Verdict] = {
    "ship": "accepted",
    "do not ship": "rejected",
    "inconclusive": "inconclusive",
}


def trials_of(config: SleepConfig, given: Given) -> int:
    """Fresh attempts at each task under each document. A person who answers by hand would give the same answer
    twice, so there are none then."""
    target = given.get("target")
    by_hand = answered_by_hand(config.target) if target is None else target.answered_by_hand
    return 0 if by_hand else config.sleep.confirm_trials


async def confirmed(
    config: TrainConfig, before: Skill, after: Skill, trials: int, parts: Given
) -> tuple[Verdict, str, Comparison, Fresh]:
    """Make fresh attempts under both documents and decide; also what to add to the reason, and on what it rests. One
    attempt at each task is enough where the candidate is behind."""
    found = await compare_alike(config, before, after, 1, parts)
    if trials > 1 and not behind(found.tried):
        found = await compare_alike(config, before, after, trials, parts)
    decided = await asyncio.to_thread(exchanged, found.tried, strict=options_of(config).no_regression)
    several = [one for one in found.tried if len(one.a) > 1]
    fresh = Fresh(
        p=decided.p, tasks=len(found.tried), varied=sum(len(set(one.a)) > 1 for one in several) if several else None
    )
    return _VERDICTS[decided.verdict], decided.why and f", but {decided.why}", found, fresh
