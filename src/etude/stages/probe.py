"""Probe: attempts under several skills at once, to find out which edit does what."""

from collections.abc import Sequence

from etude.records import Attempt, digest
from etude.stages.rollout import Rollout, Try, too_many_voids

__all__ = ["probe"]


async def probe(rollout: Rollout, tries: Sequence[Try], step: int) -> tuple[Attempt, ...]:
    """Make all tries at the same time, in the order of `tries`; what is known already is not made again.

    Which tries have no score is a decision, and so a fact: they stay void when the run is resumed.

    Raises:
        VoidStop: more attempts are void than `limits.max_void` allows, and more than one.
    """
    found: dict[int, Attempt] = {}
    if not tries:
        return ()

    async def work() -> tuple[Attempt, ...]:
        voids = 0
        # Probes are small: a tenth of eight attempts would be none at all.
        allowed = rollout.allowed_voids(len(tries))
        async for index, attempt in rollout.stream_each(tries, "train"):
            found[index] = attempt
            voids += attempt.outcome == "void"
            if voids > allowed:
                raise too_many_voids("train", attempt, voids, len(tries), "limits.max_void")
        return tuple(found[index] for index in sorted(found) if found[index].outcome == "void")

    key = {
        "stage": "probe",
        "step": step,
        "tries": digest([[each.task.id, each.skill.hash, each.trial] for each in tries]),
    }
    voids = await rollout.journal.once("decision", key, tuple[Attempt, ...], work)
    if found:
        return tuple(found[index] for index in range(len(tries)))
    without = {(attempt.task.id, attempt.skill_hash, attempt.trial): attempt for attempt in voids}
    known = [each for each in tries if _key(each) not in without]
    async for index, attempt in rollout.stream_each(known, "train"):
        without[_key(known[index])] = attempt
    return tuple(without[_key(each)] for each in tries)


def _key(each: Try) -> tuple[str, str, int]:
    return each.task.id, each.skill.hash, each.trial
