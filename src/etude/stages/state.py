"""How a step changes the training state, and the ledger of every edit that was tried."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from etude.records import AppliedEdit, Attempt, Candidate, LedgerEntry, Skill, Tally, TrainState, Verdict


def after_rollout(state: TrainState, attempts: Sequence[Attempt]) -> TrainState:
    """Remember a scored attempt at each task that was attempted, one that failed where there are several, and how
    many were solved."""
    scored: dict[str, Attempt] = {}
    for attempt in attempts:
        if attempt.score is not None and (attempt.task.id not in scored or not attempt.solved):
            scored[attempt.task.id] = attempt
    seen = sum(attempt.score is not None for attempt in attempts)
    tally = Tally(step=state.step, solved=sum(each.solved for each in attempts), attempted=seen)
    update = {"earlier": state.earlier | scored, "tallies": (*state.tallies, tally)}
    return state.voided(attempts).model_copy(update=update)


def after_verdict(
    state: TrainState,
    candidate: Candidate,
    verdict: Verdict | None,
    needed: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> TrainState:
    """Enter the candidate's edits into the ledger and count.

    Args:
        verdict: None when it was not worth evaluating.
        needed: by the id of an edit, the tasks that were seen to need it.
    """
    accepted = None if verdict is None else verdict.accepted
    change = None
    if verdict is not None and verdict.candidate is not None and verdict.current is not None:
        change = verdict.candidate - verdict.current
    entries = tuple(_entry(state, one, accepted, change, needed.get(one.edit.id, ())) for one in candidate.edits)
    rejected_texts = {candidate.skill.hash} if accepted is False else set[str]()
    return state.model_copy(
        update={
            "ledger": state.ledger + entries,
            "rejected_texts": state.rejected_texts | rejected_texts,
            "missed_edits": state.missed_edits + sum(edit.fate == "missed" for edit in candidate.edits),
            "voids": state.voids + (len(verdict.voids) if verdict else 0),
            "accepted": state.accepted + (accepted is True),
            "rejected": state.rejected + (accepted is False),
            "skipped": state.skipped + (accepted is None),
        }
    )


def moved_on(state: TrainState, skill: Skill) -> TrainState:
    """The search goes on with this skill."""
    skills = {**state.skills, state.step: skill}
    return state.model_copy(update={"current": skill, "best": skill, "skills": skills, "idle": 0})


def _entry(
    state: TrainState, tried: AppliedEdit, accepted: bool | None, change: float | None, needed: Sequence[str]
) -> LedgerEntry:
    cited = {attempt.id: attempt.task for attempt in state.earlier.values()}
    tasks = [cited[cite] for cite in tried.edit.cites if cite in cited]
    made = tried.fate in ("applied", "repaired")
    return LedgerEntry(
        step=state.step,
        edit=tried.edit,
        fate=tried.fate,
        accepted=accepted if made else None,  # what was not seen to help was not seen to harm either
        change=change if made else None,
        types=tuple(sorted({task.type for task in tasks})),
        tasks=tuple(dict.fromkeys(task.id for task in tasks)),
        needed=tuple(needed),
        why="" if made else tried.detail,
    )
