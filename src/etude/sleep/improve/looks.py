"""Looks at candidates: fresh attempts at the held-out tasks of a night, under the old document and under one that
passed the gate, in this night or, where it may be luck, in an earlier one."""

import asyncio
from pathlib import Path
from typing import NamedTuple

from etude.comparison import FRESH
from etude.config import TrainConfig
from etude.measure.compare import acompare_skills
from etude.models.handoff import ANSWERED_LATER
from etude.records import Skill
from etude.records.summary import Comparison
from etude.sleep.config import SleepConfig
from etude.sleep.improve.block import changed, with_changed
from etude.sleep.improve.carry import Carried
from etude.sleep.improve.changes import Change, Known, Place, Spent, Status, left_of, spent_in
from etude.sleep.improve.confirm import Fresh
from etude.sleep.improve.held_out import HeldOut
from etude.sleep.improve.room import no_room
from etude.workbench import Given

__all__ = ["Again", "Found", "Work", "look_again", "look_at", "target_of", "trials_of"]

NO_LEVEL = "its looks could have used up sleep.alpha"


class Work(NamedTuple):
    """One document that is to be improved."""

    config: SleepConfig
    """Its limits are what is left of the night's."""
    folder: Path
    place: Place
    known: Known


def target_of(config: SleepConfig, given: Given) -> str:
    """The name of the model whose answers are compared."""
    return given["target"].name if "target" in given else config.target.model


def trials_of(config: SleepConfig, given: Given) -> int:
    """Fresh attempts at each task under each document. What a person has answered is found again by its question: a
    second answer would be the first one."""
    return 0 if target_of(config, given).startswith(ANSWERED_LATER) else config.sleep.confirm_trials


class Again(NamedTuple):
    """What came of the candidate that was carried to this night."""

    carried: Carried | None = None
    """As it is carried on; None where there is none any more."""
    told: tuple[str, ...] = ()
    spent: Spent = Spent()
    change: Change | None = None
    """Where it is the candidate of this night."""
    looked: Carried | None = None
    """With the look of this night."""
    last: Comparison | None = None


async def look_again(before: Skill, held_out: bool, work: Work, parts: Given) -> Again:
    """Look again at what was carried to this night, under the level that is left for it."""
    carried, sleep, trials = work.known.carried, work.config.sleep, trials_of(work.config, parts)
    if carried is None:
        return Again()
    if carried.before != before.hash:
        return Again(told=(f"the candidate of night {carried.night} is dropped: the document is another since",))
    after = with_changed(before, carried.text)
    if long := no_room(after, work.config.skill.max_tokens, sleep.block_tokens):
        return Again(told=(f"the candidate of night {carried.night} is dropped: {long}",))
    level = carried.level(sleep.alpha, sleep.carry_nights)
    if not level:
        why = "the settings leave no further look" if carried.left(sleep.carry_nights) == 0 else NO_LEVEL
        return Again(told=(f"the candidate of night {carried.night} is dropped: {why}",))
    if not held_out or not trials or not work.config.gate.enabled:
        return Again(carried)  # nothing to look at: its next look is in another night
    limits = left_of(work.config.limits, Spent())
    config = work.config.for_run(work.folder, f"carried-{work.place}", limits=limits)
    # Numbers of trials are seeds: those of the looks before would show again what is known.
    first = FRESH * (len(carried.looks) + 1)
    last = await acompare_skills(config, before, after, "val", range(first, first + trials), **parts)
    looked = await asyncio.to_thread(carried.seen, work.known.night, last.tried, level)
    spent = spent_in(work.folder / config.run.name)
    status, why = _over_looks(looked, work.config)
    if status == "accepted":
        change = _staged(before, after, work, looked, last)
        return Again(change=change.model_copy(update={"spent": spent}))
    kept, told = (None, why) if status == "rejected" else _kept(looked, work.config)
    return Again(kept, (told,) if told else (), spent, looked=looked, last=last)


def _over_looks(looked: Carried, config: SleepConfig) -> tuple[Status, str]:
    """What all looks at a carried candidate come to, and why where it is rejected."""
    which = f"the candidate of night {looked.night} is rejected"
    if not looked.gains:
        return "rejected", f"{which}: fresh attempts in {looked.nights} show no gain"
    if looked.worse and config.gate.no_regression:
        return "rejected", f"{which}: {looked.worse[0]!r} does worse in fresh attempts in {looked.nights}"
    if looked.settled:
        return "accepted", ""
    return "inconclusive", ""


def _kept(looked: Carried, config: SleepConfig) -> tuple[Carried | None, str]:
    """The candidate as later nights look at it again, or why they do not."""
    alpha, nights = config.sleep.alpha, config.sleep.carry_nights
    if not nights:
        return None, ""
    which = f"the candidate of night {looked.night} is not carried"
    if not looked.left(nights):
        return None, f"{which} any further: it may still be luck after {len(looked.looks)} looks"
    return (looked, "") if looked.level(alpha, nights) else (None, f"{which}: {NO_LEVEL}")


def _staged(before: Skill, after: Skill, work: Work, looked: Carried, last: Comparison) -> Change:
    """A candidate of an earlier night that all looks together bear out."""
    reason = f"the candidate of night {looked.night}: fresh attempts in {looked.nights} bear it out"
    none = HeldOut(initial=(), candidate=(), accepted=True, reason=reason, optimizer_replies=(), ledger=())
    return Change(
        place=work.place,
        status="accepted",
        reason=reason,
        before=before,
        after=after,
        proposed=True,
        baseline=None,
        candidate=None,
        confirmed=looked.compared(last),
        fresh=looked.fresh(),
        held_out=none,
        spent=Spent(),
        simulated=last.simulated,
        origin=looked,
    )


class Found(NamedTuple):
    """What fresh attempts make of a candidate that passed the gate."""

    status: Status
    why: str
    confirmed: Comparison | None = None
    fresh: Fresh | None = None
    carried: Carried | None = None
    looked: Carried | None = None
    """With the look of this night, where that was one and it has not passed."""


async def look_at(
    config: TrainConfig, documents: tuple[Skill, Skill], work: Work, tonight: Again, parts: Given
) -> Found:
    """What fresh attempts make of a candidate that passed the gate for its higher score: the exact test at the level
    that earlier looks at the same text have left. Of what may be luck and of what was carried to this night, the
    likelier one is carried on.

    Args:
        documents: before, and as the candidate has it.
        tonight: what came of the candidate that was carried to this night.
    """
    sleep, (before, after) = work.config.sleep, documents
    if tonight.looked is not None and tonight.last is not None and tonight.looked.text == changed(after):
        # Found once more: a test of its own would be one more chance for what this night has looked at already.
        status, _ = _over_looks(tonight.looked, work.config)
        why = f", but it is the candidate of night {tonight.looked.night}, which may be luck"
        if status == "rejected":
            why = f", but it is the candidate of night {tonight.looked.night}"
        return Found(status, why, tonight.looked.compared(tonight.last), tonight.looked.fresh(), tonight.carried)
    known = _known(work, before, after)
    level = known.level_once_more(sleep.alpha, sleep.carry_nights)
    if not level:
        status, why = _borne_out(known, work)
        why += f"; the same text is not tried again: {NO_LEVEL}"
        return Found("rejected" if status == "rejected" else "inconclusive", why, carried=tonight.carried)
    # Numbers of trials are seeds: a text that was looked at before has others than at its first look.
    first, count = FRESH * (len(known.looks) + 1), sleep.confirm_trials
    confirmed = await acompare_skills(config, before, after, "val", range(first, first + count), **parts)
    looked = await asyncio.to_thread(known.seen, work.known.night, confirmed.tried, level)
    compared, fresh = looked.compared(confirmed) if known.looks else confirmed, looked.fresh()
    status, why = _borne_out(looked, work)
    if status == "accepted":
        return Found(status, why, compared, fresh, tonight.carried)
    kept, told = _kept(looked, work.config) if status == "inconclusive" else (None, "")
    why += f"; {told}" if told else ""
    if kept is not None and tonight.carried is not None:
        kept, told = _likelier(tonight.carried, kept)
        why += f"; {told}"
    return Found(status, why, compared, fresh, kept or tonight.carried, looked)


def _likelier(carried: Carried, found: Carried) -> tuple[Carried, str]:
    """Of two candidates that may be luck the one with the smaller p, of equal ones the one that is carried; and which
    gives way."""
    older, newer = (f"(p = {one.looks[-1].p:.2g} over {one.nights})" for one in (carried, found))
    which = f"the candidate of night {carried.night} {older}"
    if found.looks[-1].p < carried.looks[-1].p:
        return found, f"{which} gives way to tonight's {newer}"
    return carried, f"tonight's {newer} gives way to {which}"


def _known(work: Work, before: Skill, after: Skill) -> Carried:
    """A candidate of this night, with the looks of earlier ones at the same text made from the same document."""
    found = Carried(night=work.known.night, before=before.hash, text=changed(after))
    mine = found.tested
    looks = [one.looks for one in work.known.tested if (one.before, one.text) == (mine.before, mine.text)]
    return found.model_copy(update={"looks": looks[0]}) if looks else found


def _borne_out(looked: Carried, work: Work) -> tuple[Status, str]:
    """What fresh attempts make of a candidate that passed the gate, and why where that is not accepted."""
    over = "" if [look.night for look in looked.looks] == [work.known.night] else f" in {looked.nights}"
    if not looked.gains:
        return "rejected", f", but fresh attempts do not bear it out{over}"
    if looked.worse and work.config.gate.no_regression:
        return "rejected", f", but {looked.worse[0]!r} does worse in fresh attempts{over}"
    if looked.settled:
        return "accepted", ""
    fresh = looked.fresh()
    return "inconclusive", f", but fresh attempts{over} may be luck: p = {fresh.p:.2g}, above {fresh.threshold}"
